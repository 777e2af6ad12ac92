/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_ELF_IMAGE_H
#define VG_SYMBOLS_ELF_IMAGE_H

#include <gelf.h>
#include <libelf.h>

#include "base/err.h"
#include "symbols/elf/elf_bytes.h"
#include "symbols/table/table.h"

/*
 * An ELF file that is open for reading, checked as far as everything that follows relies on:
 * headers and sections lie within the file.  Internal to symbols/.
 */
struct vg_elf_image {
	int fd;                 /* owned; -1 when closed */
	Elf *elf;               /* owned */
	void *memory;           /* owned; the file itself where it is in no file of its own, or NULL */
	VG_ARRAY(void *) expanded;      /* owned; sections decompressed by vg_elf_image_expand() */
	char *path;             /* owned */
	uint64_t load_base;     /* p_vaddr of the first PT_LOAD */
	uint64_t data_bytes;    /* all sections, uncompressed: bounds the work on them */
	VG_ARRAY(struct vg_symbol_range) code;  /* where code lies, by virtual address, sorted */
};

#define VG_ELF_IMAGE_CLOSED { .fd = -1 }

/* The errors are vg_symbols_from_binary()'s. */
int vg_elf_image_open(struct vg_elf_image *image, const char *path, struct vg_err *err);
void vg_elf_image_close(struct vg_elf_image *image);

/* The same for the bytes of a file in memory, which are the image's from here on, also after a
 * failure; path names them in errors. */
int vg_elf_image_open_memory(struct vg_elf_image *image, void *bytes, size_t count,
			     const char *path, struct vg_err *err);

/* The same for relocatable files too: what dwz and those who package DWARF write. */
int vg_elf_image_open_any(struct vg_elf_image *image, const char *path, struct vg_err *err);

/* Decompresses debug sections whose compression libelf does not know (symbols/elf/elf_expand.c).  One
 * that is damaged stays compressed, and is as good as absent to libdw.  0 or -ENOMEM. */
int vg_elf_image_expand(struct vg_elf_image *image);

/* True if the virtual address lies in code; of a tombstone (0, -1, -2 and the offsets that
 * linkers leave near 0 for functions they dropped) it does not. */
bool vg_elf_image_has_code(const struct vg_elf_image *image, uint64_t address);

/* The section of that name and its header, or NULL.  Does not match SHT_NOBITS. */
Elf_Scn *vg_elf_section(const struct vg_elf_image *image, const char *name, GElf_Shdr *header);

/* The same for a debug section, .debug_NAME, which may be compressed as .zdebug_NAME. */
Elf_Scn *vg_elf_debug_section(const struct vg_elf_image *image, const char *name, GElf_Shdr *header);

/* The contents of that section, or debug section, and its header; decompressed.  NULL if it is
 * absent, empty or damaged. */
Elf_Data *vg_elf_section_data(const struct vg_elf_image *image, const char *name, GElf_Shdr *header);

/* The same as bytes, of which there are none then. */
struct vg_elf_bytes vg_elf_section_bytes(const struct vg_elf_image *image, const char *name);

bool vg_elf_is_big_endian(const struct vg_elf_image *image);

/* The first section of that type, or NULL. */
Elf_Scn *vg_elf_section_of_type(const struct vg_elf_image *image, unsigned type,
				GElf_Shdr *header);

/* The ELF file in .gnu_debugdata, which holds what .dynsym lacks of .symtab
 * (symbols/elf/elf_minidebug.c).  0, -ENOENT, -EBADMSG, -ENOMEM. */
int vg_elf_minidebug_open(const struct vg_elf_image *image, struct vg_elf_image *minidebug,
			  struct vg_err *err);

/* Name, architecture and ids of the module (symbols/elf/elf_identity.c). */
int vg_elf_identify(const struct vg_elf_image *image, struct vg_symbols *symbols,
		    struct vg_err *err);

/* True if it holds DWARF. */
bool vg_elf_has_dwarf(const struct vg_elf_image *image);

#endif
