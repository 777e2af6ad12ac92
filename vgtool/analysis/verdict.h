/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_VERDICT_H
#define VG_VGTOOL_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "vgtool/analysis/estimate.h"

enum vg_verdict {
	VG_VERDICT_NO_CHANGE,        /* no row grew by more than the limit */
	VG_VERDICT_SLOWER,           /* at least one row grew by more than the limit */
	VG_VERDICT_UNCLEAR,          /* the margins are too large to say either, or there is no row */
};

/* The probability of a wrong verdict "slower" is at most this, over all rows together. */
#define VG_VERDICT_ERROR 0.05

/* A row is unclear if it would be slower with this probability in place of VG_VERDICT_ERROR. */
#define VG_VERDICT_DOUBT 0.1

/* One row.  The caller sets the members up to `index`; vg_verdict_judge() sets the others. */
struct vg_judged {
	struct vg_estimate a, b;
	double whole;                /* mean time on side A: of all labels if the row is a label, otherwise of
	                                all samples */
	size_t index;                /* the caller's; vg_verdict_judge() changes the order of the rows */

	double p;                    /* the probability that a row whose true growth is the limit seems to grow as much
	                                as this one; NAN: the variance is unknown */
	bool is_slower;
	bool is_unclear;             /* a growth that matters cannot be excluded */
};

/*
 * Judges all rows together, and returns the verdict.
 *
 * A row is slower if it grew by more than limit_percent significantly: Welch's one-sided test against the limit, with
 * Holm's correction for the number of rows.
 *
 * A growth matters if it is at least twice the limit.  In a row with less than a quarter of the whole, a growth matters
 * if it costs at least half of limit_percent of the whole: a small row is measured less precisely, and matters less.
 *
 * A row is unclear in any of these cases:
 *  - the upper end of its 95 % interval reaches the smallest growth that matters,
 *  - its growth is more than half of the smallest growth that matters,
 *  - it would be slower if a wrong verdict were allowed with a probability of VG_VERDICT_DOUBT,
 *  - its p is unknown.
 *
 * The verdict is "no change" if there is a row, no row is slower, and none is unclear.
 */
enum vg_verdict vg_verdict_judge(struct vg_judged *rows, size_t count, double limit_percent);

/* The smallest growth that matters, in the unit of the means. */
double vg_verdict_growth_that_matters(const struct vg_judged *row, double limit_percent);

/* The number of runs on each side with which the row's margin would probably be small enough.  It is larger
 * than the present number of runs of the side with fewer runs. */
double vg_verdict_runs_needed(const struct vg_judged *row, double limit_percent);

/* The lowest limit, in whole percent above limit_percent, with which these runs would give the verdict "no change".  0
 * if it is more than VG_VERDICT_LIMIT_MAX.  Changes the rows, as vg_verdict_judge() does. */
enum { VG_VERDICT_LIMIT_MAX = 100 };
double vg_verdict_limit_needed(struct vg_judged *rows, size_t count, double limit_percent);

#endif
