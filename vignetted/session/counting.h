/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_COUNTING_H
#define VG_VIGNETTED_COUNTING_H

#include "vignetted/capture/counters.h"
#include "vignetted/target/tasks.h"

struct vg_session;
struct vg_recording;

/*
 * The counters that a recording asks for (counters.h), of all its threads.  They are read behind a
 * thread's sample, and not where it has not run: the profile is told how far they went since.  A
 * recording without any costs nothing.
 */
struct vg_counting {
	uint16_t codes[VG_COUNTERS_MAX];
	uint32_t count;              /* of them */
	char names[VG_COUNTERS_MAX * VG_COUNTER_NAME_BYTES]; /* with a comma between */
	size_t open, open_max;       /* descriptors; and so many at most */
	uint64_t threads_without;    /* that could not have theirs */
	int refused;                 /* the first such, a negative errno, */
	uint32_t refused_at;         /* and which of the codes */
};

/* What the recording's options ask for, before anything is opened. */
void vg_counting_open(struct vg_counting *counting, const uint16_t codes[VG_COUNTERS_MAX]);

/* Counts in every thread that there is.  0, or a negative errno with the reason: it cannot be. */
int vg_counting_begin(struct vg_session *session, struct vg_recording *recording,
		      struct vg_err *err);

/* And in one that came later. */
void vg_counting_thread(struct vg_recording *recording, struct vg_task *task);

/* Tells the profiles that have had a sample of the thread how far its counters went; it was stopped so
 * often by us since the last time. */
void vg_counting_tell(struct vg_session *session, struct vg_task *task, uint64_t stops);

/* Tells the profile for the last time: the thread has ended, at that session time.  What it did since
 * its latest sample is told, and what it has open is closed. */
void vg_counting_thread_end(struct vg_session *session, struct vg_recording *recording,
			    struct vg_task *task, uint64_t end_ns);

/* The recording has stopped. */
void vg_counting_end(struct vg_session *session, struct vg_recording *recording);

#endif
