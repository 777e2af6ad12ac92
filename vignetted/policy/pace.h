/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PACE_H
#define VG_VIGNETTED_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How many sampling periods there are from one tick to the next.
 *
 * Each tick wakes the helper, which takes a CPU from somebody.  Where timers sample all that runs, and no recording asks for
 * wall time, a tick has nothing to do but to fetch samples, and the rings have room for many.
 *
 * Pure: no clock, no I/O.
 */
struct vg_pace_load {
	uint64_t elapsed_ns;         /* since the latest decision */
	uint64_t stops;              /* threads that were stopped since */
	bool cpu_only;               /* no recording asks for wall time */
	bool counters;               /* a recording reads counters at its ticks */
	uint64_t period_ns;          /* of sampling */
	uint64_t room_ns;            /* the rings hold samples of so much time; 0: there are none */
	uint64_t left_ns;            /* until the first recording reaches its end */
};

/* Whether it is time to decide anew: after a while, and at once where ticks are too far apart. */
bool vg_pace_due(const struct vg_pace_load *load, uint32_t periods);

/* Ticks may be so many periods apart, 1 or more. */
uint32_t vg_pace_periods(const struct vg_pace_load *load);

#endif
