/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_COUNTED_H
#define VG_VGTOOL_COUNTED_H

#include <stdbool.h>

#include "profile/model.h"
#include "vgtool/analysis/threads.h"
#include "vgtool/output/text.h"

/*
 * How far one counter went, by samples and by time.
 *
 * Between two readings a thread may have had several samples: what was counted is divided among them
 * by their CPU time, and is the last one's where they have none, for a thread that has not run has
 * counted nothing.  Within a sample's time it is spread evenly.
 */
struct vg_counted {
	const struct vg_profile *profile; /* the caller's; must outlive this */
	const char *name;
	uint64_t *by_sample;
	uint64_t total;
	uint64_t unsampled;          /* of that, in threads before their first sample */
	uint64_t *first;             /* of thread t: points[first[t]] up to before points[first[t + 1]] */
	struct vg_counted_point {
		uint64_t time_ns;
		uint64_t sum;        /* of the thread so far */
	} *points;                   /* by time, for each thread */
};

/* The place of the name among the profile's counters; VG_NONE: there is none. */
uint32_t vg_counted_find(const struct vg_profile *profile, const char *name);

/* 0 with how many threads lack it; or -ENODATA with what the profile of that path has instead. */
int vg_counted_check(const struct vg_profile *profile, const char *name, const char *path,
		     uint64_t *without, struct vg_err *err);

/* 0 or -ENOMEM; free in either case. */
int vg_counted_build(struct vg_counted *counts, const struct vg_profile *profile, uint32_t counter);
void vg_counted_free(struct vg_counted *counts);

/* The counter's name; NULL for NULL, which is time. */
const char *vg_counted_name(const struct vg_counted *counts);

/* A value of that counter as people read it, without its name; NULL: a time. */
const char *vg_counted_text(const char *counter, struct vg_text *room, uint64_t value);

/* The same with what it is of: "2.03 s of wall time", "4,096 page-faults". */
const char *vg_counted_whole(const char *counter, enum vg_weight weight, struct vg_text *room,
			     uint64_t value);

/* How far it had gone in the thread by that time. */
uint64_t vg_counted_at(const struct vg_counted *counts, uint32_t thread, uint64_t time_ns);

#endif
