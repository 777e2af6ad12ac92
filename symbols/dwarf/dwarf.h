/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_H
#define VG_SYMBOLS_DWARF_H

#include "symbols/dwarf/dwarf_companion.h"
#include "symbols/elf/elf_publics.h"

/*
 * Reading DWARF, one unit after another.  A unit's DIE tree is walked once into flat arrays
 * (functions, inlines, ranges), its line program once into rows; then each range of each function
 * becomes one function of the table with its share of both.  Internal to symbols/.
 *
 * Names are resolved last: a function may take its name from a DIE further on or in another unit.
 */

/* Functions, lines and inlines from DWARF, into the table of the publics, which name what only has
 * lines; so does the .symtab of `labels`, unless that is NULL.  `debug` holds the DWARF of `image`
 * and may be the same; companions are its own.
 * 0, -ENODATA if there is none, -EBADMSG, -ENOMEM. */
int vg_dwarf_read(const struct vg_elf_image *image, const struct vg_elf_image *debug,
		  struct vg_dwarf_companions *companions, struct vg_elf_publics *publics,
		  const struct vg_elf_image *labels, struct vg_err *err);

#endif
