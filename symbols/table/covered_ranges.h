/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_COVERED_RANGES_H
#define VG_SYMBOLS_COVERED_RANGES_H

#include <stdbool.h>

#include "symbols/table/table.h"

/* The address ranges that a table's symbols cover: sorted, without overlaps, module-relative.  An
 * all-zero structure is empty; free it with vg_array_free(). */
struct vg_covered_ranges {
	struct vg_symbol_range *items;
	size_t count, capacity;
};

/* Sets `ranges`, which must be empty, to the ranges of the functions.  If with_linker_symbols is
 * set, adds the ranges of the linker symbols that have a size.  Returns 0 or -ENOMEM. */
int vg_covered_ranges_collect(struct vg_covered_ranges *ranges, const struct vg_symbols *symbols,
			      bool with_linker_symbols);

bool vg_covered_ranges_have(const struct vg_covered_ranges *ranges, uint64_t address);

/* The lowest covered address at or after `address`; UINT64_MAX if there is none. */
uint64_t vg_covered_ranges_next(const struct vg_covered_ranges *ranges, uint64_t address);

#endif
