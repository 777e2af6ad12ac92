/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_OUTFILE_H
#define VG_BASE_OUTFILE_H

#include <stdbool.h>

#include "base/err.h"

/*
 * A file that gets its name only when it is complete.  It is written as PATH.part, which is created exclusively
 * (O_EXCL) and which only its owner can read.  vg_outfile_commit() renames it to PATH and replaces an existing file.
 * vg_outfile_open() replaces a PATH.part of an exited process.  It returns -EBUSY if a live process writes PATH.part.
 *
 * A pipe, a device or /dev/stdout at PATH is written in place if no other user can have created it (see
 * base/output_path.h).
 *
 * 	rc = vg_outfile_open(&file, "out.vgp", &err);
 * 	... write to file.fd ...
 * 	rc = rc == 0 ? vg_outfile_commit(&file, &err) : rc;      // or vg_outfile_abandon(&file)
 */
struct vg_outfile {
	int fd;                      /* owned, never a standard descriptor; -1: closed */
	int directory;               /* owned; O_PATH descriptor of the directory; -1: closed or written in place */
	char *path;                  /* owned */
	char *part;                  /* owned; PATH.part, or PATH if written in place */
	bool in_place;               /* there is no PATH.part to rename */
	bool is_new;                 /* opened by vg_outfile_open_new() */
};

#define VG_OUTFILE_CLOSED { .fd = -1, .directory = -1 }

/*
 * Returns 0, -EBUSY as described above, or a negative errno of open(2).  Three of these errnos have further causes:
 *
 *   -EACCES   PATH.part of another user cannot be replaced; PATH is a pipe or symbolic link of another user; or PATH
 *             was replaced while it was opened
 *   -EEXIST   PATH.part exists and is not a regular file
 *   -EINVAL   PATH is a block device or a socket
 */
int vg_outfile_open(struct vg_outfile *file, const char *path, struct vg_err *err);

/* Like vg_outfile_open(), but never replaces a file.  Returns -EEXIST if PATH or PATH.part exists.  If PATH is created
 * later, vg_outfile_commit() returns -EEXIST, and PATH.part stays. */
int vg_outfile_open_new(struct vg_outfile *file, const char *path, struct vg_err *err);

/* Like vg_outfile_open(), but the file is in the directory that this descriptor refers to, which stays the caller's,
 * and is never written in place.  Only the last component of the path is used, and the whole path in messages. */
int vg_outfile_open_in(struct vg_outfile *file, int directory, const char *path, struct vg_err *err);

/*
 * Renames PATH.part to PATH and closes the file.  Does nothing if the file is closed.
 *
 * If PATH.part was removed or replaced meanwhile, copies the data to PATH.part.N and renames that file.  A file that
 * has replaced PATH.part is not touched.
 *
 * Returns 0, or a negative errno with err set.  If the rename failed, the .part file stays.  If the copy failed, the
 * data is lost.
 */
int vg_outfile_commit(struct vg_outfile *file, struct vg_err *err);

/* For use after fork(2): closes this process's descriptors of the file.  The file stays open in the other process,
 * which commits or abandons it. */
void vg_outfile_close_copy(struct vg_outfile *file);

/* Closes the file.  Removes PATH.part if this name still refers to the file.  Does nothing if the file is closed. */
void vg_outfile_abandon(struct vg_outfile *file);

#endif
