/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LANE_H
#define VG_VIGNETTED_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "vignetted/target/tasks.h"

/* Intervals of a thread that are followed at a time; libvgctl follows as many. */
enum { VG_LANE_DEPTH = 64 };

/* From that session time on, a thread's innermost open interval is this; 0: none. */
struct vg_lane_move {
	uint64_t time_ns, interval;
};

/* What the helper keeps of a lane: which thread has it, and which intervals that has open. */
struct vg_events_lane {
	uint64_t tail;               /* records fetched */
	uint64_t first;              /* the session's first record */
	uint64_t first_of[VG_RECORDINGS]; /* the first record of each recording, which has no record before it */
	uint64_t dropped;            /* the shared count when the session began */
	uint64_t last_ns;            /* session time of its latest event */
	uint32_t claims;             /* of the shared lane when `thread` was found */
	uint32_t name;               /* label that is the thread's name, or 0 */
	vg_recording_set joined;     /* the profiles in which `threads` has it */
	vg_recording_set told;       /* those that have the name, or are not concerned */
	uint32_t threads[VG_RECORDINGS];
	bool known;                  /* whose it is */
	bool strange;                /* its thread is no task */
	uint32_t waits;              /* drains at which its thread was no task yet */
	uint32_t depth;
	uint64_t open[VG_LANE_DEPTH];
	uint64_t before;             /* what was open before the first of `moves` */
	VG_ARRAY(struct vg_lane_move) moves; /* by time */
};

/* Another thread has it. */
void vg_lane_reset(struct vg_events_lane *lane);

/* An interval begins or ends, in the order of time. */
void vg_lane_open(struct vg_events_lane *lane, uint64_t time_ns, uint64_t token);
void vg_lane_close(struct vg_events_lane *lane, uint64_t time_ns, uint64_t token);

/* The innermost open interval at that time. */
uint64_t vg_lane_at(const struct vg_events_lane *lane, uint64_t time_ns);

/* Keeps only what is open now. */
void vg_lane_forget(struct vg_events_lane *lane);

#endif
