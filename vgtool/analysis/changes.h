/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHANGES_H
#define VG_VGTOOL_CHANGES_H

#include "vgtool/analysis/measures.h"

/* How the rows of measures differ between two sides: the first runs, A, and the others, B. */
struct vg_change {
	const struct vg_measure_row *row;
	struct vg_spread self_a, self_b, total_a, total_b, count_a, count_b;
	struct vg_spread_change self, total;
	bool counts;                 /* on either side it has so much of the whole that it can fail */
	bool fails;                  /* it grew by more than was allowed */
};

struct vg_changes {
	uint32_t runs_a, runs_b;
	bool by_total;               /* set by the caller, with those below */
	double fail_above;           /* percent; below 0: nothing fails */
	double at_least;             /* percent of the whole */
	VG_ARRAY(struct vg_change) items; /* the whole; labels; functions; each by its change */
	size_t failed;
};

/*
 * A row fails if its mean grew by more than fail_above percent, in time by what the changes are,
 * and, where the margin is known, the growth is more than the margin.  What was not there before
 * grew by more than any percentage.  Rows below at_least percent of the whole on both sides never
 * fail.
 *
 * 0 or -ENOMEM.  The measures must outlive this.
 */
int vg_changes_build(struct vg_changes *changes, const struct vg_measures *measures);
void vg_changes_free(struct vg_changes *changes);

/* Of the means, in percent of A's: infinity for what A has not, 0 if neither has it. */
double vg_change_percent(const struct vg_spread *a, const struct vg_spread *b);

#endif
