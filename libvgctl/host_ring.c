/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/host_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"

enum {
	HEAD_BYTES = offsetof(struct vg_lanes, labels),
	LANE_BYTES = sizeof(struct vg_lane_record[VG_LANE_RECORDS]),
	WINDOW_BYTES = 64 * 1024,    /* how much of the labels is mapped at a time */
	PAGE_BYTES = 4096,           /* alignment of the parts of struct vg_lanes */
};

/* Maps memory that takes no pages until it is used, even after mlockall(MCL_FUTURE).  After mlockall(), the kernel
 * locks each new mapping and allocates all its pages at once.  If a new mapping has PROT_NONE, the kernel locks it but
 * allocates no pages.  So this function maps with PROT_NONE, unlocks the mapping, and then permits access. */
static void *map_unlocked(size_t bytes, int flags, int fd, size_t at)
{
	void *memory = mmap(NULL, bytes, PROT_NONE, flags, fd, (off_t)at);

	if (memory == MAP_FAILED)
		return NULL;
	munlock(memory, bytes);
	if (mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0) {
		madvise(memory, bytes, MADV_DONTDUMP);
		return memory;
	}
	munmap(memory, bytes);
	return NULL;
}

/* Maps a part of the ring.  Checks the descriptor after mmap(2): if the program had closed the descriptor, its number
 * may belong to another file, and mmap(2) has mapped that file. */
static void *map_part(const struct vg_host_ring *ring, size_t bytes, size_t at)
{
	void *memory = map_unlocked(bytes, MAP_SHARED, ring->fd, at);

	if (memory == NULL || vg_host_ring_fd_is_open(ring))
		return memory;
	munmap(memory, bytes);
	return NULL;
}

/* Beyond RLIMIT_FSIZE, ftruncate(2) raises SIGXFSZ, which kills the program. */
static bool size_allowed(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= sizeof(struct vg_lanes);
}

/* The seals keep the file from shrinking.  Otherwise the helper's mapping could reach beyond the end of the file, where
 * a read raises SIGBUS. */
static bool file_make(struct vg_host_ring *ring)
{
	struct stat status;

	ring->fd = vg_descriptor_raise(memfd_create("vgctl", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (ring->fd < 0 || ftruncate(ring->fd, sizeof *ring->lanes) != 0 ||
	    fcntl(ring->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
	    fstat(ring->fd, &status) != 0)
		return false;
	ring->device = status.st_dev;
	ring->inode = status.st_ino;
	ring->lanes = map_part(ring, HEAD_BYTES, 0);
	return ring->lanes != NULL;
}

struct vg_host_ring *vg_host_ring_open(void)
{
	struct vg_host_ring *ring;

	if (!size_allowed())
		return NULL;
	ring = map_unlocked(sizeof *ring, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ring == NULL)
		return NULL;
	if (file_make(ring)) {
		ring->lanes->magic = VG_LANES_MAGIC;
		ring->lanes->version = VG_LANES_VERSION;
		return ring;
	}
	if (ring->fd >= 0)
		close(ring->fd);
	munmap(ring, sizeof *ring);
	return NULL;
}

void vg_host_ring_free(struct vg_host_ring *ring)
{
	if (vg_host_ring_fd_is_open(ring))
		close(ring->fd);
	for (uint32_t i = 0; i < VG_LANES; i++) {
		if (ring->records[i] != NULL)
			munmap(ring->records[i], LANE_BYTES);
	}
	if (ring->labels_window != NULL)
		munmap(ring->labels_window, WINDOW_BYTES);
	munmap(ring->lanes, HEAD_BYTES);
	munmap(ring, sizeof *ring);
}

bool vg_host_ring_fd_is_open(const struct vg_host_ring *ring)
{
	struct stat status;

	return fstat(ring->fd, &status) == 0 && status.st_dev == ring->device &&
	       status.st_ino == ring->inode;
}

struct vg_lane_record *vg_host_ring_records(struct vg_host_ring *ring, uint32_t lane)
{
	struct vg_lane_record *records = atomic_load(&ring->records[lane]);
	int before = errno;

	if (records != NULL)
		return records;
	records = map_part(ring, LANE_BYTES, offsetof(struct vg_lanes, records) + (size_t)lane * LANE_BYTES);
	atomic_store(&ring->records[lane], records);
	/* The thread records its first event.  Events must not change errno. */
	errno = before;
	return records;
}

/* If `bytes` more bytes do not fit into the window, moves the window to the end of the labels. */
static bool window_move(struct vg_host_ring *ring, size_t bytes)
{
	size_t at = ring->labels_bytes / PAGE_BYTES * PAGE_BYTES;

	if (ring->labels_window != NULL && ring->labels_bytes + bytes <= ring->labels_window_at + WINDOW_BYTES)
		return true;
	if (at > VG_LANES_LABELS_BYTES - WINDOW_BYTES)
		at = VG_LANES_LABELS_BYTES - WINDOW_BYTES;
	if (ring->labels_window != NULL)
		munmap(ring->labels_window, WINDOW_BYTES);
	ring->labels_window = map_part(ring, WINDOW_BYTES, offsetof(struct vg_lanes, labels) + at);
	ring->labels_window_at = at;
	return ring->labels_window != NULL;
}

bool vg_host_ring_add_label(struct vg_host_ring *ring, const char *text, size_t length)
{
	unsigned char *at;

	if (ring->labels_bytes + 2 + length > VG_LANES_LABELS_BYTES || !window_move(ring, 2 + length))
		return false;
	at = ring->labels_window + (ring->labels_bytes - ring->labels_window_at);
	at[0] = (unsigned char)(length & 0xff);
	at[1] = (unsigned char)(length >> 8);
	memcpy(at + 2, text, length);
	ring->labels_bytes += 2 + length;
	ring->labels_count++;
	atomic_store_explicit(&ring->lanes->labels_bytes, ring->labels_bytes, memory_order_release);
	return true;
}

void vg_host_ring_release_pages(struct vg_host_ring *ring)
{
	for (uint32_t i = 0; i < VG_LANES; i++) {
		void *records = atomic_load(&ring->records[i]);

		if (records == NULL)
			continue;
		/* MADV_REMOVE fails for memory that the program has locked. */
		munlock(records, LANE_BYTES);
		madvise(records, LANE_BYTES, MADV_REMOVE);
	}
}
