/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PERF_COUNTS_H
#define VG_VGTOOL_PERF_COUNTS_H

#include <stdbool.h>

#include "profile/model.h"
#include "vgtool/analysis/thread_samples.h"
#include "vgtool/output/text.h"

/*
 * The growth of one perf counter, by sample and by time.
 *
 * A thread can have several samples between two readings of its counter.  The count is then divided
 * among these samples, in proportion to their CPU time.  If they have no CPU time, the last of them gets
 * the whole count.  Within the time of one sample the count is spread evenly.
 *
 *	vg_perf_counts_build(&counts, profile, vg_perf_counter_find(profile, "page-faults"));
 *	faults = vg_perf_counts_at(&counts, thread, end_ns) - vg_perf_counts_at(&counts, thread, begin_ns);
 *	vg_perf_counts_free(&counts);
 */
struct vg_perf_counts {
	const struct vg_profile *profile; /* the caller's; must outlive this */
	const char *name;            /* of the perf counter; the profile's */
	uint64_t *by_sample;         /* by sample: its part of the count */
	uint64_t total;              /* of all threads */
	uint64_t unsampled;          /* part of total: counted in threads before their first sample */
	uint64_t *first;             /* thread t has points[first[t]] to points[first[t + 1] - 1] */
	struct vg_perf_counts_point {
		uint64_t time_ns;
		uint64_t sum;        /* counted by the thread up to time_ns */
	} *points;                   /* for each thread in order of time */
};

/* Index of the perf counter in the profile's header, or VG_NONE.  Short names are accepted too. */
uint32_t vg_perf_counter_find(const struct vg_profile *profile, const char *name);

/* Sets *without to the number of threads that have no perf counters.  Returns 0 if the profile has the perf counter,
 * otherwise -ENODATA.  err then names the path and the perf counters that the profile has. */
int vg_perf_counter_check(const struct vg_profile *profile, const char *name, const char *path,
			  uint64_t *without, struct vg_err *err);

/* counter: index in the profile's header.  Returns 0 or -ENOMEM; call vg_perf_counts_free() in either
 * case. */
int vg_perf_counts_build(struct vg_perf_counts *counts, const struct vg_profile *profile, uint32_t counter);
void vg_perf_counts_free(struct vg_perf_counts *counts);

/* The counter's name.  Returns NULL if counts is NULL, which means time. */
const char *vg_perf_counts_name(const struct vg_perf_counts *counts);

/* Formats a value of the counter, without the counter's name.  If counter is NULL, the value is a
 * time in ns. */
const char *vg_amount_text(const char *counter, struct vg_text *room, uint64_t value);

/* Like vg_amount_text(), but says also what is counted: "2.03 s of wall time", "4096 page-faults". */
const char *vg_amount_text_full(const char *counter, enum vg_weight weight, struct vg_text *room,
				uint64_t value);

/* The count of the thread (an index) up to that time. */
uint64_t vg_perf_counts_at(const struct vg_perf_counts *counts, uint32_t thread, uint64_t time_ns);

#endif
