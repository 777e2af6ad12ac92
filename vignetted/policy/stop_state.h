/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STOP_STATE_H
#define VG_VIGNETTED_STOP_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "vignetted/policy/weights.h"

/*
 * What a thread did when the helper asked it to stop.
 *
 *	struct vg_stop stop = { .timeslices = after.timeslices - before.timeslices, ... };
 *	weights = vg_weights_sample(&weights, &clocks, vg_stop_state(&stop));
 *
 * A thread that was on another CPU than the helper stops at once, in its timeslice.  Any other thread stops when it
 * gets a CPU: it begins a timeslice.  Such a thread was on a CPU only if the helper has taken that CPU from it.  Its
 * time in the run queue then began when the helper got the CPU.
 *
 * Pure: no clock, no I/O.
 */
struct vg_stop {
	/* The growth of the thread's counts in schedstat, from immediately before the request to the stop. */
	uint64_t timeslices;
	uint64_t queued_ns;          /* time in the run queue */
	uint64_t ran_ns;             /* CPU time */
	/* CLOCK_MONOTONIC. */
	uint64_t got_cpu_ns;         /* when the helper got its CPU, before the request */
	uint64_t stopped_ns;         /* when the thread stopped */
	bool waits;                  /* the stop interrupted a wait in a system call */
	bool was_waiting;            /* the thread waited before the request; it may run now because of an earlier stop */
};

enum vg_thread_state vg_stop_state(const struct vg_stop *stop);

#endif
