/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_SEARCH_H
#define VG_SYMBOLS_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Where to look for what is not in the file itself. */
struct vg_symbols_search {
	const char *const *debug_dirs;  /* tried in order, before /usr/lib/debug */
	size_t debug_dir_count;
	bool debuginfod;                /* ask the servers of DEBUGINFOD_URLS for what is missing */
};

/* Whether search.debuginfod can work at all.  0; -ENOSYS: built without it, or its library is not
 * installed; -EINVAL: DEBUGINFOD_URLS names no server. */
int vg_symbols_debuginfod_check(struct vg_err *err);

#endif
