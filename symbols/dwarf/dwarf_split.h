/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_SPLIT_H
#define VG_SYMBOLS_DWARF_SPLIT_H

#include <elfutils/libdw.h>

#include "symbols/elf/elf_image.h"

/* The data that attributes of a split unit refer to. */
struct vg_dwarf_split {
	struct vg_elf_bytes info;        /* the unit */
	struct vg_elf_bytes addresses;   /* .debug_addr of the program, starting at the skeleton's addr_base */
	struct vg_elf_bytes ranges;      /* .debug_rnglists.dwo of the unit; before DWARF 5:
					    .debug_ranges of the program, starting at the
					    skeleton's ranges_base */
	uint64_t base;                   /* base address of ranges: the skeleton's low_pc */
	unsigned version, address_bytes, offset_bytes;
};

/* Describes a split unit: `info` is its .debug_info.dwo, and `ranges` its .debug_rnglists.dwo.  Its skeleton unit is in
 * `debug`.  Returns 0 or -EBADMSG. */
int vg_dwarf_split_describe(struct vg_dwarf_split *split, const struct vg_elf_image *debug, Dwarf_Die *skeleton,
			    struct vg_elf_bytes info, struct vg_elf_bytes ranges);

/* Calls `callback` for each range of a DIE, with virtual addresses.  Stops at the first call that does not return 0.
 * Returns the value of the last call, 0 if there was none, or -EBADMSG. */
int vg_dwarf_split_ranges(const struct vg_dwarf_split *split, Dwarf_Die *die,
			  int (*callback)(void *context, uint64_t low, uint64_t high), void *context);

#endif
