/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_LINE_H
#define VG_SYMBOLS_DWARF_LINE_H

#include "symbols/dwarf/dwarf_reader.h"

/* Reads the unit's line table into reader->rows, sorted by address, and the unit's list of files.
 * Returns 0, -ENOBUFS or -ENOMEM. */
int vg_dwarf_read_rows(struct vg_dwarf_reader *reader, Dwarf_Die *unit);

#endif
