/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/own_ring.h"

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
	WINDOW_BYTES = 64 * 1024,    /* of the labels that are mapped at a time */
	PAGE_BYTES = 4096,           /* what the parts of struct vg_lanes are aligned to */
};

/* Memory of which only the pages that are used exist, also in a program that has called mlockall(MCL_FUTURE).  The
 * kernel fills a locked mapping as it is made, but not one that nobody may read. */
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

/* Part of the ring.  The descriptor is looked at when that is done: had the program closed it before, another file of
 * the program's might have got its number and be mapped here. */
static void *map_part(const struct vg_lanes_host *host, size_t bytes, size_t at)
{
	void *memory = map_unlocked(bytes, MAP_SHARED, host->fd, at);

	if (memory == NULL || vg_own_ring_holds(host))
		return memory;
	munmap(memory, bytes);
	return NULL;
}

/* A file may be refused its size by a signal that kills, where there is a limit to it. */
static bool size_allowed(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= sizeof(struct vg_lanes);
}

/* The helper must not be made to read behind the file's end: sealed. */
static bool file_make(struct vg_lanes_host *host)
{
	struct stat status;

	host->fd = vg_descriptor_raise(memfd_create("vgctl", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (host->fd < 0 || ftruncate(host->fd, sizeof *host->lanes) != 0 ||
	    fcntl(host->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
	    fstat(host->fd, &status) != 0)
		return false;
	host->device = status.st_dev;
	host->inode = status.st_ino;
	host->lanes = map_part(host, HEAD_BYTES, 0);
	return host->lanes != NULL;
}

struct vg_lanes_host *vg_own_ring_open(void)
{
	struct vg_lanes_host *host;

	if (!size_allowed())
		return NULL;
	host = map_unlocked(sizeof *host, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (host == NULL)
		return NULL;
	if (file_make(host)) {
		host->lanes->magic = VG_LANES_MAGIC;
		host->lanes->version = VG_LANES_VERSION;
		return host;
	}
	if (host->fd >= 0)
		close(host->fd);
	munmap(host, sizeof *host);
	return NULL;
}

void vg_own_ring_free(struct vg_lanes_host *host)
{
	if (vg_own_ring_holds(host))
		close(host->fd);
	for (uint32_t i = 0; i < VG_LANES; i++) {
		if (host->records[i] != NULL)
			munmap(host->records[i], LANE_BYTES);
	}
	if (host->window != NULL)
		munmap(host->window, WINDOW_BYTES);
	munmap(host->lanes, HEAD_BYTES);
	munmap(host, sizeof *host);
}

bool vg_own_ring_holds(const struct vg_lanes_host *host)
{
	struct stat status;

	return fstat(host->fd, &status) == 0 && status.st_dev == host->device &&
	       status.st_ino == host->inode;
}

struct vg_lane_record *vg_own_ring_records(struct vg_lanes_host *host, uint32_t lane)
{
	struct vg_lane_record *records = atomic_load(&host->records[lane]);
	int before = errno;

	if (records != NULL)
		return records;
	records = map_part(host, LANE_BYTES, offsetof(struct vg_lanes, records) + (size_t)lane * LANE_BYTES);
	atomic_store(&host->records[lane], records);
	/* This is the thread's first event, and events leave errno alone. */
	errno = before;
	return records;
}

/* Moves the window to the end of the labels, if so many bytes do not fit into it any more. */
static bool window_move(struct vg_lanes_host *host, size_t bytes)
{
	size_t at = host->labels_bytes / PAGE_BYTES * PAGE_BYTES;

	if (host->window != NULL && host->labels_bytes + bytes <= host->window_at + WINDOW_BYTES)
		return true;
	if (at > VG_LANES_LABELS_BYTES - WINDOW_BYTES)
		at = VG_LANES_LABELS_BYTES - WINDOW_BYTES;
	if (host->window != NULL)
		munmap(host->window, WINDOW_BYTES);
	host->window = map_part(host, WINDOW_BYTES, offsetof(struct vg_lanes, labels) + at);
	host->window_at = at;
	return host->window != NULL;
}

bool vg_own_ring_label(struct vg_lanes_host *host, const char *text, size_t length)
{
	unsigned char *at;

	if (host->labels_bytes + 2 + length > VG_LANES_LABELS_BYTES || !window_move(host, 2 + length))
		return false;
	at = host->window + (host->labels_bytes - host->window_at);
	at[0] = (unsigned char)(length & 0xff);
	at[1] = (unsigned char)(length >> 8);
	memcpy(at + 2, text, length);
	host->labels_bytes += 2 + length;
	host->labels_count++;
	atomic_store_explicit(&host->lanes->labels_bytes, host->labels_bytes, memory_order_release);
	return true;
}

void vg_own_ring_rest(struct vg_lanes_host *host)
{
	for (uint32_t i = 0; i < VG_LANES; i++) {
		void *records = atomic_load(&host->records[i]);

		if (records == NULL)
			continue;
		/* The program may have locked what it had, which forbids this. */
		munlock(records, LANE_BYTES);
		madvise(records, LANE_BYTES, MADV_REMOVE);
	}
}
