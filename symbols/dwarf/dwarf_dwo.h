/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_DWO_H
#define VG_SYMBOLS_DWARF_DWO_H

#include <elfutils/libdw.h>

#include "symbols/dwarf/dwarf_split.h"

/*
 * Files with one split unit each (.dwo), which skeleton units name.  libdw would open these paths with open(2), which
 * waits for the writer of a FIFO and has effects on devices.  So libdw is never asked for a split unit.  Internal to
 * symbols/.
 */
struct vg_dwarf_dwo {
	struct vg_elf_image image;
	Dwarf *dwarf;                   /* owned */
};

struct vg_dwarf_dwos {
	VG_ARRAY(struct vg_dwarf_dwo) open;
	bool directory_is_read;
	char *directory;                /* owned; of the debug file.  NULL: its path has gone, or belongs to another
					   mount namespace */
};

/* Finds the split unit of the skeleton unit `skeleton` of `debug`, which is the same file in all calls: in the file
 * DW_AT_dwo_name, first beside `debug`, then in the unit's directory.  *unit and *split are valid until
 * vg_dwarf_dwos_close().  Returns 0; -ENOENT: there is no such file, or it has another unit; -EBADMSG: the unit is
 * damaged; -ENOMEM. */
int vg_dwarf_dwo_find(struct vg_dwarf_dwos *dwos, const struct vg_elf_image *debug, Dwarf_Die *skeleton,
		      Dwarf_Die *unit, struct vg_dwarf_split *split);
void vg_dwarf_dwos_close(struct vg_dwarf_dwos *dwos);

#endif
