/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_ESTIMATE_H
#define VG_VGTOOL_ESTIMATE_H

#include "vgtool/analysis/spread.h"

/*
 * The mean of some runs, and what is known of the variance between runs.
 *
 * The variance between two or three runs is known badly: by chance it can be much too small or too large.  So it is
 * combined with an expected variance, which counts as if VG_EXPECTED_FREEDOM + 1 runs had it.  A measured variance
 * above VG_EXPECTED_EXCESS times the expected one is used alone.  The runs then differ more than expected, and the
 * expected variance would make a test against a limit too sure.  With three runs on each side, chance makes the
 * measured variance of both sides together so large in 0.3 % of the cases.  For a single run only the expected variance
 * is known.
 */
enum { VG_EXPECTED_FREEDOM = 6, VG_EXPECTED_EXCESS = 4 };

struct vg_estimate {
	double mean;
	double variance;             /* of one run */
	double freedom;              /* degrees of freedom of the variance; 0: the variance is unknown */
	size_t runs;
};

/* expected_variance: of one run; below 0: unknown.  combine: combine it with the measured variance; false: use it only
 * for a single run. */
struct vg_estimate vg_estimate_make(const struct vg_spread *spread, double expected_variance, bool combine);

/* The change from a's mean to b's, with half the width of its 95 % confidence interval (Welch's interval, for unequal
 * variances).  If the variance of one side is unknown, it is assumed to be that of the other side. */
struct vg_estimate_change {
	double change;               /* b's mean - a's mean */
	double margin;               /* the true change is within change +- margin */
	bool has_margin;             /* the variance of one side at least is known */
};
struct vg_estimate_change vg_estimate_compare(const struct vg_estimate *a, const struct vg_estimate *b);

/* The probability of a change as large as this one or larger, if b's true mean were `limit_percent` above a's.  Welch's
 * test, one-sided.  NAN if the variance of a side is unknown.  vg_estimate_compare() then uses the other side's
 * variance.  A test must not do so: the other side's variance is 0 if the other side does not have the row. */
double vg_estimate_exceeds(const struct vg_estimate *a, const struct vg_estimate *b, double limit_percent);

#endif
