/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_SEARCH_H
#define VG_SYMBOLS_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Where to search for debug information that is not in the file itself.  All borrowed. */
struct vg_symbols_search {
	const char *const *debug_dirs;  /* searched in this order, then /usr/lib/debug */
	size_t debug_dir_count;
	bool debuginfod;                /* ask the servers of DEBUGINFOD_URLS for files that are not found */
};

/* Checks that a search with debuginfod set can work.  Returns 0; -ENOSYS: vgtool was built without
 * debuginfod, or libdebuginfod is not installed; -EINVAL: DEBUGINFOD_URLS names no server. */
int vg_symbols_debuginfod_check(struct vg_err *err);

#endif
