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

#endif
