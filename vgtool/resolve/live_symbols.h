/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_LIVE_SYMBOLS_H
#define VG_VGTOOL_LIVE_SYMBOLS_H

#include "profile/model.h"
#include "vgtool/resolve/symbol_finder.h"

/*
 * Symbolizes a profile that grows.  Each call symbolizes the stacks that are new.  The symbols of a module stay in
 * memory, so that it costs little to look up further addresses.
 *
 *	struct vg_live_symbols live = { .finder = &finder };
 *	vg_live_symbols_add(&live, &profile);                       (again and again)
 *	vg_live_symbols_free(&live);
 *
 * Memory: at most VG_LIVE_SYMBOLS_MIB for the symbols that are kept, and the symbols of one module.  If a module's
 * symbols do not fit into this limit, they are read again for further addresses, but for at most 0.5 % of the time.
 */
enum { VG_LIVE_SYMBOLS_MIB = 512 };

struct vg_live_address {
	uint32_t module;             /* index */
	uint64_t address;
};

struct vg_live_symbols {
	struct vg_symbol_finder *finder; /* the caller's */

	/* Private: */
	struct { struct vg_live_module *items; size_t count, capacity; } modules; /* by index of the profile's module */
	struct { struct vg_live_address *items; size_t count, capacity; } waiting; /* addresses to look up */
	size_t nodes;                /* number of stack nodes that were read */
	size_t kept_bytes;           /* memory of the symbols that are kept */
	struct vg_intern functions;  /* module, name and file -> index in function_of */
	VG_ARRAY(uint32_t) function_of; /* indices of the profile's functions */
	VG_ARRAY(char) key;          /* room for a key of `functions` */
};

/* Adds symbols to the profile, which must be the same at each call.  Missing symbols are not a failure.  Returns 0 or
 * -ENOMEM. */
int vg_live_symbols_add(struct vg_live_symbols *live, struct vg_profile *profile);

/* Does not free the finder. */
void vg_live_symbols_free(struct vg_live_symbols *live);

#endif
