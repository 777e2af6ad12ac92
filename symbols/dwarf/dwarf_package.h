/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_PACKAGE_H
#define VG_SYMBOLS_DWARF_PACKAGE_H

#include <elfutils/libdw.h>

#include "symbols/dwarf/dwarf_split.h"
#include "symbols/elf/elf_separate.h"

/*
 * DWARF packages (.dwp): all .dwo files of a program in one file (DWARF 5, 7.3.5; before DWARF 5 a
 * GNU extension).  libdw 0.188 does not read packages; libdw 0.191 does.  Here each unit becomes an
 * Elf of its own, whose sections are the unit's contributions to the package's sections.  These
 * sections share the package's bytes; nothing is copied.  libdw does not connect such a unit with
 * the addresses and ranges in the program; struct vg_dwarf_split does.  Internal to symbols/.
 */
struct vg_dwarf_package_unit {
	uint64_t id;
	uint32_t row;                   /* of the index, from 0 */
};

struct vg_dwarf_package {
	struct vg_elf_image image;
	const unsigned char *columns;   /* borrowed from the index: section ids, then offsets, then sizes */
	uint32_t column_count, row_count;
	unsigned version;               /* of the index: 2 or 5 */
	bool is_compressed, big_endian;
	char *names;                    /* owned; the section names, with the index sections renamed */
	size_t names_bytes;
	VG_ARRAY(struct vg_dwarf_package_unit) units;   /* sorted by id */
	VG_ARRAY(Elf *) elfs;           /* owned; of the units that were opened */
	VG_ARRAY(Dwarf *) dwarfs;       /* owned */
};

#define VG_DWARF_PACKAGE_NONE { .image = VG_ELF_IMAGE_CLOSED }

/* Opens IMAGE.dwp or, if it is not found, DEBUG.dwp.  IMAGE and DEBUG are the paths of the two files.
 * Each .dwp file is searched first beside IMAGE or DEBUG, then in the directories of debug files.  If
 * there is no such file, *package stays closed.  Returns 0 or -ENOMEM. */
int vg_dwarf_package_open(struct vg_dwarf_package *package, const struct vg_elf_image *image,
			  const struct vg_elf_image *debug, const struct vg_symbols_search *search);
void vg_dwarf_package_close(struct vg_dwarf_package *package);

/* Four bytes of the index as a number. */
uint32_t vg_dwarf_package_uint32(const struct vg_dwarf_package *package, const unsigned char *at);

#endif
