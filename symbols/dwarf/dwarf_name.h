/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_NAME_H
#define VG_SYMBOLS_DWARF_NAME_H

#include "symbols/dwarf/dwarf_reader.h"

/* Sets *origin to the index in reader->origins of a DIE that names a function.  Adds the DIE if it
 * is new.  Returns 0 or -ENOMEM. */
int vg_dwarf_origin(struct vg_dwarf_reader *reader, Dwarf_Die *die, uint32_t *origin);

/* The text of an attribute; NULL: the DIE has no such attribute, or it is no text.  Valid as long as libdw's file. */
const char *vg_dwarf_string(Dwarf_Die *die, unsigned name);

/* Records the scope of a DIE's name.  `scope` is a string id.  Returns 0 or -ENOMEM. */
int vg_dwarf_record_scope(struct vg_dwarf_reader *reader, const Dwarf_Die *die, uint32_t scope);

/* Sets *name to the string id of the source name of a DIE, with its scope.  Returns 0 or -ENOMEM. */
int vg_dwarf_name(struct vg_dwarf_reader *reader, Dwarf_Die *die, uint32_t *name);

/* True if the DIE has a linkage name that includes its scope. */
bool vg_dwarf_has_linkage_name(const struct vg_dwarf_reader *reader, Dwarf_Die *die);

/* Replaces origins by string ids in the functions and inlined calls of the table.  Sorts the linker
 * symbols.  Returns 0 or -ENOMEM. */
int vg_dwarf_resolve_names(struct vg_dwarf_reader *reader);

#endif
