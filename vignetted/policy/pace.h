/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PACE_H
#define VG_VIGNETTED_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How many sampling periods there are from one tick to the next.
 *
 * Each tick wakes the helper, which takes a CPU from somebody: requests that would have been answered one by one wait
 * together then.  Where timers sample all that runs, ticks have little to do, and the rings have room for many samples.  So
 * ticks are farther apart where no recording asks for wall time, and where the threads that run at all run nearly all
 * the time: the little that they wait is sampled less often, and is as much time in the profile (policy/weights.h).
 *
 * Pure: no clock, no I/O.
 */
struct vg_pace_load {
	uint64_t elapsed_ns;         /* since the latest decision */
	uint64_t stops;              /* threads that were stopped since, because they had no timers */
	uint64_t stops_of_queued;    /* the others: few enough to wait for a tick */
	uint64_t found;              /* threads that were found since */
	uint64_t awake_ns;           /* time of threads that ran for 1 % of it or more, added up, */
	uint64_t ready_ns;           /* and how much of it they were on a CPU or in the queue for one */
	bool cpu_only;               /* no recording asks for wall time */
	bool counters;               /* a recording reads counters at its ticks */
	bool events;                 /* the program has events, whose intervals are to be seen to change */
	uint64_t period_ns;          /* of sampling */
	uint64_t room_ns;            /* the rings hold samples of so much time; 0: there are none */
	uint64_t left_ns;            /* until the first recording reaches its end */
};

/* Whether it is time to decide anew, where ticks are so many periods apart: after a while, and at once where that is too
 * many. */
bool vg_pace_due(const struct vg_pace_load *load, uint32_t periods);

/* Ticks may be so many periods apart, 1 or more. */
uint32_t vg_pace_periods(const struct vg_pace_load *load, uint32_t before);

/* Adds what one thread did to load->awake_ns and ready_ns.  Waits of a twentieth of a sampling period on the average tell
 * no more than their sum when they are sampled one by one: such a thread counts as ready. */
void vg_pace_thread(struct vg_pace_load *load, uint64_t elapsed_ns, uint64_t ready_ns, uint64_t switches);

#endif
