/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_ORPHAN_H
#define VG_SYMBOLS_DWARF_ORPHAN_H

#include "symbols/dwarf/dwarf_reader.h"

/* Code that has lines but no function DIE: keeps what vg_dwarf_emit() did not use
 * of a unit's rows; in the end makes functions of the publics there.  Names must be resolved by
 * then, for a public's is a string id; publics are sorted by it. */
int vg_dwarf_keep_orphans(struct vg_dwarf_reader *reader);
int vg_dwarf_adopt_orphans(struct vg_dwarf_reader *reader);

#endif
