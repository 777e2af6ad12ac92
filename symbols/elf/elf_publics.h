/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_ELF_PUBLICS_H
#define VG_SYMBOLS_ELF_PUBLICS_H

#include "symbols/elf/elf_image.h"
#include "symbols/table/demangle.h"

/*
 * The linker's symbols of code, as the table's publics.  Of several at an address the first added
 * stands for all, as Breakpad has it.  Internal to symbols/.
 */
struct vg_elf_publics {
	const struct vg_elf_image *image;       /* where the code is */
	struct vg_symbols *symbols;             /* what is added to */
	struct vg_intern addresses;             /* that have one */
	struct vg_demangler demangler;
	bool marks_multiple;                    /* a second name at an address is noted; only before
						   the DWARF is read, which removes publics */
};

/* Adds one, of `bytes` or of unknown size (0), with the suffix behind its demangled name.  An
 * address outside all code is passed over.  0 or -ENOMEM. */
int vg_elf_publics_add(struct vg_elf_publics *publics, uint64_t address, uint64_t bytes,
		       const char *name, const char *suffix);

/* Functions, and those that pick one of several at load time, from the first symbol table of the
 * type (SHT_SYMTAB, SHT_DYNSYM) in `from`.  *found tells if there is such a table, and may be
 * NULL.  0 or -ENOMEM. */
int vg_elf_publics_read(struct vg_elf_publics *publics, const struct vg_elf_image *from,
			unsigned type, bool *found);

/* Labels of assembly in .symtab that say neither type nor size, where no function and no sized
 * public covers them: call after the functions were read.  0 or -ENOMEM. */
int vg_elf_publics_read_labels(struct vg_elf_publics *publics, const struct vg_elf_image *from);

/* Stubs of the procedure linkage table, as name@plt (symbols/elf/elf_plt.c).  0 or -ENOMEM. */
int vg_elf_publics_read_plt(struct vg_elf_publics *publics);

/* Takes from the table's sections what lies behind sized publics and belongs to no symbol, unless
 * it may be padding: the nearest symbol before it must not name it.  0 or -ENOMEM. */
int vg_elf_publics_cut_gaps(struct vg_symbols *symbols);

void vg_elf_publics_free(struct vg_elf_publics *publics);

#endif
