/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_RECORD_FILTER_H
#define VG_VGTOOL_RECORD_FILTER_H

#include "base/infile.h"
#include "profile/chunk.h"

/*
 * Selects the records of one thread: its samples, its events, its perf counter readings, and the records that create,
 * name and end the thread.  The time of a record is relative to an earlier record, which may belong to another thread.
 * So the filter reads every record and keeps the current time.
 *
 *	struct vg_record_filter filter = { .thread = "main" };
 *	vg_record_filter_open(&filter, &file);
 *	vg_record_filter_chunk_begin(&filter);                     (before the records of each chunk)
 *	if (vg_record_filter_matches(&filter, &record, &time_ns))  (for every record)
 *		...
 *	vg_record_filter_close(&filter);
 */
struct vg_record_filter {
	const char *thread;          /* id or name, the caller's; NULL: every record matches */
	struct vg_intern ids;        /* ids (not tids) by which records refer to the matching threads */
	int64_t sample_us, event_ns; /* current time of samples and of events, since the recording began */
	bool at_chunk_begin;         /* no time record of the chunk was read yet */
};

/* Reads the whole file to find the thread's ids.  Returns 0; -ESRCH if no thread matches; -ENOMEM. */
int vg_record_filter_open(struct vg_record_filter *filter, const struct vg_infile *file);
void vg_record_filter_close(struct vg_record_filter *filter);

void vg_record_filter_chunk_begin(struct vg_record_filter *filter);

/* True if the record belongs to the thread.  *time_ns is the time of a sample or event, or -1 for other
 * records and for a filter without a thread. */
bool vg_record_filter_matches(struct vg_record_filter *filter, const struct vg_record_view *record,
			      int64_t *time_ns);

#endif
