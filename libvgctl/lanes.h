/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_LANES_H
#define VG_LIBVGCTL_LANES_H

#include <stdbool.h>

#include "libvgctl/process.h"
#include "libvgctl/producer.h"
#include "libvgctl/ring.h"

/*
 * The host's side of the event ring: it creates the ring, adds labels and gives lanes to threads.
 *
 *     struct vg_producer *own = vg_producer_get();      in producer_enter(), events.c
 *     if (own != NULL)
 *             ... write to own->records, then increase own->lane->head ...
 */

/* The state in struct vg_process.  NULL before the first use. */
extern struct vg_lanes_state *_Atomic vg_lanes_state;

/* Returns the descriptor of the ring, for the helper.  Creates the ring if necessary.  The library owns the descriptor.
 * -1: this process cannot have a ring. */
int vg_lanes_fd(void);

/* After vg_lanes_start(), threads record events until vg_lanes_stop().  If `overwrite` is set, new events overwrite the
 * oldest ones of a full lane; otherwise new events are dropped. */
void vg_lanes_start(bool overwrite);
void vg_lanes_stop(void);

/* After vg_lanes_listen(), threads also record events while the helper has set vg_lanes.remote, until
 * vg_lanes_unlisten().  Without a ring, vg_lanes_listen() does nothing. */
void vg_lanes_listen(bool overwrite);
void vg_lanes_unlisten(void);

/* Frees the ring's pages, unless a session records events or the helper listens.  If helper_exited is false, the helper
 * may still use the ring: this ring is then left as it is, and the next session gets a new ring. */
void vg_lanes_release(bool helper_exited);

/* Stores a heartbeat of the calling thread.  time_ns is 0 if no heartbeat is due. */
void vg_lanes_heartbeat(uint64_t time_ns);

/* How many stalls the helpers have written so far. */
uint32_t vg_lanes_stalls_written(void);

/* Returns the calling thread's producer for the current session, or NULL if there is no session or no lane for the
 * thread. */
struct vg_producer *vg_producer_get(void);

/* Counts records that the calling thread could not write: it has no lane, or a signal handler has interrupted it in the
 * middle of a record. */
void vg_lanes_count_dropped(uint64_t records);

/* State of each thread.  The initial-exec model allocates it when the thread is created, so that signal
 * handlers can use it. */
struct vg_producer_local {
	struct vg_producer *producer;
	uint32_t retry_count;        /* events for which the thread had no lane */
	uint32_t name;               /* label that vgctl_thread_name() has set, or 0 */
	int32_t tid;                 /* valid if tid_ring is the current ring: a child of fork(2) has another tid and
	                                another ring */
	const struct vg_host_ring *tid_ring;
	volatile uint32_t busy;      /* 1: in the middle of a record; a signal handler must not record */
};
extern __thread struct vg_producer_local vg_producer_local
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif
