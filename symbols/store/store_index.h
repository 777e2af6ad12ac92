/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_STORE_INDEX_H
#define VG_SYMBOLS_STORE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * The index of a directory: a file that has the build ids of the ELF files below the directory.  The index is current
 * if each directory and each ELF file still has the device, inode, size, mtime and ctime that are in the index.
 * Otherwise the directory is walked, and only new and changed files are opened.  The index has the host's byte order:
 * it belongs into a cache.
 *
 *	rc = vg_store_index_update("/usr/lib", index_path, &err);
 *	rc = vg_store_index_read(fd, visit, context);
 */

/* Writes the index if it does not exist or is not current.  An index that is damaged is replaced.  Returns 0, or a
 * negative errno with a message in err.  -ENOENT: the directory has no files but .sym files, so it needs no index.
 * -EFBIG: the index would have more than 256 MiB. */
int vg_store_index_update(const char *root, const char *path, struct vg_err *err);

/* An ELF file.  Borrowed, until visit() returns.  The contents of the index are untrusted. */
struct vg_store_index_entry {
	const unsigned char *id;     /* build id */
	size_t id_bytes;             /* 1 to VG_BUILD_ID_MAX_BYTES */
	const char *path;            /* below the directory */
	uint32_t contents;           /* VG_STORE_FILE_... of store_files.h */
};

/* Calls visit() for each ELF file in an index.  Does not close fd.  Stops if visit() does not return 0.  Returns what
 * visit() returned; -EBADMSG: damaged, and visit() was not called; or -ENOMEM. */
int vg_store_index_read(int fd, int (*visit)(void *context, const struct vg_store_index_entry *entry), void *context);

#endif
