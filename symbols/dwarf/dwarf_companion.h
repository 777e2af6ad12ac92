/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_COMPANION_H
#define VG_SYMBOLS_DWARF_COMPANION_H

#include <elfutils/libdw.h>

#include "symbols/dwarf/dwarf_package.h"

/*
 * Files that DWARF refers to beside its own.  Internal to symbols/.
 */
struct vg_dwarf_companions {
	struct vg_elf_image shared;     /* what dwz moved to a file that several share */
	Dwarf *shared_dwarf;            /* owned; NULL if the debug file refers to none */
	struct vg_absent absent;        /* the shared file, if it was not found */
	Elf *nothing;                   /* owned; see vg_dwarf_companions_attach() */
	struct vg_dwarf_package package; /* of split DWARF; closed if there is none */
};

#define VG_DWARF_COMPANIONS_NONE \
	{ .shared = VG_ELF_IMAGE_CLOSED, .package = VG_DWARF_PACKAGE_NONE }

/* Finds what belongs to the DWARF in `debug`, the debug file of `image` or the same.  What is not
 * found is no failure: the names in it are missing then, and `absent` names the file.  0 or -ENOMEM. */
int vg_dwarf_companions_open(struct vg_dwarf_companions *companions,
			     const struct vg_elf_image *image, const struct vg_elf_image *debug,
			     const struct vg_symbols_search *search);
void vg_dwarf_companions_close(struct vg_dwarf_companions *companions);

/* To be called for each Dwarf that is opened on the debug file, which must be closed first.  Keeps
 * libdw from looking for dwz's file on its own: it would take any file of that name. */
void vg_dwarf_companions_attach(const struct vg_dwarf_companions *companions, Dwarf *dwarf);

#endif
