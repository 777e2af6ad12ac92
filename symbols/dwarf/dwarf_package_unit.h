/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_PACKAGE_UNIT_H
#define VG_SYMBOLS_DWARF_PACKAGE_UNIT_H

#include "symbols/dwarf/dwarf_package.h"

/* The split unit of a skeleton in `debug`, valid until the package is closed.
 * 0, -ENOENT, -EBADMSG, -ENOMEM. */
int vg_dwarf_package_find(struct vg_dwarf_package *package, const struct vg_elf_image *debug,
			  Dwarf_Die *skeleton, Dwarf_Die *unit, struct vg_dwarf_split *split);

#endif
