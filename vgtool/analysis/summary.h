/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SUMMARY_H
#define VG_VGTOOL_SUMMARY_H

#include "vgtool/analysis/intervals.h"

/*
 * The events of one or more profiles, summed up by kind and label: intervals with self and total time,
 * instants with their number, counters with their lowest and highest value.
 *
 * Total is the time in which any interval of the row was open on its thread, so time in nested intervals of the same
 * row counts once.  Minimum, maximum, mean and quantiles are those of the intervals' lengths.  A detached
 * interval (vgctl(3)) belongs to no thread and may overlap others, so its whole time is both self and total time.
 * Detached intervals have rows that are separate from those of other intervals.
 *
 *	struct vg_summary summary = { .by_thread = false };
 *	vg_summary_add(&summary, &intervals);                      (for each profile)
 *	vg_summary_finish(&summary);
 *	vg_summary_free(&summary);
 */
enum vg_summary_type {
	VG_SUMMARY_INTERVAL,
	VG_SUMMARY_DETACHED,
	VG_SUMMARY_INSTANT,
	VG_SUMMARY_COUNTER,
};

struct vg_summary_row {
	enum vg_summary_type type;
	const char *thread;          /* vg_thread_name(); NULL unless by_thread */
	const char *kind;            /* NULL: none */
	const char *label;           /* the kind if there is no label */
	uint64_t count;
	uint64_t open, end_lost;     /* numbers of intervals that are VG_INTERVAL_OPEN and VG_INTERVAL_END_LOST */
	uint64_t self_ns, total_ns;
	uint64_t length_ns;          /* sum of the lengths */
	uint64_t min_ns, max_ns, p50_ns, p99_ns;
	int64_t min_value, max_value, last_value; /* of a counter */
	struct vg_summary_count {    /* growth of the perf counters, by index in vg_summary.perf_counters */
		uint64_t self, total;
	} counts[VG_PERF_COUNTERS_MAX];
};

struct vg_summary {
	bool by_thread;              /* set by the caller before the first vg_summary_add() */
	VG_ARRAY(struct vg_summary_row) rows; /* valid after vg_summary_finish().  Sorted by type (intervals,
	                                         instants, counters), thread, self descending, total
	                                         descending, label */
	uint64_t self_ns;            /* of all rows */
	const char *perf_counters[VG_PERF_COUNTERS_MAX]; /* the names that come first in the profiles; further
	                                                    perf counters are left out */
	uint32_t perf_counter_count;
	uint64_t ends_orphaned, begins_repeated, times_out_of_order, dropped; /* as in struct vg_intervals */

	/* Private. */
	struct vg_intern keys;       /* type, thread, kind, label -> row */
	struct vg_intern counter_names; /* name -> index in perf_counters */
	VG_ARRAY(struct vg_summary_length { uint64_t ns; uint32_t row; }) lengths;
};

/* Returns 0 or -ENOMEM.  The profile and its intervals may be freed afterwards. */
int vg_summary_add(struct vg_summary *summary, const struct vg_intervals *intervals);
void vg_summary_finish(struct vg_summary *summary);
void vg_summary_free(struct vg_summary *summary);

#endif
