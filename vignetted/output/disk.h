/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_DISK_H
#define VG_VIGNETTED_DISK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Brings what was written to the disk, so that it survives the machine and not only the program.
 * A disk may take seconds for that: the kernel does it beside us (IOCB_CMD_FDSYNC of io_submit(2),
 * Linux 4.18), and the helper does not wait.  Where the kernel cannot, writing is begun
 * (sync_file_range(2)) and nothing more is known.
 */
enum { VG_DISK_EVERY_S = 5 };

struct vg_disk {
	int fd;                      /* the caller's; -1: never syncs */
	unsigned long context;       /* of the kernel's queue; 0: none */
	bool busy;                   /* a sync is under way */
	uint64_t due_ns;             /* the next one, in vg_now_ns() */
	uint64_t covered_bytes;      /* of the file, when the latest sync began */
	uint64_t syncs;              /* done, or at least begun where no more can be known */
	uint64_t failures;
};

void vg_disk_open(struct vg_disk *disk, int fd, uint64_t now_ns);

/* Begins a sync if one is due, none is under way, and the file has grown. */
void vg_disk_tick(struct vg_disk *disk, uint64_t file_bytes, uint64_t now_ns);

/* Has the kernel begin to write the end of the file, and does not wait: a program waits for us. */
void vg_disk_last(struct vg_disk *disk, uint64_t file_bytes);

/* Forgets the file.  A sync that is under way goes on. */
void vg_disk_close(struct vg_disk *disk);

#endif
