/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SPREAD_H
#define VG_VGTOOL_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

/* Mean and spread of numbers that come one by one (Welford's method: no sum of large squares). */
struct vg_spread {
	size_t count;
	double mean, sum, min, max;
	double squares;              /* of the distances from the mean, summed up */
};

void vg_spread_add(struct vg_spread *spread, double value);

/* So many zeros at once: runs in which nothing was seen. */
void vg_spread_add_zeros(struct vg_spread *spread, size_t count);

/* Of a sample: over count - 1.  0 for fewer than two. */
double vg_spread_deviation(const struct vg_spread *spread);

/*
 * How b's mean differs from a's.  The interval is Welch's for unequal variances at 95%: it is known
 * if either side has two numbers, a side with one being taken to vary as the other does.
 */
struct vg_spread_change {
	double change;               /* signed */
	double margin;               /* the change is known to this, in either direction */
	bool has_margin;
};

struct vg_spread_change vg_spread_compare(const struct vg_spread *a, const struct vg_spread *b);

#endif
