/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/verdict.h"

#include <math.h>
#include <stdlib.h>

double vg_verdict_growth_that_matters(const struct vg_judged *row, double limit_percent)
{
	return limit_percent / 100 * fmax(2 * row->a.mean, row->whole / 2);
}

double vg_verdict_runs_needed(const struct vg_judged *row, double limit_percent)
{
	double matters = vg_verdict_growth_that_matters(row, limit_percent);
	double runs = (double)(row->a.runs < row->b.runs ? row->a.runs : row->b.runs);
	double ratio = vg_estimate_compare(&row->a, &row->b).margin / (matters / 2);

	return fmax(runs + 1, ceil(runs * ratio * ratio));
}

static bool is_unclear(const struct vg_judged *row, double limit_percent)
{
	struct vg_estimate_change change = vg_estimate_compare(&row->a, &row->b);
	double matters = vg_verdict_growth_that_matters(row, limit_percent);

	return isnan(row->p) || change.change > matters / 2 ||
	       (change.change + change.margin >= matters && change.change + change.margin > 0);
}

/* Rows of unknown variance come last. */
static int p_compare(const void *a, const void *b)
{
	const struct vg_judged *left = a, *right = b;
	double of_left = isnan(left->p) ? 2 : left->p, of_right = isnan(right->p) ? 2 : right->p;

	if (of_left != of_right)
		return of_left < of_right ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

/* Holm's test: the number of rows that grew by more than the limit, if the probability of an error is at most `error`
 * over all rows together.  The rows are in the order of p. */
static size_t significant(const struct vg_judged *rows, size_t count, double error)
{
	size_t found = 0;

	while (found < count && rows[found].p <= error / (double)(count - found))
		found++;
	return found;
}

enum vg_verdict vg_verdict_judge(struct vg_judged *rows, size_t count, double limit_percent)
{
	size_t slower, doubtful, unclear = 0;

	for (size_t i = 0; i < count; i++) {
		rows[i].p = vg_estimate_exceeds(&rows[i].a, &rows[i].b, limit_percent);
		rows[i].is_unclear = is_unclear(&rows[i], limit_percent);
	}
	if (count > 1)
		qsort(rows, count, sizeof *rows, p_compare);
	slower = significant(rows, count, VG_VERDICT_ERROR);
	doubtful = significant(rows, count, VG_VERDICT_DOUBT);
	for (size_t i = 0; i < count; i++) {
		rows[i].is_slower = i < slower;
		rows[i].is_unclear = rows[i].is_unclear || i < doubtful;
		unclear += rows[i].is_unclear;
	}
	if (slower > 0)
		return VG_VERDICT_SLOWER;
	return unclear > 0 || count == 0 ? VG_VERDICT_UNCLEAR : VG_VERDICT_NO_CHANGE;
}

double vg_verdict_limit_needed(struct vg_judged *rows, size_t count, double limit_percent)
{
	int too_low = (int)fmin(limit_percent, VG_VERDICT_LIMIT_MAX), enough = VG_VERDICT_LIMIT_MAX + 1;

	while (enough - too_low > 1) {
		int limit = too_low + (enough - too_low) / 2;

		if (vg_verdict_judge(rows, count, limit) == VG_VERDICT_NO_CHANGE)
			enough = limit;
		else
			too_low = limit;
	}
	return enough <= VG_VERDICT_LIMIT_MAX ? enough : 0;
}
