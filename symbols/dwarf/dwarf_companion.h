/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_COMPANION_H
#define VG_SYMBOLS_DWARF_COMPANION_H

#include <elfutils/libdw.h>

#include "symbols/dwarf/dwarf_dwo.h"
#include "symbols/dwarf/dwarf_package.h"

/*
 * Further files that a debug file refers to: the supplementary file of dwz, and the files or the
 * package of split DWARF.  Internal to symbols/.
 *
 *     struct vg_dwarf_companions companions = VG_DWARF_COMPANIONS_NONE;
 *     rc = vg_dwarf_companions_open(&companions, &image, &debug, search);
 *     dwarf = dwarf_begin_elf(debug.elf, DWARF_C_READ, NULL);
 *     vg_dwarf_companions_attach(&companions, dwarf);
 *     ...
 *     dwarf_end(dwarf);
 *     vg_dwarf_companions_close(&companions);
 */
struct vg_dwarf_companions {
	struct vg_elf_image supplementary; /* the file to which dwz moved debug information of several files; closed
					      if there is none */
	Dwarf *supplementary_dwarf;     /* owned; NULL if the debug file needs none */
	struct vg_missing_file missing_file; /* the supplementary file, if it is needed and was not found */
	Elf *placeholder;               /* owned; an empty file in place of a missing one */
	struct vg_dwarf_dwos dwos;      /* the .dwo files of the units that were read */
	struct vg_dwarf_package package; /* closed if there is none */
};

#define VG_DWARF_COMPANIONS_NONE \
	{ .supplementary = VG_ELF_IMAGE_CLOSED, .package = VG_DWARF_PACKAGE_NONE }

/* Finds the companions of `debug`, which is the debug file of `image` or the image itself.  A
 * missing file is no error: the names in that file are missing, and missing_file is set.  Returns 0
 * or -ENOMEM. */
int vg_dwarf_companions_open(struct vg_dwarf_companions *companions,
			     const struct vg_elf_image *image, const struct vg_elf_image *debug,
			     const struct vg_symbols_search *search);
void vg_dwarf_companions_close(struct vg_dwarf_companions *companions);

/* Gives the supplementary file to `dwarf`, which was opened on the debug file.  Without this call,
 * libdw would search for the supplementary file itself, and accept any file of that name.  Call
 * dwarf_end() before vg_dwarf_companions_close(). */
void vg_dwarf_companions_attach(const struct vg_dwarf_companions *companions, Dwarf *dwarf);

#endif
