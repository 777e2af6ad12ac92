/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SUMMARY_H
#define VG_VGTOOL_SUMMARY_H

#include "vgtool/analysis/spans.h"

/*
 * What the events of one profile or several come to, by label: intervals with their self and total
 * times, instants with their numbers, counters with their extremes.
 *
 * Total is the time in which any interval of the row was open on its thread: one within another of
 * its own name counts once.  The mean and the quantiles are of the intervals' own lengths.
 * Detached intervals are rows of their own, and there all of it counts.
 */
enum vg_summary_what {
	VG_SUMMARY_INTERVAL,
	VG_SUMMARY_DETACHED,
	VG_SUMMARY_INSTANT,
	VG_SUMMARY_COUNTER,
};

struct vg_summary_row {
	enum vg_summary_what what;
	const char *thread;          /* what the views call it; NULL unless by thread */
	const char *kind;            /* NULL: none */
	const char *label;           /* the kind where there is none */
	uint64_t count;
	uint64_t open, lost;         /* of them: as enum vg_span_state has it */
	uint64_t self_ns, total_ns;
	uint64_t length_ns;          /* the sum of the lengths */
	uint64_t min_ns, max_ns, p50_ns, p99_ns;
	int64_t least, most, last;   /* of a counter */
	struct vg_summary_count {    /* how far the threads' counters went, by vg_summary.counters */
		uint64_t self, total;
	} counts[VG_COUNTS_MAX];
};

struct vg_summary {
	bool by_thread;              /* the caller sets this before it adds */
	VG_ARRAY(struct vg_summary_row) rows; /* after vg_summary_finish(): by what, thread, self and
	                                         total descending, label */
	uint64_t self_ns;            /* of all rows */
	const char *counters[VG_COUNTS_MAX]; /* the names of those that the profiles have; of more the
	                                        rest is left out */
	uint32_t counter_count;
	uint64_t ends_orphaned, begins_repeated, times_back, dropped;

	/* Its own. */
	struct vg_intern keys;       /* what, thread, kind, label -> row */
	struct vg_intern counter_names; /* -> index in counters */
	VG_ARRAY(struct vg_summary_length { uint64_t ns; uint32_t row; }) lengths;
};

/* 0 or -ENOMEM.  Nothing of the profile is needed afterwards. */
int vg_summary_add(struct vg_summary *summary, const struct vg_spans *spans);
void vg_summary_finish(struct vg_summary *summary);
void vg_summary_free(struct vg_summary *summary);

#endif
