/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_LANGUAGE_H
#define VG_SYMBOLS_DWARF_LANGUAGE_H

#include "symbols/dwarf/dwarf_reader.h"

/* Sets reader->language to the language of the unit, if the unit has one. */
void vg_dwarf_set_language(struct vg_dwarf_reader *reader, Dwarf_Die *unit);

/* Sets reader->language to the language of the first unit that has one.  Returns 0 or -ENOBUFS. */
int vg_dwarf_first_language(struct vg_dwarf_reader *reader);

/* Returns the language of the DIE's unit, or reader->language if that unit has none. */
const struct vg_dwarf_language *vg_dwarf_language(const struct vg_dwarf_reader *reader,
						  const Dwarf_Die *die);

#endif
