/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_STORE_BINARY_H
#define VG_SYMBOLS_STORE_BINARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "base/intern.h"

/*
 * The ELF files in directories, by build id.  The directories are walked once, when the first
 * module is looked for that is not under <root>/.build-id/; of each file the headers and the build
 * id are read.  Symbolic links are not followed.  All zero is one that has not walked yet.
 */
struct vg_store_binary {
	char *path;                     /* owned */
	bool has_debug_info;
};

struct vg_store_binaries {
	bool walked;
	struct vg_intern ids;           /* build id -> index in items */
	VG_ARRAY(struct vg_store_binary) items;
};

/* The file with that build id that says most: one with debug information before one without.
 * *path_out is the caller's to free.  0, -ENOENT, -ENOMEM. */
int vg_store_find_binary(struct vg_store_binaries *binaries, const char *const *roots,
			 size_t root_count, const unsigned char *build_id, size_t build_id_bytes,
			 char **path_out, bool *has_debug_info);

/* NULL and an all-zero one are allowed. */
void vg_store_binaries_free(struct vg_store_binaries *binaries);

#endif
