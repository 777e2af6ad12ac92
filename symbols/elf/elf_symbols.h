/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_ELF_SYMBOLS_H
#define VG_SYMBOLS_ELF_SYMBOLS_H

#include "symbols/elf/elf_image.h"
#include "symbols/table/demangle.h"

/*
 * Adds ELF symbols to a table's linker_symbols.  At one address, the first symbol that is added
 * stays, as in Breakpad's dump_syms.  Internal to symbols/.
 *
 *     struct vg_elf_symbols reader = { .image = &image, .symbols = &symbols };
 *     rc = vg_elf_symbols_read(&reader, &image, SHT_SYMTAB, NULL);
 *     vg_elf_symbols_free(&reader);
 */
struct vg_elf_symbols {
	const struct vg_elf_image *image;       /* borrowed; the file with the code */
	struct vg_symbols *symbols;             /* borrowed; the table to add to */
	struct vg_intern addresses;             /* addresses that have a symbol */
	struct vg_demangler demangler;
	bool mark_multiple;                     /* set is_multiple of a symbol whose address has a second name.  Must
						   be false after the DWARF was read: the DWARF reader removes symbols,
						   so that ids in `addresses` are no longer indices of symbols */
};

/* Adds one symbol.  Its name is the demangled `name`, followed by `suffix`.  `bytes` is its size, 0 if unknown.  Does
 * nothing if no code is at the virtual address.  Returns 0 or -ENOMEM. */
int vg_elf_symbols_add(struct vg_elf_symbols *elf_symbols, uint64_t address, uint64_t bytes,
		       const char *name, const char *suffix);

/* Adds the functions (STT_FUNC, STT_GNU_IFUNC) of the first symbol table of that type (SHT_SYMTAB
 * or SHT_DYNSYM) in `from`.  Sets *found to true if there is such a table; `found` may be NULL.  Returns 0 or
 * -ENOMEM. */
int vg_elf_symbols_read(struct vg_elf_symbols *elf_symbols, const struct vg_elf_image *from,
			unsigned type, bool *found);

/* Adds assembly labels of .symtab: symbols without type and size.  Labels inside a function or a sized symbol are not
 * added, so call this after functions and all other symbols were added.  Returns 0 or -ENOMEM. */
int vg_elf_symbols_read_labels(struct vg_elf_symbols *elf_symbols, const struct vg_elf_image *from);

/* Adds the stubs of the procedure linkage table, as name@plt (elf_plt.c).  Returns 0 or -ENOMEM. */
int vg_elf_symbols_read_plt(struct vg_elf_symbols *elf_symbols);

/* Finds gaps (elf_gaps.c).  A gap is code that no symbol covers; it begins where a symbol with a size ends.  Removes
 * the gaps from the table's code sections; otherwise a lookup in a gap would find the symbol before the gap.  Gaps that
 * may be padding stay.  Returns 0 or -ENOMEM. */
int vg_elf_symbols_cut_gaps(struct vg_symbols *symbols);

void vg_elf_symbols_free(struct vg_elf_symbols *elf_symbols);

#endif
