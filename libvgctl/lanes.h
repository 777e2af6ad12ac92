/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_LANES_H
#define VG_LIBVGCTL_LANES_H

#include <stdbool.h>

#include "libvgctl/ring.h"

/* The host's side of the ring: making it, labels, who has which lane. */

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

/* In the page that the kernel clears in every child (process.h), which must not write into its parent's ring. */
struct vg_lanes_state {
	struct vg_lanes_host *_Atomic host; /* the ring; NULL: there is none in this process */
	_Atomic uint32_t session;    /* recording, or 0 */
	_Atomic uint32_t overwrite;  /* the oldest records make room */
};

/* NULL until it is needed. */
extern struct vg_lanes_state *_Atomic vg_lanes_state;

/* A descriptor of the ring for the helper, made if need be, or -1: this process cannot have one.
 * The library's. */
int vg_lanes_fd(void);

/* From now on threads record, and no more. */
void vg_lanes_start(bool overwrite);
void vg_lanes_stop(void);

/* Gives memory back after a session.  A ring that a helper may still be using is left alone, and
 * not used again. */
void vg_lanes_rest(bool helper_gone);

/* A heartbeat of the calling thread's, at that time; 0: none is due. */
void vg_lanes_beat(uint64_t time_ns);

/* Stalls that helpers have written, so far. */
uint32_t vg_lanes_dumps(void);

/* The calling thread's producer for the session in progress, or NULL: none is, or there is no lane
 * for it, which is counted. */
struct vg_producer *vg_producer_renew(void);

/* Events for which the calling thread has no lane. */
void vg_lanes_refuse(uint64_t records);

/* Local to the thread; its model makes it safe in signal handlers. */
struct vg_producer_local {
	struct vg_producer *producer;
	uint32_t refusals;
	uint32_t name;               /* label */
	int32_t tid;                 /* while the process had the ring `tid_host`: a child has another */
	const struct vg_lanes_host *tid_host;
	volatile uint32_t busy;      /* recording: a handler that interrupts it must not */
};
extern __thread struct vg_producer_local vg_producer_local
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif
