/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_READER_H
#define VG_PROFILE_READER_H

#include "profile/model.h"

/* The bytes of a file: mapped if it can be, read if it is a pipe.  path "-" is standard input. */
struct vg_file {
	const char *path;            /* the caller's */
	const unsigned char *bytes;
	uint64_t length;
	bool mapped;
};

/* 0, or -ENOENT and the like with the path named.  Memory is bounded by the file's length. */
int vg_file_open(struct vg_file *file, const char *path, struct vg_err *err);
void vg_file_close(struct vg_file *file);

/*
 * Reads a whole profile into a zeroed model.  Memory is bounded by a small multiple of the
 * file's length.  Damage is skipped and listed in profile->damage; a file without one good
 * chunk is -EBADMSG.  A file shortened by another process while it is mapped is SIGBUS, as
 * with any mapped file.
 */
int vg_profile_read(struct vg_profile *profile, const struct vg_file *file, struct vg_err *err);

#endif
