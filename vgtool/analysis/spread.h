/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SPREAD_H
#define VG_VGTOOL_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Mean and spread of numbers that are added one by one.  Uses Welford's method, because a sum of large squares would
 * lose digits.
 */
struct vg_spread {
	size_t count;
	double mean, sum, min, max;
	double squared_distances;    /* sum of the squared distances from the mean */
};

void vg_spread_add(struct vg_spread *spread, double value);

/* Adds `count` zeros. */
void vg_spread_add_zeros(struct vg_spread *spread, size_t count);

/* Sample standard deviation (with the divisor count - 1).  0 for fewer than two numbers. */
double vg_spread_deviation(const struct vg_spread *spread);

/*
 * Difference of two means, with the half width of its 95 % confidence interval (Welch's interval, for unequal
 * variances).  The margin is known if at least one side has two numbers or more.  A side with one number is assumed to
 * have the variance of the other side.
 */
struct vg_spread_change {
	double change;               /* b's mean - a's mean */
	double margin;               /* the true change is within change +- margin */
	bool has_margin;
};

struct vg_spread_change vg_spread_compare(const struct vg_spread *a, const struct vg_spread *b);

#endif
