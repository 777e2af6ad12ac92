/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_OUTFILE_H
#define VG_BASE_OUTFILE_H

#include <stdbool.h>

#include "base/err.h"

/*
 * A file that appears under its name only when it is whole: it is written as PATH.part, created
 * exclusively, readable by its owner alone, and renamed over PATH at the end.  A .part that a
 * dead process left behind is replaced; one that a live process still writes is -EBUSY.
 * What exists already and is no regular file (/dev/null), and /dev/stdout in any case, is written
 * in place instead, unless another user could have put it there: see base/place.h.
 */
struct vg_outfile {
	int fd;         /* owned, never a standard descriptor; -1 when closed */
	int directory;  /* owned; where the file is; -1 when closed or written in place */
	char *path;     /* owned */
	char *part;     /* owned */
	bool in_place;
};

#define VG_OUTFILE_CLOSED { .fd = -1, .directory = -1 }

/* 0, or a negative errno from open(2), or -EBUSY as above, or -EACCES, -EEXIST or -EINVAL for what is at PATH or at
 * PATH.part and is refused. */
int vg_outfile_open(struct vg_outfile *file, const char *path, struct vg_err *err);

/*
 * Renames to the final name and closes.  On failure the .part stays.  Does nothing to a closed one.
 *
 * If somebody has removed the .part, or another file has its name by now, what was written is copied to
 * PATH.part.N, and that is renamed; the other file stays as it is.  If there can be no copy, what was written is
 * lost: a negative errno, with a sentence that says so.
 */
int vg_outfile_commit(struct vg_outfile *file, struct vg_err *err);

/* Closes this process's copy, and leaves the file to the process that it was copied from. */
void vg_outfile_forget(struct vg_outfile *file);

/* Removes the .part, unless it is another file by now, and closes.  Does nothing to a closed one. */
void vg_outfile_abandon(struct vg_outfile *file);

#endif
