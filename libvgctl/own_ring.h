/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_OWN_RING_H
#define VG_LIBVGCTL_OWN_RING_H

#include <stdbool.h>
#include <sys/types.h>

#include "libvgctl/producer.h"
#include "libvgctl/ring.h"

/*
 * The host's mappings of a ring.  The file has room for all lanes, but is sparse.  The host maps a lane when a thread
 * takes it: in a program of one thread that is 760 KiB of address space in all.  No mapping is locked into memory:
 * mlockall(2) would fill it with pages that nobody needs.
 */
struct vg_lanes_host {
	int fd;
	dev_t device;                /* of the memfd: a program may close what is not its own */
	ino_t inode;
	struct vg_lanes *lanes;      /* the counts and the lanes; neither `labels` nor `records` is mapped behind them */
	struct vg_lane_record *_Atomic records[VG_LANES]; /* of a lane; NULL: not mapped yet */
	uint32_t labels_count;       /* in the ring; not believed from there, nor is the next */
	size_t labels_bytes;
	unsigned char *window;       /* where labels are written to; or NULL */
	size_t window_at;            /* among the labels */
	struct vg_lanes_host *before; /* the ring before this one */
	struct vg_producer producers[VG_LANES];
};

/* NULL: there can be none. */
struct vg_lanes_host *vg_own_ring_open(void);

/* Unmaps it, and closes what it has open. */
void vg_own_ring_free(struct vg_lanes_host *host);

/* Whether its descriptor is still the program's to pass on. */
bool vg_own_ring_holds(const struct vg_lanes_host *host);

/* The lane's records, or NULL.  To be called by the lane's owner. */
struct vg_lane_record *vg_own_ring_records(struct vg_lanes_host *host, uint32_t lane);

/* Adds the next label, which has the number labels_count + 1 then.  Whether there was memory for it. */
bool vg_own_ring_label(struct vg_lanes_host *host, const char *text, size_t length);

/* Gives back the pages of all records. */
void vg_own_ring_rest(struct vg_lanes_host *host);

#endif
