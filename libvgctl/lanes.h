/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_LANES_H
#define VG_LIBVGCTL_LANES_H

#include <stdbool.h>

#include "libvgctl/process.h"
#include "libvgctl/producer.h"
#include "libvgctl/ring.h"

/* The host's side of the ring: making it, labels, who has which lane. */

/* In struct vg_process.  NULL until it is needed. */
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
