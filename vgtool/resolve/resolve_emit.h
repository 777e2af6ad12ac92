/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_RESOLVE_EMIT_H
#define VG_VGTOOL_RESOLVE_EMIT_H

#include "vgtool/resolve/resolve.h"

/* Receives the symbols of one profile.  Each function returns 0 or a negative errno, which ends the emission. */
struct vg_resolve_sink {
	/* A function; id: 0, 1, 2, ...  Comes before the first symbol that refers to it.  file: NULL: unknown.
	 * module: id in the profile. */
	int (*function)(void *context, uint32_t id, const char *name, const char *file, uint32_t module);
	/* The functions at an address, innermost first; lines[].function: ids. */
	int (*symbol)(void *context, uint32_t module, uint64_t address, const struct vg_symbol_line *lines,
		      size_t count);
	/* A module without symbols. */
	int (*unresolved)(void *context, uint32_t module);
	void *context;
};

/* Emits the symbols of the profile from which the list was collected.  The order is the same for every sink.
 * Returns 0, -ENOMEM or the sink's negative errno. */
int vg_resolve_emit(const struct vg_resolve *resolve, const struct vg_address_list *list,
		    const struct vg_resolve_sink *sink);

#endif
