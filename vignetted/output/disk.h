/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_DISK_H
#define VG_VIGNETTED_DISK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Syncs the profile to the disk, so that it survives a crash of the machine.  A sync may take seconds, and the helper
 * must not wait for it.  So the kernel syncs in the background (IOCB_CMD_FDSYNC of io_submit(2), Linux 4.18).  If the
 * kernel cannot do that, it is only asked to begin writing (sync_file_range(2)).  Then we do not learn whether the data
 * reached the disk.
 *
 *     vg_disk_open(&disk, fd, now_ns);
 *     vg_disk_sync_if_due(&disk, file_bytes, now_ns);      at each checkpoint
 *     vg_disk_write_begin(&disk, file_bytes);              at the end
 *     vg_disk_close(&disk);
 */
/* ext4 commits every 5 s by itself: syncing more often gains nothing. */
enum { VG_DISK_SYNC_PERIOD_S = 5 };

struct vg_disk {
	int fd;                      /* the caller's; -1: never syncs */
	unsigned long context;       /* of the kernel's queue; 0: none */
	bool syncing;                /* a sync is in progress */
	uint64_t due_ns;             /* CLOCK_MONOTONIC of the next sync */
	uint64_t synced_bytes;       /* size of the file when the latest sync began */
	uint64_t syncs;              /* syncs that succeeded, or that sync_file_range(2) began */
	uint64_t failures;           /* syncs that failed */
};

void vg_disk_open(struct vg_disk *disk, int fd, uint64_t now_ns);

/* Begins a sync if one is due, none is in progress, and the file has grown. */
void vg_disk_sync_if_due(struct vg_disk *disk, uint64_t file_bytes, uint64_t now_ns);

/* Begins to write the rest of the file to the disk.  Does not wait, because a program may be waiting for the helper. */
void vg_disk_write_begin(struct vg_disk *disk, uint64_t file_bytes);

/* A sync that is in progress continues. */
void vg_disk_close(struct vg_disk *disk);

#endif
