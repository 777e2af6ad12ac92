/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_RECORD_FILTER_H
#define VG_VGTOOL_RECORD_FILTER_H

#include "base/infile.h"
#include "profile/chunk.h"

/*
 * Picks a thread's records out of all: those that make, name and end it, its samples, events and
 * counts.  As these count their times from records of other threads, it keeps the time.
 */
struct vg_record_filter {
	const char *thread;          /* its id or name, the caller's; NULL: every record */
	struct vg_intern ids;        /* of the file, of threads that are meant */
	int64_t sample_us, event_ns;
	bool chunk_opens;            /* no time record of the chunk was seen */
};

/* Looks through the file for the ids.  0; -ESRCH if no thread is as filter->thread says; -ENOMEM. */
int vg_record_filter_open(struct vg_record_filter *filter, const struct vg_infile *file);
void vg_record_filter_close(struct vg_record_filter *filter);

/* To be told of each chunk before its records. */
void vg_record_filter_chunk(struct vg_record_filter *filter);

/* To be asked of every record in turn.  *time_ns is the time of a sample or an event, or -1. */
bool vg_record_filter_takes(struct vg_record_filter *filter, const struct vg_record_view *record,
			    int64_t *time_ns);

#endif
