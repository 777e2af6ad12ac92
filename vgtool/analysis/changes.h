/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHANGES_H
#define VG_VGTOOL_CHANGES_H

#include "vgtool/analysis/measures.h"
#include "vgtool/analysis/verdict.h"

/* How one row of the measures differs between side A (the first profiles) and side B (the others). */
struct vg_change {
	const struct vg_measure_row *row;
	struct vg_estimate self_a, self_b, total_a, total_b;
	double count_a, count_b;     /* means */
	struct vg_estimate_change self, total;
	bool is_merged;              /* a small function, which is a part of the row "[others]" */
	bool is_judged;              /* the verdict depends on it; the members below are set */
	bool is_slower, is_unclear;  /* as in struct vg_judged */
	double p;
};

/*
 * The caller sets the fields up to min_share_percent, then calls vg_changes_build():
 *
 *	struct vg_changes changes = { .runs_a = 3, .runs_b = 3, .limit_percent = 5, .min_share_percent = 1 };
 *	vg_changes_build(&changes, &measures);
 *	vg_changes_free(&changes);
 */
struct vg_changes {
	uint32_t runs_a, runs_b;     /* numbers of profiles; A's profiles are the first in the measures */
	bool by_total;               /* rows are judged and sorted by total time; false: by self time */
	double limit_percent;        /* below 0: nothing is judged */
	double min_share_percent;
	VG_ARRAY(struct vg_change) items; /* all samples, then labels, then functions; within each of
	                                     these groups the largest change first.  Rows without time are left
	                                     out */
	size_t slower;               /* number of items that are slower */
	enum vg_verdict verdict;     /* set if limit_percent is 0 or more */
	const struct vg_change *decisive; /* the slower item with the largest change; if none is slower, the unclear
	                                     item that is farthest from being clear; otherwise the judged item with
	                                     the largest change.  NULL if no item is judged */
	double runs_needed;          /* profiles on each side that would probably make all items clear; 0: unknown */
	double limit_needed;         /* percent: the lowest limit above limit_percent with which the verdict would be "no
	                                change"; 0: none up to VG_VERDICT_LIMIT_MAX, or the verdict is another */
	double expected_scale;       /* private */
};

/*
 * These rows are judged (verdict.h):
 *  - all samples, unless the measures are by share,
 *  - functions with min_share_percent or more of the time on at least one side,
 *  - the sum of the other functions ("[others]") if it has min_share_percent or more.  It is not judged by total time,
 *    because a function's total time is also a part of its callers' total time,
 *  - labels with min_share_percent or more of the labels' time, if both sides have two or more profiles.
 *
 * Adds the row "[others]" to the measures, which must outlive the changes.  Returns 0 or -ENOMEM.
 */
int vg_changes_build(struct vg_changes *changes, struct vg_measures *measures);
void vg_changes_free(struct vg_changes *changes);

/* Change of the means in percent of A's mean.  NAN if A's mean is 0. */
double vg_change_percent(const struct vg_estimate *a, const struct vg_estimate *b);

#endif
