/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_PACKAGE_H
#define VG_SYMBOLS_DWARF_PACKAGE_H

#include <elfutils/libdw.h>

#include "symbols/dwarf/dwarf_split.h"
#include "symbols/elf/elf_separate.h"

/*
 * DWARF packages: the .dwo files of a program in one file (DWARF 5, section 7.3.5, and before
 * that the GNU form).  libdw reads them from 0.191 on, so here each unit becomes a Dwarf of its
 * own: the package's sections, narrowed to the unit's share of each.  What such a unit has in the
 * program itself, its addresses, libdw does not connect; struct vg_dwarf_split does.
 * Internal to symbols/.
 */
struct vg_dwarf_package_unit {
	uint64_t id;
	uint32_t row;                   /* of the index, from 0 */
};

struct vg_dwarf_package {
	struct vg_elf_image image;
	const unsigned char *columns;   /* of the index: section numbers, then offsets, then sizes */
	uint32_t column_count, row_count;
	unsigned version;               /* of the index: 2 or 5 */
	bool is_compressed, big_endian;
	char *names;                    /* owned; of sections, as the units' Elfs see them */
	size_t names_bytes;
	VG_ARRAY(struct vg_dwarf_package_unit) units;   /* by id */
	VG_ARRAY(Elf *) elfs;           /* owned; of the units that were opened */
	VG_ARRAY(Dwarf *) dwarfs;       /* owned */
};

#define VG_DWARF_PACKAGE_NONE { .image = VG_ELF_IMAGE_CLOSED }

/* BINARY.dwp, DEBUG FILE.dwp, or one of these names in a directory of debug files.  If there is
 * none the package stays closed.  0 or -ENOMEM. */
int vg_dwarf_package_open(struct vg_dwarf_package *package, const struct vg_elf_image *image,
			  const struct vg_elf_image *debug, const struct vg_symbols_search *search);
void vg_dwarf_package_close(struct vg_dwarf_package *package);

/* Four bytes of the index. */
uint32_t vg_dwarf_package_number(const struct vg_dwarf_package *package, const unsigned char *at);

#endif
