/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_REPORT_INTERVALS_H
#define VG_VGTOOL_REPORT_INTERVALS_H

#include "vgtool/analysis/counted.h"
#include "vgtool/analysis/interval_table.h"

/* The form of vgtool report whose rows are intervals and not functions, on standard output. */
struct vg_report_intervals {
	const struct vg_spans *spans;
	const struct vg_threads *threads;
	enum vg_weight weight;
	const struct vg_counted *counts; /* instead of that; NULL: time */
	int64_t only_tid;            /* -1: all, and first over all */
	uint64_t limit;              /* of rows in a table; 0: none was asked for */
	bool json;
};

/* 0 or -ENOMEM. */
int vg_report_intervals(const struct vg_report_intervals *report);

#endif
