/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_COUNTING_H
#define VG_VIGNETTED_COUNTING_H

#include "vignetted/capture/counters.h"
#include "vignetted/target/tasks.h"

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
	bool running;                /* vg_counting_begin() was called, and vg_counting_end() was not */
};

/* What the recording's options ask for, before anything is opened. */
void vg_counting_open(struct vg_counting *counting, const uint16_t codes[VG_COUNTERS_MAX]);

/* Lets threads be counted from now on.  The other recordings' counters have so many descriptors open. */
void vg_counting_begin(struct vg_counting *counting, struct vg_tasks *tasks, size_t others_open);

/* Whether every thread that there is could have its counters.  0, or a negative errno with the reason. */
int vg_counting_check(const struct vg_counting *counting, const struct vg_tasks *tasks, struct vg_err *err);

/* Counts in one thread. */
void vg_counting_thread(struct vg_recording *recording, struct vg_task *task);

/* Writes how far the counters of the thread went, if it has had a sample since; it was stopped so often by us since
 * the last time.  Times are the recording's. */
void vg_counting_write(struct vg_recording *recording, struct vg_task *task, uint64_t stops, uint64_t now_ns);

/* Writes it for the last time: the thread has ended.  What it has open is closed. */
void vg_counting_thread_end(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns);

/* The recording has stopped. */
void vg_counting_end(struct vg_recording *recording, struct vg_tasks *tasks, uint64_t now_ns);

#endif
