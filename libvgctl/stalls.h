/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_STALLS_H
#define VG_LIBVGCTL_STALLS_H

#include "base/outfile.h"
#include "libvgctl/mark.h"
#include "libvgctl/wire.h"

/* The files that the helper writes stalls to: made when the session begins, for it can make none, and
 * named when they are written. */
struct vg_stalls {
	struct vg_stall_file {
		struct vg_outfile file;
		struct vg_file_marks marks;
	} files[VG_WIRE_WATCH_FILES]; /* in the order in which they are written to */
	unsigned int count;
	unsigned int named;          /* the first so many are dealt with */
	uint32_t dumps_before;       /* vg_lanes_dumps() when it was opened */
};

/*
 * Makes path.1.part and so on up to `max`, but for the numbers under which there is something: what
 * nobody has collected is not overwritten.  0, with none if all are taken, or a negative errno.  It
 * must not move until it is closed.  All zero is a closed one.
 */
int vg_stalls_open(struct vg_stalls *stalls, const char *path, unsigned int max, struct vg_err *err);

/* Gives those that are written their names.  Cheap where there is nothing to do. */
void vg_stalls_name(void);

/* The helper is gone or done: names what was written, and removes the rest. */
void vg_stalls_close(struct vg_stalls *stalls);

/* Closes this process's copies. */
void vg_stalls_forget(struct vg_stalls *stalls);

#endif
