/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_SEARCH_H
#define VG_SYMBOLS_SEARCH_H

#include <stddef.h>

/* Where to search for debug information that is not in the file itself.  All borrowed. */
struct vg_symbols_search {
	const char *const *debug_dirs;  /* searched in this order, then /usr/lib/debug */
	size_t debug_dir_count;
	/* Opens a debug file by its build id, if none of these directories has it.  Returns a descriptor and sets *path,
	 * both of which the caller frees, or returns -ENOENT or another negative errno.  NULL: no other place. */
	int (*open)(void *context, const unsigned char *build_id, size_t build_id_bytes, char **path);
	void *open_context;
};

#endif
