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
 * How a thread is sampled at a tick, for the recordings whose samples are due.
 *
 * A recording that has the thread's latest stack gets a repeat of it, if the thread has not run since.  The others need
 * the thread's stack, and the way is used that disturbs the thread least.
 */
enum vg_method {
	VG_METHOD_PASS,              /* the thread waits, and only CPU time is wanted */
	VG_METHOD_TIMER,             /* the thread runs, and timers sample it */
	VG_METHOD_READ,              /* the thread waits: its stack is copied without a stop; if that does not suffice,
					the thread is stopped after all (capture/stack.h) */
	VG_METHOD_STOP,              /* the thread runs: it is stopped, its stack is copied, and it is released */
};

/* running: the thread is on a CPU or in the run queue.  has_timers: timers sample it while it runs.  cpu_only: all
 * recordings that need its stack want CPU time only.  Pure. */
enum vg_method vg_method_choose(bool running, bool has_timers, bool cpu_only);

#endif
