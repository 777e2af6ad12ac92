/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_PLACE_H
#define VG_BASE_PLACE_H

#include <stdbool.h>

#include "base/err.h"

/* Where an output goes: the last name of its path, and what is there already. */

const char *vg_place_name(const char *path);

/* An O_PATH descriptor of the directory that the path's last name is in, which may have another path later, or none:
 * after a chdir or chroot.  Or a negative errno. */
int vg_place_directory(const char *path);

/* Whether a pipe, a device, a directory, a socket or a standard descriptor is at path, or at what its links lead to.
 * False also where the links cannot be followed. */
bool vg_place_is_special(const char *path);

/*
 * Opens for writing what an output is to be written into as it stands: a pipe, a character device, or this process's
 * standard output or error, by a link such as /dev/stdout.  0 and *fd, owned by the caller; -1 there if a file is to
 * be made, and renamed over what has the name.
 *
 * Others may put something there in a directory that all may write to.  So -EACCES for a pipe that neither this user
 * nor root has made, and for a link of theirs on the way to it; -EISDIR for a directory; -EINVAL for a block device or
 * a socket; or open(2)'s.  What is found out about a thing is asked of its descriptor, so that nothing can take its
 * place in between.
 */
int vg_place_open(const char *path, int *fd, struct vg_err *err);

#endif
