/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_ELF_IMAGE_H
#define VG_SYMBOLS_ELF_IMAGE_H

#include <gelf.h>
#include <libelf.h>

#include "base/err.h"
#include "symbols/table.h"

/*
 * An ELF file that is open for reading, checked as far as everything that follows relies on:
 * headers and sections lie within the file.  Internal to symbols/.
 */
struct vg_elf_image {
	int fd;                 /* owned; -1 when closed */
	Elf *elf;               /* owned */
	char *path;             /* owned */
	uint64_t load_base;     /* p_vaddr of the first PT_LOAD */
	uint64_t data_bytes;    /* all sections, uncompressed: bounds the work on them */
	VG_ARRAY(struct vg_symbol_range) code;  /* where code lies, by virtual address, sorted */
};

#define VG_ELF_IMAGE_CLOSED { .fd = -1 }

/* The errors are vg_symbols_from_binary()'s. */
int vg_elf_image_open(struct vg_elf_image *image, const char *path, struct vg_err *err);
void vg_elf_image_close(struct vg_elf_image *image);

/* True if the virtual address lies in code; of a tombstone (0, -1, -2 and the offsets that
 * linkers leave near 0 for functions they dropped) it does not. */
bool vg_elf_image_has_code(const struct vg_elf_image *image, uint64_t address);

/* The section of that name and its header, or NULL.  Does not match SHT_NOBITS. */
Elf_Scn *vg_elf_section(const struct vg_elf_image *image, const char *name, GElf_Shdr *header);

/* Name, architecture and ids of the module (symbols/elf_identity.c). */
int vg_elf_identify(const struct vg_elf_image *image, struct vg_symbols *symbols,
		    struct vg_err *err);

/* The linker's symbols of code, as publics with unbounded sizes, from .symtab, or else from
 * .dynsym; in the order of the table, the first of several at an address (symbols/elf_symtab.c).
 * *section names the one read, or NULL if the file has neither.  0 or -ENOMEM. */
int vg_elf_read_symtab(const struct vg_elf_image *image, struct vg_symbols *symbols,
		       const char **section);

/* Opens the separate debug file of a module, if there is one that is provably its own
 * (symbols/elf_separate.c).  0, -ENOENT, -ENOMEM. */
int vg_elf_separate_open(const struct vg_elf_image *image, struct vg_elf_image *separate);

/* Functions, lines and inlines from DWARF (symbols/dwarf.c).  `debug` holds the DWARF of `image`
 * and may be the same.  0, -ENODATA if there is none, -EBADMSG, -ENOMEM. */
int vg_dwarf_read(const struct vg_elf_image *image, const struct vg_elf_image *debug,
		  struct vg_symbols *symbols, struct vg_err *err);

#endif
