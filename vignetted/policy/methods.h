/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_METHODS_H
#define VG_VIGNETTED_METHODS_H

#include <stdbool.h>
#include <stdint.h>

/* The most recordings that a session has at a time.  In a set of recordings, bit i is the recording at index i. */
enum { VG_RECORDINGS_MAX = 4 };
typedef uint32_t vg_recording_set;

/* A loop over the indices in a set:
 *
 *     VG_EACH_RECORDING(i, session->live)
 *             vg_recorder_free(&session->recordings[i].recorder);
 */
#define VG_EACH_RECORDING(index, set) \
	for (uint32_t left_##index = (set), index; \
	     left_##index != 0 && (index = (uint32_t)__builtin_ctz(left_##index), true); \
	     left_##index &= left_##index - 1)

/*
 * How one thread is sampled at a tick.  Each due recording is in exactly one of the sets.  Of the methods that a
 * recording can use, it uses the one that disturbs the thread least.
 */
struct vg_methods {
	vg_recording_set repeat;     /* the thread has not run since its latest sample, whose stack is recorded again */
	vg_recording_set pass;       /* the thread waits, and the recording wants CPU time only */
	vg_recording_set timer;      /* the thread runs, and timers sample it */
	vg_recording_set read;       /* the thread waits: its stack is copied without a stop; if that does not suffice,
					the thread is stopped after all (capture/stack.h) */
	vg_recording_set stop;       /* the thread runs: it is stopped, its stack is copied, and it is released */
};

/* What the choice depends on. */
struct vg_methods_due {
	vg_recording_set set;        /* the recordings that are due */
	vg_recording_set same_slice; /* the thread's count of timeslices is the same as at the recording's latest
					sample: the thread has not run since that sample */
	vg_recording_set stack_changed; /* the latest stack must not be repeated, even in the same timeslice: the thread
	                                is in another interval, or the recorder has begun a new stack table */
	vg_recording_set timers;     /* timers sample the thread while it runs */
	vg_recording_set cpu_only;   /* the recording wants CPU time only */
	bool running;                /* the thread is on a CPU or in the run queue; no effect if `repeat` is the method
					of all due recordings */
};

/* Chooses the methods.  Pure: no clock, no I/O, no state. */
struct vg_methods vg_methods_choose(const struct vg_methods_due *due);

#endif
