/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_PRODUCER_H
#define VG_LIBVGCTL_PRODUCER_H

#include "libvgctl/ring.h"

/* The tokens of at most VG_PRODUCER_DEPTH open intervals of a thread are kept.  Deeper intervals are only counted:
 * samples do not name them, and an interval that begins inside such an interval has an unknown parent.
 *
 * A lane reserves records for the ends of open intervals, at most VG_PRODUCER_ENDS.  Without this limit, intervals that
 * never end would reserve the whole lane. */
enum { VG_PRODUCER_DEPTH = 64, VG_PRODUCER_ENDS = VG_LANE_RECORDS / 4 };

struct vg_host_ring;

/* A thread that writes to a lane.  Owned by the ring. */
struct vg_producer {
	struct vg_lane *lane;
	struct vg_lane_record *records;
	struct vg_host_ring *ring;   /* the ring that has the lane */
	uint64_t head_limit;         /* `head` of the lane may increase to this before `tail` must be read again */
	uint32_t index;              /* of the lane */
	uint32_t session;            /* vg_lanes_state.session for which the members below are valid */
	uint32_t depth;              /* number of tokens in `open` */
	uint64_t open[VG_PRODUCER_DEPTH]; /* tokens, innermost last */
	uint32_t untracked;          /* open intervals beyond VG_PRODUCER_DEPTH */
};

#endif
