/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PACE_H
#define VG_VIGNETTED_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How many sampling periods lie between two ticks.
 *
 * Each tick wakes the helper, which takes a CPU from another thread and so delays the work of that thread.  If timers
 * sample all running threads, a tick has little to do, and the rings have room for many samples.  So ticks are several
 * periods apart in two cases:
 *
 *  - No recording wants wall time.
 *  - The threads that are not idle run nearly all the time.  Their short waits are sampled less often, but have the
 *    same time in the profile (policy/weights.h).
 *
 *     if (vg_pace_due(&load, periods))
 *             periods = vg_pace_periods(&load, periods);
 *
 * Pure: no clock, no I/O.
 */

/* What happened since the latest decision, and what bounds the next one. */
struct vg_pace_load {
	uint64_t elapsed_ns;         /* since the latest decision */
	uint64_t stops;              /* stops of threads that timers do not sample */
	uint64_t queue_stops;        /* stops that were made only to find a thread in the run queue; they are not in
					`stops`, are few, and can wait for a tick */
	uint64_t found;              /* new threads */
	uint64_t awake_ns;           /* elapsed time, summed over the threads that ran for 1 % of it or more */
	uint64_t runnable_ns;        /* the part of awake_ns in which they were on a CPU or in the run queue */
	uint64_t unloads;            /* modules that were unloaded or replaced; timer samples must then be walked soon,
					while the modules that the samples need are still known */
	bool cpu_only;               /* no recording wants wall time */
	bool counters;               /* a recording reads perf counters at its ticks */
	bool events;                 /* the program records events; only ticks notice that its intervals change */
	uint64_t period_ns;          /* the sampling period */
	uint64_t ring_capacity_ns;   /* CPU time that fills a ring with samples; 0: there are no rings */
	uint64_t time_left_ns;       /* until the first recording reaches its duration limit */
};

/* Returns whether the next decision is due.  `periods`: sampling periods between two ticks now.  The next decision is
 * due 300 ms after the latest one.  If `periods` is 1 and no recording wants wall time, it is due after 50 ms.  If
 * `periods` is larger than 1, it is due at once when there are stops or unloads, or when time_left_ns is shorter than
 * the time between two ticks. */
bool vg_pace_due(const struct vg_pace_load *load, uint32_t periods);

/* Returns how many sampling periods may lie between two ticks, 1 or more.  `before`: the number of periods now. */
uint32_t vg_pace_periods(const struct vg_pace_load *load, uint32_t before);

/* Adds one thread's step (policy.h) to load->awake_ns and load->runnable_ns.  A thread whose waits are shorter than 5 %
 * of a period on average counts as runnable all the time.  The reason: even if ticks were one period apart, the profile
 * would not show single waits of that length, only the sum of all waits. */
void vg_pace_thread(struct vg_pace_load *load, uint64_t elapsed_ns, uint64_t runnable_ns, uint64_t switches);

#endif
