/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_MISSING_FILE_H
#define VG_SYMBOLS_MISSING_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/build_id.h"
#include "base/err.h"

/* What a module's symbols lack.
 *
 * `path` and `id` name the supplementary debug file that the module needs and that was not found.  This
 * file has the debug information that dwz moved out of several modules.  `path` is NULL if no such
 * file is missing. */
struct vg_missing_file {
	char *path;                     /* owned; as in .gnu_debugaltlink */
	unsigned char id[VG_BUILD_ID_MAX_BYTES]; /* its build id */
	size_t id_bytes;
	bool exported_only;             /* the module's file is stripped: only the names of its dynamic symbol table are
					   known */
};

/* Fills a structure that is all zero.  Truncates the path to 4096 characters and the id to VG_BUILD_ID_MAX_BYTES.
 * Returns 0 or -ENOMEM. */
int vg_missing_file_set(struct vg_missing_file *missing_file, const char *path, const void *id, size_t id_bytes);

/* Copies *from to a structure that is all zero.  Returns 0 or -ENOMEM. */
int vg_missing_file_copy(struct vg_missing_file *to, const struct vg_missing_file *from);

/* Frees the members and sets them to zero.  `missing_file` may be NULL or all zero. */
void vg_missing_file_free(struct vg_missing_file *missing_file);

#endif
