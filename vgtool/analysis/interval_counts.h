/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_INTERVAL_COUNTS_H
#define VG_VGTOOL_INTERVAL_COUNTS_H

#include "vgtool/analysis/intervals.h"
#include "vgtool/analysis/perf_counts.h"

/*
 * The growth of one perf counter of the thread during each interval: self and total, which are defined as for time in
 * intervals.h.  An interval inside another of the same name has a total of 0.  For detached intervals both are 0,
 * because a detached interval belongs to no thread.
 */
struct vg_interval_counts {
	uint64_t *self, *total;      /* by interval; owned */
};

/* Returns 0 or -ENOMEM; call vg_interval_counts_free() in either case. */
int vg_interval_counts_build(struct vg_interval_counts *interval_counts, const struct vg_intervals *intervals,
			     const struct vg_perf_counts *counts);
void vg_interval_counts_free(struct vg_interval_counts *interval_counts);

#endif
