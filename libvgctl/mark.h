/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_MARK_H
#define VG_LIBVGCTL_MARK_H

#include <sys/types.h>

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

#endif
