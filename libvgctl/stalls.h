/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_STALLS_H
#define VG_LIBVGCTL_STALLS_H

#include "base/outfile.h"
#include "libvgctl/file_id.h"
#include "libvgctl/wire.h"

/*
 * The files to which the helper writes stalls.  The host creates them when the session begins, because the confined
 * helper cannot create files.  The host renames each file after the helper has written it.
 *
 *     rc = vg_stalls_open(&stalls, "stall.vgp", 4, &err);     makes stall.vgp.1.part to .4.part
 *     vg_stalls_rename_written();                             after each heartbeat
 *     vg_stalls_close(&stalls);
 *
 * A zeroed struct vg_stalls is closed.  Do not move an open one: stalls.c keeps a pointer to it.
 */
struct vg_stalls {
	struct vg_stall_file {
		struct vg_outfile file;
		struct vg_outfile_ids ids;
	} files[VG_WIRE_WATCH_FILES]; /* in the order in which the helper writes to them */
	unsigned int count;
	unsigned int finished;       /* the first `finished` files were renamed or removed */
	uint32_t stalls_before;      /* vg_lanes_stalls_written() at the time of vg_stalls_open() */
};

/* Creates PATH.1.part to PATH.MAX.part.  Skips a number N if PATH.N exists, so that an older stall is not overwritten.
 * Returns 0 even if all numbers are skipped, or a negative errno. */
int vg_stalls_open(struct vg_stalls *stalls, const char *path, unsigned int max, struct vg_err *err);

/* Renames the files that were written since the last call.  A call costs little if there are none. */
void vg_stalls_rename_written(void);

/* Renames the files that were written and removes the others.  Call it after the helper has exited or has ended the
 * session. */
void vg_stalls_close(struct vg_stalls *stalls);

/* Closes the descriptors in a child of fork(2).  The parent's files are not changed. */
void vg_stalls_forget(struct vg_stalls *stalls);

#endif
