/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_HOST_RING_H
#define VG_LIBVGCTL_HOST_RING_H

#include <stdbool.h>
#include <sys/types.h>

#include "libvgctl/producer.h"
#include "libvgctl/ring.h"

/*
 * The host's mappings of the event ring.  The ring's memfd has room for all lanes but is sparse.  The host maps a lane
 * when a thread takes it: a program with one thread uses 760 KiB of address space.  The
 * mappings are not locked, even if the program calls mlockall(MCL_FUTURE) first: the kernel would
 * allocate all pages of a locked mapping.
 *
 *     struct vg_host_ring *ring = vg_host_ring_open();
 *     struct vg_lane_record *records = vg_host_ring_records(ring, lane);
 *     vg_host_ring_free(ring);
 */
struct vg_host_ring {
	int fd;                      /* owned */
	dev_t device;                /* device and inode of the memfd: the program may have closed fd and reused its
	                                number */
	ino_t inode;
	struct vg_lanes *lanes;      /* mapped up to `labels`; `labels_window` and `records` map the rest */
	struct vg_lane_record *_Atomic records[VG_LANES]; /* by lane; NULL: not mapped yet */
	uint32_t labels_count;       /* number of labels in the ring.  Kept here, because the helper can write to the
	                                ring */
	size_t labels_bytes;         /* bytes of labels in the ring; kept here for the same reason */
	unsigned char *labels_window; /* the mapped part of the labels, or NULL */
	size_t labels_window_at;     /* offset of the mapped part in the labels, in bytes */
	struct vg_host_ring *previous; /* the ring that this process or its parent used before this one, or NULL */
	struct vg_producer producers[VG_LANES]; /* by lane */
};

/* Creates a ring.  Returns NULL if this process cannot have one: RLIMIT_FSIZE is too low, or there is no memory or
 * descriptor. */
struct vg_host_ring *vg_host_ring_open(void);

/* Unmaps the ring and closes its descriptor. */
void vg_host_ring_free(struct vg_host_ring *ring);

/* False if the program has closed the ring's descriptor. */
bool vg_host_ring_fd_is_open(const struct vg_host_ring *ring);

/* Returns the lane's records and maps them if necessary.  NULL: no memory.  Only the lane's owner may call this. */
struct vg_lane_record *vg_host_ring_records(struct vg_host_ring *ring, uint32_t lane);

/* Adds a label.  Its number is labels_count after the call.  False: no memory, or no room for more labels. */
bool vg_host_ring_add_label(struct vg_host_ring *ring, const char *text, size_t length);

/* Frees the pages of all records. */
void vg_host_ring_release_pages(struct vg_host_ring *ring);

#endif
