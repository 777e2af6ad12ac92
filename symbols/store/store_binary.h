/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_STORE_BINARY_H
#define VG_SYMBOLS_STORE_BINARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "base/build_id.h"
#include "base/intern.h"

/*
 * The ELF files in a list of directories (roots), by build id.  <root>/.build-id/ is searched first.
 * If it has no preferred file for a module, the indexes of all directories are read.  A directory
 * without an index is walked, and the headers and the build id of each file are read.  This happens
 * only once for all modules.  Symbolic links are not followed.  A new structure is all zero.
 * Files with debug information are preferred.  If wants_code is set, files with code are preferred
 * instead: a debug file has no code.
 *
 *     struct vg_store_binaries binaries = { 0 };
 *     rc = vg_store_find_binary(&binaries, roots, 1, id, id_bytes, &path, &is_preferred);
 *     vg_store_binaries_free(&binaries);
 */
struct vg_store_binary {
	char *path;                     /* owned */
	bool is_preferred;
};

struct vg_store_binaries {
	bool wants_code;                /* set by the caller, before the first call */
	/* Opens the index (store_index.h) of roots[number], which is current.  Returns a descriptor, which is
	 * closed here, or -ENOENT.  NULL: there are no indexes. */
	int (*open_index)(void *context, size_t number);
	void *context;
	bool walked;                    /* the directories were walked */
	struct vg_intern ids;           /* build id -> index in items */
	VG_ARRAY(struct vg_store_binary) items;
};

/* Finds the file with that build id.  *is_preferred: see above.  The caller frees *path_out.  Returns 0,
 * -ENOENT or -ENOMEM. */
int vg_store_find_binary(struct vg_store_binaries *binaries, const char *const *roots,
			 size_t root_count, const unsigned char *build_id, size_t build_id_bytes,
			 char **path_out, bool *is_preferred);

/* Frees the members and sets them to zero.  `binaries` may be NULL or all zero. */
void vg_store_binaries_free(struct vg_store_binaries *binaries);

#endif
