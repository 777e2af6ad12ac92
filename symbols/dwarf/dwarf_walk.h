/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_WALK_H
#define VG_SYMBOLS_DWARF_WALK_H

#include "symbols/dwarf/dwarf_reader.h"

/* Reads the DIE tree of a unit into functions, inlines and ranges of the reader.  Returns 0, -ENOBUFS
 * or -ENOMEM. */
int vg_dwarf_walk(struct vg_dwarf_reader *reader, Dwarf_Die *unit);

#endif
