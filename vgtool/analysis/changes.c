/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The times that count as 100 % on one side: the mean time of all samples for functions, and the sum of the mean self
 * times of all labels for labels. */
struct whole {
	double functions, labels;
};

static bool is_label(const struct vg_measure_row *row)
{
	return vg_measure_group(row) == VG_MEASURE_LABELS;
}

static double whole_of(const struct whole *whole, const struct vg_measure_row *row)
{
	return is_label(row) ? whole->labels : whole->functions;
}

double vg_change_percent(const struct vg_estimate *a, const struct vg_estimate *b)
{
	return a->mean > 0 ? 100 * (b->mean - a->mean) / a->mean : NAN;
}

static enum vg_measure_field field_of(const struct vg_changes *changes)
{
	return changes->by_total ? VG_MEASURE_TOTAL : VG_MEASURE_SELF;
}

/* first and end: the runs of a side. */
static struct whole side_whole(const struct vg_measures *measures, uint32_t first, uint32_t end)
{
	struct whole whole = { 0 };

	for (size_t i = 0; i < measures->rows.count; i++) {
		const struct vg_measure_row *row = &measures->rows.items[i];

		if (row->type == VG_MEASURE_WHOLE)
			whole.functions = vg_measures_spread(measures, row, VG_MEASURE_SELF, first, end).mean;
		else if (is_label(row))
			whole.labels += vg_measures_spread(measures, row, VG_MEASURE_SELF, first, end).mean;
	}
	return whole;
}

static bool share_is_large(const struct vg_changes *changes, double part, double whole)
{
	return part > 0 && part * 100 >= changes->min_share_percent * whole;
}

static bool row_is_large(const struct vg_changes *changes, const struct vg_measures *measures,
			 const struct vg_measure_row *row, const struct whole *a, const struct whole *b)
{
	uint32_t middle = changes->runs_a, end = changes->runs_a + changes->runs_b;
	double of_a = vg_measures_spread(measures, row, field_of(changes), 0, middle).mean;
	double of_b = vg_measures_spread(measures, row, field_of(changes), middle, end).mean;

	return share_is_large(changes, of_a, whole_of(a, row)) || share_is_large(changes, of_b, whole_of(b, row));
}

/* One field of a row on one side. */
struct side {
	struct vg_spread spread;
	double expected_variance;    /* below 0: unknown */
};

/* Measures one field of a row on both sides.  The expected variance is used on both sides or on none.  It depends on
 * the length of the profiles, so the variance of a side of long profiles says nothing about a side of short ones. */
static void sides_measure(struct side *sides, const struct vg_changes *changes, const struct vg_measures *measures,
			  const struct vg_measure_row *row, enum vg_measure_field field)
{
	const uint32_t borders[] = { 0, changes->runs_a, changes->runs_a + changes->runs_b };

	for (size_t i = 0; i < 2; i++) {
		sides[i].spread = vg_measures_spread(measures, row, field, borders[i], borders[i + 1]);
		sides[i].expected_variance = vg_measures_variance(measures, row, field, borders[i], borders[i + 1]);
	}
	if (sides[0].expected_variance < 0 || sides[1].expected_variance < 0)
		sides[0].expected_variance = sides[1].expected_variance = -1;
}

/* The variance between the runs of both sides, relative to the expected variance.  Returns -1 if one of them is
 * unknown. */
static double variance_ratio(const struct side *sides)
{
	double squares = 0, freedom = 0;

	for (size_t i = 0; i < 2; i++) {
		if (sides[i].expected_variance <= 0)
			return -1;
		squares += sides[i].spread.squared_distances / sides[i].expected_variance;
		freedom += (double)sides[i].spread.count - 1;
	}
	return freedom > 0 ? squares / freedom : -1;
}

static struct vg_estimate_change estimate(const struct vg_changes *changes, const struct vg_measures *measures,
					  const struct vg_measure_row *row, enum vg_measure_field field,
					  struct vg_estimate *a, struct vg_estimate *b)
{
	double scale = vg_measure_group(row) == VG_MEASURE_FUNCTIONS ? changes->expected_scale : 1, ratio;
	struct side sides[2];
	bool combine;

	sides_measure(sides, changes, measures, row, field);
	ratio = variance_ratio(sides);
	combine = ratio <= scale * VG_EXPECTED_EXCESS;
	/* A side with one run has only the expected variance. */
	if (!combine)
		scale = ratio;
	*a = vg_estimate_make(&sides[0].spread, scale * sides[0].expected_variance, combine);
	*b = vg_estimate_make(&sides[1].spread, scale * sides[1].expected_variance, combine);
	return vg_estimate_compare(a, b);
}

