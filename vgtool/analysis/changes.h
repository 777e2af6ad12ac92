/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHANGES_H
#define VG_VGTOOL_CHANGES_H

#include "vgtool/analysis/measures.h"

/* How one row of the measures differs between side A (the first profiles) and side B (the others). */
struct vg_change {
	const struct vg_measure_row *row;
	struct vg_spread self_a, self_b, total_a, total_b, count_a, count_b;
	struct vg_spread_change self, total; /* B's mean - A's mean */
	bool is_large;               /* its share is min_share_percent or more on one side: it can fail */
	bool fails;                  /* it grew by more than is allowed */
};

/*
 * The caller sets the fields up to min_share_percent, then calls vg_changes_build():
 *
 *	struct vg_changes changes = { .runs_a = 3, .runs_b = 3, .fail_above_percent = 5, .min_share_percent = 1 };
 *	vg_changes_build(&changes, &measures);
 *	vg_changes_free(&changes);
 */
struct vg_changes {
	uint32_t runs_a, runs_b;     /* numbers of profiles; A's profiles are the first in the measures */
	bool by_total;               /* rows are judged and sorted by total time; false: by self time */
	double fail_above_percent;   /* below 0: nothing fails */
	double min_share_percent;
	VG_ARRAY(struct vg_change) items; /* all samples, then labels, then functions; within each of
	                                     these groups the largest change first */
	size_t failed;               /* number of items that fail */
};

/*
 * A row fails if all three conditions are true:
 *  - its mean time grew by more than fail_above_percent; a row that A does not have grew by more than
 *    any percentage,
 *  - the growth is larger than the margin, if the margin is known,
 *  - its share of the time is min_share_percent or more on at least one side.
 *
 * Returns 0 or -ENOMEM.  The measures must outlive the changes.
 */
int vg_changes_build(struct vg_changes *changes, const struct vg_measures *measures);
void vg_changes_free(struct vg_changes *changes);

/* Change of the means in percent of A's mean.  Infinity if only A's mean is 0; 0 if both are 0. */
double vg_change_percent(const struct vg_spread *a, const struct vg_spread *b);

#endif
