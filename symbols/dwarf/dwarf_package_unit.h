/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_PACKAGE_UNIT_H
#define VG_SYMBOLS_DWARF_PACKAGE_UNIT_H

#include "symbols/dwarf/dwarf_package.h"

/* Finds the split unit of the skeleton unit `skeleton` of `debug`.  *unit and *split are valid until
 * the package is closed.  Returns 0; -ENOENT: the package does not have the split unit; -EBADMSG: the
 * split unit is damaged; -ENOMEM. */
int vg_dwarf_package_find(struct vg_dwarf_package *package, const struct vg_elf_image *debug,
			  Dwarf_Die *skeleton, Dwarf_Die *unit, struct vg_dwarf_split *split);

#endif
