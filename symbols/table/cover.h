/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_COVER_H
#define VG_SYMBOLS_COVER_H

#include <stdbool.h>

#include "symbols/table/table.h"

/* Which addresses a table's symbols cover: ranges, sorted and without overlaps.  Free it with
 * vg_array_free(). */
struct vg_cover {
	struct vg_symbol_range *items;
	size_t count, capacity;
};

/* Of the functions, and of the publics that have a size if asked for.  Into an empty one.  0 or
 * -ENOMEM. */
int vg_cover_collect(struct vg_cover *cover, const struct vg_symbols *symbols, bool publics_too);

bool vg_cover_has(const struct vg_cover *cover, uint64_t address);

/* The address itself if it is covered, else where the next range begins; UINT64_MAX: none does. */
uint64_t vg_cover_after(const struct vg_cover *cover, uint64_t address);

#endif
