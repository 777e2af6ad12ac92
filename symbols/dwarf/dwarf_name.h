/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_NAME_H
#define VG_SYMBOLS_DWARF_NAME_H

#include "symbols/dwarf/dwarf_reader.h"

int vg_dwarf_origin(struct vg_dwarf_reader *reader, Dwarf_Die *die, uint32_t *origin);
int vg_dwarf_record_scope(struct vg_dwarf_reader *reader, const Dwarf_Die *die, uint32_t scope);
int vg_dwarf_name(struct vg_dwarf_reader *reader, Dwarf_Die *die, uint32_t *name);
/* True if the DIE has a name from which the scope is demangled. */
bool vg_dwarf_has_linkage_name(const struct vg_dwarf_reader *reader, Dwarf_Die *die);
int vg_dwarf_resolve_names(struct vg_dwarf_reader *reader);

#endif
