/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_LINE_H
#define VG_SYMBOLS_DWARF_LINE_H

#include "symbols/dwarf/dwarf_reader.h"

/* Line table of a unit -> rows, and its files. */
int vg_dwarf_read_rows(struct vg_dwarf_reader *reader, Dwarf_Die *unit);

#endif