static int real_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Sets the factor for the expected variances of functions.  Two or three runs show little of the variance of one
 * function, but a lot about the variances of all.  The median is used, so that a few functions of another kind do not
 * change the factor.  large[i]: the result of row_is_large() for row i of the measures. */
static int expected_scale_set(struct vg_changes *changes, const struct vg_measures *measures, const bool *large)
{
	double freedom = (double)changes->runs_a + changes->runs_b - 2;
	double *ratios = malloc((measures->rows.count + 1) * sizeof *ratios);
	size_t count = 0;

	changes->expected_scale = 1;
	if (ratios == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < measures->rows.count; i++) {
		struct side sides[2];

		if (!large[i] || vg_measure_group(&measures->rows.items[i]) != VG_MEASURE_FUNCTIONS)
			continue;
		sides_measure(sides, changes, measures, &measures->rows.items[i], field_of(changes));
		ratios[count] = variance_ratio(sides);
		count += ratios[count] >= 0;
	}
	if (count > 0) {
		/* The median of chi-square with f degrees of freedom is f * (1 - 2 / (9 f))^3 (Wilson and Hilferty). */
		double median, of_equal = pow(1 - 2 / (9 * freedom), 3), known = (double)count * freedom;

		qsort(ratios, count, sizeof *ratios, real_compare);
		median = (ratios[(count - 1) / 2] + ratios[count / 2]) / 2 / of_equal;
		changes->expected_scale = (known * median + VG_EXPECTED_FREEDOM) / (known + VG_EXPECTED_FREEDOM);
	}
	free(ratios);
	return 0;
}

static struct vg_change change_measure(const struct vg_changes *changes, const struct vg_measures *measures,
				       const struct vg_measure_row *row)
{
	uint32_t middle = changes->runs_a, end = changes->runs_a + changes->runs_b;
	struct vg_change change = {
		.row = row,
		.count_a = vg_measures_spread(measures, row, VG_MEASURE_COUNT, 0, middle).mean,
		.count_b = vg_measures_spread(measures, row, VG_MEASURE_COUNT, middle, end).mean,
	};

	change.self = estimate(changes, measures, row, VG_MEASURE_SELF, &change.self_a, &change.self_b);
	change.total = estimate(changes, measures, row, VG_MEASURE_TOTAL, &change.total_a, &change.total_b);
	return change;
}

static bool change_is_judged(const struct vg_changes *changes, const struct vg_measures *measures,
			     const struct vg_change *change, bool is_large)
{
	switch (change->row->type) {
	case VG_MEASURE_WHOLE: return !measures->by_share;
	/* The times of labels are wall times. */
	case VG_MEASURE_INTERVAL:
	case VG_MEASURE_DETACHED: return is_large && measures->weight == VG_WEIGHT_WALL && changes->runs_a > 1 &&
					 changes->runs_b > 1;
	case VG_MEASURE_FUNCTION:
	case VG_MEASURE_OTHERS: return is_large;
	}
	return false;
}

static int change_compare(const void *a, const void *b, void *context)
{
	const struct vg_changes *changes = context;
	const struct vg_change *left = a, *right = b;
	double of_left = fabs(changes->by_total ? left->total.change : left->self.change);
	double of_right = fabs(changes->by_total ? right->total.change : right->self.change);
	int order = (int)vg_measure_group(left->row) - (int)vg_measure_group(right->row);

	if (order != 0)
		return order;
	if (of_left != of_right)
		return of_left < of_right ? 1 : -1;
	order = strcmp(left->row->name, right->row->name);
	return order != 0 ? order : (left->row > right->row) - (left->row < right->row);
}

/* How much an item stands out.  Of the items that may decide the verdict, the one that stands out most is decisive. */
static double prominence(const struct vg_changes *changes, const struct vg_judged *row)
{
	struct vg_estimate_change change = vg_estimate_compare(&row->a, &row->b);

	if (changes->verdict != VG_VERDICT_UNCLEAR)
		return change.change;
	if (isnan(row->p))
		return INFINITY;
	return (change.change + change.margin) / vg_verdict_growth_that_matters(row, changes->limit_percent);
}

