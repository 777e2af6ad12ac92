/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_LANGUAGE_H
#define VG_SYMBOLS_DWARF_LANGUAGE_H

#include "symbols/dwarf/dwarf_reader.h"

/* The language of a unit, if it has one, is reader->language from here on; the first is that of the
 * first unit that has one: 0 or -ENOBUFS.  And the language of a DIE. */
void vg_dwarf_set_language(struct vg_dwarf_reader *reader, Dwarf_Die *unit);
int vg_dwarf_first_language(struct vg_dwarf_reader *reader);
const struct vg_dwarf_language *vg_dwarf_language(const struct vg_dwarf_reader *reader,
						  const Dwarf_Die *die);

#endif
