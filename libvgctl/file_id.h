/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_FILE_ID_H
#define VG_LIBVGCTL_FILE_ID_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/outfile.h"

/*
 * The identity of an open file.  A program may close all descriptors, as daemons do, including the library's.  The
 * number of the library's descriptor may then refer to another file, which the library must not use.
 *
 *     struct vg_file_id id = vg_file_id_of(fd);
 *     ...
 *     fd = vg_file_id_check(fd, id);          -1 if the program has closed it
 */
struct vg_file_id {
	dev_t device;
	ino_t inode;
};

/* Returns zeros if fd is -1. */
struct vg_file_id vg_file_id_of(int fd);

/* Returns fd if it is still the same file, otherwise -1. */
int vg_file_id_check(int fd, struct vg_file_id was);

/* The identities of both descriptors of an output file. */
struct vg_outfile_ids {
	struct vg_file_id file, directory;
};

struct vg_outfile_ids vg_outfile_ids_of(const struct vg_outfile *file);

/* Sets each descriptor that no longer refers to its file to -1.  Returns true if both descriptors still refer to their
 * files. */
bool vg_outfile_ids_check(struct vg_outfile *file, const struct vg_outfile_ids *was);

#endif
