/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_H
#define VG_SYMBOLS_DWARF_H

#include "symbols/dwarf/dwarf_companion.h"
#include "symbols/elf/elf_symbols.h"

/*
 * Reads DWARF unit by unit.  A unit's DIE tree becomes flat arrays of functions, inlined calls and
 * ranges (dwarf_walk.c), and its line table becomes rows (dwarf_line.c).  Then each address range
 * of a function becomes one entry of the table's functions, with its lines and inlined calls
 * (dwarf_emit.c).  Names are resolved after all units were read, because a function's name may be
 * in a later DIE or in another unit (dwarf_name.c).  Internal to symbols/.
 */

/*
 * Adds the functions, lines and inlined calls of `debug` to the table elf_symbols->symbols.
 * `debug` has the DWARF of `image`; both may be the same file.  `companions` were opened for
 * `debug`.  Code that has lines but no function gets its name from linker symbols.  These include
 * the labels in .symtab of `symtab_image`, which may be NULL.  Linker symbols that a function
 * replaces are removed.
 *
 * Returns 0; -ENODATA: no DWARF; -EBADMSG: libdw cannot open `debug`; -ENOMEM.
 */
int vg_dwarf_read(const struct vg_elf_image *image, const struct vg_elf_image *debug,
		  struct vg_dwarf_companions *companions, struct vg_elf_symbols *elf_symbols,
		  const struct vg_elf_image *symtab_image, struct vg_err *err);

#endif
