/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_SPLIT_H
#define VG_SYMBOLS_DWARF_SPLIT_H

#include <elfutils/libdw.h>

#include "symbols/elf/elf_bytes.h"

/* What a split unit's attributes refer to. */
struct vg_dwarf_split {
	struct vg_elf_bytes info;        /* the unit itself */
	struct vg_elf_bytes addresses;   /* from the skeleton's base on */
	struct vg_elf_bytes ranges;      /* the unit's .debug_rnglists.dwo, or before DWARF 5 the
					    program's .debug_ranges from the skeleton's base on */
	uint64_t base;                   /* what ranges count from: the skeleton's low_pc */
	unsigned version, address_bytes, offset_bytes;
};

/* Calls back for each range of a DIE of a split unit, until that returns other than 0.
 * 0, what the callback returned, or -EBADMSG. */
int vg_dwarf_split_ranges(const struct vg_dwarf_split *split, Dwarf_Die *die,
			  int (*each)(void *context, uint64_t low, uint64_t high), void *context);

#endif
