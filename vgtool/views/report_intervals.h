/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_REPORT_INTERVALS_H
#define VG_VGTOOL_REPORT_INTERVALS_H

#include "vgtool/analysis/interval_table.h"
#include "vgtool/analysis/perf_counts.h"

/* `vgtool report --by interval`: prints tables whose rows are intervals, on standard output. */
struct vg_report_intervals {
	const struct vg_intervals *intervals;
	const struct vg_thread_samples *threads;
	enum vg_weight weight;
	const struct vg_perf_counts *counts; /* of a perf counter, shown in place of time; NULL: time */
	int64_t only_tid;            /* -1: first a table of all threads together, then one for each thread */
	uint64_t limit;              /* rows of a table; 0: 20 in text, all in JSON */
	bool json;
};

/* Returns 0 or -ENOMEM. */
int vg_report_intervals(const struct vg_report_intervals *report);

#endif
