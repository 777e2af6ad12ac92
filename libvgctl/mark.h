/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_MARK_H
#define VG_LIBVGCTL_MARK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/outfile.h"

/* What a descriptor is open on.  A program that closes all it has, as daemons do, closes ours, and
 * what gets their numbers then is not ours. */
struct vg_mark {
	dev_t device;
	ino_t inode;
};

/* All zero for -1. */
struct vg_mark vg_mark_of(int fd);

/* -1 for a descriptor that is not what it was. */
int vg_mark_check(int fd, struct vg_mark was);

/* The same of both descriptors of a file that is being written. */
struct vg_file_marks {
	struct vg_mark file, directory;
};

struct vg_file_marks vg_file_marks_of(const struct vg_outfile *file);

/* Whether both are what they were; one that is not is -1 from then on. */
bool vg_file_marks_check(struct vg_outfile *file, const struct vg_file_marks *was);

#endif