static void verdict_keep(struct vg_changes *changes, const struct vg_judged *rows, size_t count)
{
	double most = -INFINITY;

	for (size_t i = 0; i < count; i++) {
		const struct vg_judged *row = &rows[i];
		struct vg_change *change = &changes->items.items[row->index];
		bool may_decide = changes->verdict == VG_VERDICT_NO_CHANGE ||
				  (changes->verdict == VG_VERDICT_SLOWER ? row->is_slower : row->is_unclear);

		change->is_slower = row->is_slower;
		change->is_unclear = row->is_unclear;
		change->p = row->p;
		changes->slower += row->is_slower;
		if (row->is_unclear && !isnan(row->p))
			changes->runs_needed = fmax(changes->runs_needed,
						    vg_verdict_runs_needed(row, changes->limit_percent));
		if (may_decide && (changes->decisive == NULL || prominence(changes, row) > most)) {
			most = prominence(changes, row);
			changes->decisive = change;
		}
	}
}

static int changes_judge(struct vg_changes *changes, const struct whole *a)
{
	struct vg_judged *rows = calloc(changes->items.count + 1, sizeof *rows);
	size_t count = 0;

	if (rows == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < changes->items.count; i++) {
		const struct vg_change *change = &changes->items.items[i];

		if (change->is_judged)
			rows[count++] = (struct vg_judged){
				.a = changes->by_total ? change->total_a : change->self_a,
				.b = changes->by_total ? change->total_b : change->self_b,
				.whole = whole_of(a, change->row), .index = i,
			};
	}
	changes->verdict = vg_verdict_judge(rows, count, changes->limit_percent);
	if (changes->verdict == VG_VERDICT_UNCLEAR && count > 0) {
		changes->limit_needed = vg_verdict_limit_needed(rows, count, changes->limit_percent);
		vg_verdict_judge(rows, count, changes->limit_percent);
	}
	verdict_keep(changes, rows, count);
	free(rows);
	return 0;
}

/* An excluded function that calls others has a row, because their samples are not excluded. */
static bool row_is_excluded(const struct vg_measures *measures, const struct vg_measure_row *row)
{
	return row->type == VG_MEASURE_FUNCTION && vg_exclusion_matches(&measures->exclusion, row->name);
}

/* large[i]: the result of row_is_large() for row i of the measures. */
static int items_add(struct vg_changes *changes, const struct vg_measures *measures, const bool *large)
{
	bool judges = changes->limit_percent >= 0;

	for (size_t i = 0; i < measures->rows.count; i++) {
		struct vg_change change = change_measure(changes, measures, &measures->rows.items[i]);

		if (change.row->type != VG_MEASURE_WHOLE && change.total_a.mean <= 0 && change.total_b.mean <= 0)
			continue;
		if (row_is_excluded(measures, change.row))
			continue;
		change.is_judged = judges && change_is_judged(changes, measures, &change, large[i]);
		change.is_merged = judges && !changes->by_total && change.row->type == VG_MEASURE_FUNCTION &&
				   !large[i];
		if (vg_array_push(&changes->items, &change) != 0)
			return -ENOMEM;
	}
	return 0;
}

int vg_changes_build(struct vg_changes *changes, struct vg_measures *measures)
{
	struct whole a = side_whole(measures, 0, changes->runs_a);
	struct whole b = side_whole(measures, changes->runs_a, changes->runs_a + changes->runs_b);
	size_t count = measures->rows.count;
	bool *large = calloc(count + 1, sizeof *large), *small = calloc(count + 1, sizeof *small);
	int rc = large == NULL || small == NULL ? -ENOMEM : 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (row_is_excluded(measures, &measures->rows.items[i]))
			continue;
		large[i] = row_is_large(changes, measures, &measures->rows.items[i], &a, &b);
		small[i] = !large[i] && measures->rows.items[i].type == VG_MEASURE_FUNCTION;
	}
	if (rc == 0 && changes->limit_percent >= 0 && !changes->by_total) {
		rc = vg_measures_sum(measures, small);
		if (rc == 0)
			large[count] = row_is_large(changes, measures, &measures->rows.items[count], &a, &b);
	}
	if (rc == 0)
		rc = expected_scale_set(changes, measures, large);
	if (rc == 0)
		rc = items_add(changes, measures, large);
	if (rc == 0 && changes->items.count > 1)
		qsort_r(changes->items.items, changes->items.count, sizeof *changes->items.items,
			change_compare, changes);
	if (rc == 0 && changes->limit_percent >= 0)
		rc = changes_judge(changes, &a);
	free(large);
	free(small);
	return rc;
}

void vg_changes_free(struct vg_changes *changes)
{
	vg_array_free(&changes->items);
}
