/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_PRODUCER_H
#define VG_LIBVGCTL_PRODUCER_H

#include "libvgctl/ring.h"

/* VG_PRODUCER_DEPTH intervals of a thread are kept track of at a time.  Deeper intervals are counted: samples do not name
 * them, and an interval that begins in one does not know its parent.  VG_PRODUCER_ENDS limits the room kept for ends,
 * because an end may never come. */
enum { VG_PRODUCER_DEPTH = 64, VG_PRODUCER_ENDS = VG_LANE_RECORDS / 4 };

struct vg_lanes_host;

/* What a thread keeps of its lane.  Owned by the ring. */
struct vg_producer {
	struct vg_lane *lane;
	struct vg_lane_record *records;
	struct vg_lanes_host *host;  /* the ring that it is of */
	uint64_t limit;              /* head may rise so far without a look at tail */
	uint32_t index;              /* of the lane */
	uint32_t session;            /* that the rest is of */
	uint32_t depth;
	uint64_t open[VG_PRODUCER_DEPTH]; /* tokens, innermost last */
	uint32_t deeper;             /* open besides */
};

#endif
