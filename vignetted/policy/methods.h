/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_METHODS_H
#define VG_VIGNETTED_METHODS_H

#include <stdbool.h>
#include <stdint.h>

/* Recordings of one process at a time.  A set of them has bit i for the one at index i. */
enum { VG_RECORDINGS = 4 };
typedef uint32_t vg_recording_set;

/* Goes through the indices of a set. */
#define VG_EACH_RECORDING(index, set) \
	for (uint32_t left_##index = (set), index; \
	     left_##index != 0 && (index = (uint32_t)__builtin_ctz(left_##index), true); \
	     left_##index &= left_##index - 1)

/*
 * How one thread is sampled, by recording.  Each due recording is in one set.  It is disturbed as little as can be.
 */
struct vg_methods {
	vg_recording_set repeat;     /* it has not run since its latest sample: that stack stands for it */
	vg_recording_set pass;       /* it waits, and the recording asks for CPU time only */
	vg_recording_set timer;      /* it runs, and the kernel's timers sample it */
	vg_recording_set read;       /* it waits: its stack is copied meanwhile */
	vg_recording_set stop;       /* it runs: it is stopped, its stack copied, and let go */
};

/* What is known of the thread, by recording. */
struct vg_methods_due {
	vg_recording_set set;        /* those that are due */
	vg_recording_set unrun;      /* those whose latest sample was at the same timeslice */
	vg_recording_set moved;      /* those for which it has moved all the same: it is in another interval, or its
	                                stack must be written anew */
	vg_recording_set timers;     /* those for which timers sample it while it runs */
	vg_recording_set cpu_only;   /* those that ask for CPU time only */
	bool running;                /* on a CPU or about to be; matters only if a recording does not repeat */
};

/* Pure. */
struct vg_methods vg_methods_choose(const struct vg_methods_due *due);

#endif
