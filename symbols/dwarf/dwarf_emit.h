/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_EMIT_H
#define VG_SYMBOLS_DWARF_EMIT_H

#include "symbols/dwarf/dwarf_reader.h"

/* What the unit holds -> the table.  function.name and inline.name are indices in
 * origins until vg_dwarf_resolve_names(). */
int vg_dwarf_emit(struct vg_dwarf_reader *reader);

#endif
