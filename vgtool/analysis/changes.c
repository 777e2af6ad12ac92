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

double vg_change_percent(const struct vg_spread *a, const struct vg_spread *b)
{
	if (a->mean > 0)
		return 100 * (b->mean - a->mean) / a->mean;
	return b->mean > 0 ? INFINITY : 0;
}

static void whole_add(struct whole *whole, const struct vg_measure_row *row,
		      const struct vg_spread *self)
{
	if (row->type == VG_MEASURE_WHOLE)
		whole->functions = self->mean;
	else if (is_label(row))
		whole->labels += self->mean;
}

static bool share_is_large(const struct vg_changes *changes, double part, double whole)
{
	return part > 0 && part * 100 >= changes->min_share_percent * whole;
}

static void change_judge(const struct vg_changes *changes, struct vg_change *change,
			 const struct whole *a, const struct whole *b)
{
	const struct vg_spread *of_a = changes->by_total ? &change->total_a : &change->self_a;
	const struct vg_spread *of_b = changes->by_total ? &change->total_b : &change->self_b;
	const struct vg_spread_change *by = changes->by_total ? &change->total : &change->self;
	bool label = is_label(change->row);

	change->is_large = share_is_large(changes, of_a->mean, label ? a->labels : a->functions) ||
			 share_is_large(changes, of_b->mean, label ? b->labels : b->functions);
	change->fails = changes->fail_above_percent >= 0 && change->is_large && by->change > 0 &&
			vg_change_percent(of_a, of_b) > changes->fail_above_percent &&
			(!by->has_margin || by->change > by->margin);
}

static void change_measure(const struct vg_changes *changes, const struct vg_measures *measures,
			   const struct vg_measure_row *row, struct vg_change *change)
{
	uint32_t middle = changes->runs_a, end = changes->runs_a + changes->runs_b;

	*change = (struct vg_change){
		.row = row,
		.self_a = vg_measures_spread(measures, row, VG_MEASURE_SELF, 0, middle),
		.self_b = vg_measures_spread(measures, row, VG_MEASURE_SELF, middle, end),
		.total_a = vg_measures_spread(measures, row, VG_MEASURE_TOTAL, 0, middle),
		.total_b = vg_measures_spread(measures, row, VG_MEASURE_TOTAL, middle, end),
		.count_a = vg_measures_spread(measures, row, VG_MEASURE_COUNT, 0, middle),
		.count_b = vg_measures_spread(measures, row, VG_MEASURE_COUNT, middle, end),
	};
	change->self = vg_spread_compare(&change->self_a, &change->self_b);
	change->total = vg_spread_compare(&change->total_a, &change->total_b);
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

int vg_changes_build(struct vg_changes *changes, const struct vg_measures *measures)
{
	struct whole a = { 0 }, b = { 0 };

	for (size_t i = 0; i < measures->rows.count; i++) {
		struct vg_change change;

		change_measure(changes, measures, &measures->rows.items[i], &change);
		whole_add(&a, change.row, &change.self_a);
		whole_add(&b, change.row, &change.self_b);
		if (vg_array_push(&changes->items, &change) != 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < changes->items.count; i++) {
		change_judge(changes, &changes->items.items[i], &a, &b);
		changes->failed += changes->items.items[i].fails;
	}
	if (changes->items.count > 1)
		qsort_r(changes->items.items, changes->items.count, sizeof *changes->items.items,
			change_compare, changes);
	return 0;
}

void vg_changes_free(struct vg_changes *changes)
{
	vg_array_free(&changes->items);
}
