/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_ELF_IMAGE_H
#define VG_SYMBOLS_ELF_IMAGE_H

#include <gelf.h>
#include <libelf.h>

#include "base/err.h"
#include "symbols/elf/elf_bytes.h"
#include "symbols/table/table.h"

/*
 * An open ELF file.  Opening checks that its headers and sections lie within the file.  All other
 * functions of symbols/ rely on that.  Internal to symbols/.
 *
 *     struct vg_elf_image image;
 *     if (vg_elf_image_open(&image, path, &err) == 0) {
 *             struct vg_elf_bytes line = vg_elf_section_bytes(&image, ".debug_line");
 *             ...
 *             vg_elf_image_close(&image);
 *     }
 */
struct vg_elf_image {
	int fd;                 /* owned; -1 when closed */
	Elf *elf;               /* owned */
	void *memory;           /* owned; the file's bytes, if opened from memory; or NULL */
	VG_ARRAY(void *) decompressed;  /* owned; made by vg_elf_image_decompress() */
	char *path;             /* owned */
	bool path_is_given;     /* by the user, and not by a file or a process (base/infile.h) */
	uint64_t load_base;     /* p_vaddr of the first PT_LOAD */
	uint64_t file_data_bytes; /* size of the file without holes */
	uint64_t data_bytes;    /* decompressed size of all sections together; limits the work on them */
	VG_ARRAY(struct vg_symbol_range) code;  /* ranges of code; virtual addresses; sorted */
};

#define VG_ELF_IMAGE_CLOSED { .fd = -1 }

/* Opens an executable or shared library.  Errors as in vg_symbols_from_binary(); the image is then
 * closed. */
int vg_elf_image_open(struct vg_elf_image *image, const char *path, struct vg_err *err);
void vg_elf_image_close(struct vg_elf_image *image);

/* As vg_elf_image_open(), for an open file.  Takes ownership of fd, and closes it after a failure.  `path` is the
 * file's name in errors, and the place from which .gnu_debuglink is searched. */
int vg_elf_image_open_descriptor(struct vg_elf_image *image, int fd, const char *path, struct vg_err *err);

/* As vg_elf_image_open(), for `count` bytes in memory from malloc(3).  Takes ownership of the bytes, and frees them
 * after a failure.  `path` is used in errors only. */
int vg_elf_image_open_memory(struct vg_elf_image *image, void *bytes, size_t count,
			     const char *path, struct vg_err *err);

/* As vg_elf_image_open(), for a path that comes from another file (base/infile.h).  Without messages.
 * any_type: also accepts relocatable files (ET_REL), such as dwz's files and DWARF packages. */
int vg_elf_image_open_named(struct vg_elf_image *image, const char *path);
int vg_elf_image_open_named_any_type(struct vg_elf_image *image, const char *path);

/* The path of the image's directory without symbolic links and without a slash at its end, which the caller frees.
 * NULL: *rc is -ENOMEM or -ENOENT. */
char *vg_elf_image_directory(const struct vg_elf_image *image, int *rc);

/* As vg_elf_image_open_descriptor(), but also accepts relocatable files. */
int vg_elf_image_open_descriptor_any_type(struct vg_elf_image *image, int fd, const char *path, struct vg_err *err);

/* Decompresses .debug_* sections of type zlib and zstd in place, so that libelf and libdw see plain
 * contents (elf_decompress.c).  libdw 0.188 does not know zstd, and zlib takes twice the time of
 * libdeflate.  A section that does not decompress stays as it is, and libdw treats it as missing.
 * Returns 0 or -ENOMEM. */
int vg_elf_image_decompress(struct vg_elf_image *image);

/* True if the virtual address lies in code.  False for the tombstones that linkers write for
 * dropped functions: 0, -1, -2, and small offsets from 0. */
bool vg_elf_image_has_code(const struct vg_elf_image *image, uint64_t address);

/* The section with that name and its header, or NULL.  SHT_NOBITS sections do not count. */
Elf_Scn *vg_elf_section(const struct vg_elf_image *image, const char *name, GElf_Shdr *header);

/* As vg_elf_section(), for .debug_NAME, which may also be compressed in the old GNU style as .zdebug_NAME. */
Elf_Scn *vg_elf_debug_section(const struct vg_elf_image *image, const char *name, GElf_Shdr *header);

/* The decompressed contents and the header of a section, which may also be compressed in the old GNU style.  NULL if
 * the section is missing, empty or damaged.  Borrowed from the image. */
Elf_Data *vg_elf_section_data(const struct vg_elf_image *image, const char *name, GElf_Shdr *header);

/* As vg_elf_section_data(), but returns a cursor.  The cursor is empty if vg_elf_section_data() would return NULL. */
struct vg_elf_bytes vg_elf_section_bytes(const struct vg_elf_image *image, const char *name);

bool vg_elf_is_big_endian(const struct vg_elf_image *image);

/* The first section of that type, or NULL. */
Elf_Scn *vg_elf_section_of_type(const struct vg_elf_image *image, unsigned type,
				GElf_Shdr *header);

/* Opens the ELF file inside .gnu_debugdata, which has the .symtab entries that .dynsym lacks
 * (elf_minidebug.c).  Returns 0; -ENOENT: no such section; -EBADMSG: damaged or too large; -ENOMEM. */
int vg_elf_minidebug_open(const struct vg_elf_image *image, struct vg_elf_image *minidebug,
			  struct vg_err *err);

/* Sets module name, operating system, architecture, ids and code sections of the table
 * (elf_identity.c).  Returns 0, -EBADMSG or -ENOMEM. */
int vg_elf_identify(const struct vg_elf_image *image, struct vg_symbols *symbols,
		    struct vg_err *err);

/* Writes the GNU build id to `id`; without one, an id made of Go's build id (base/build_id.h).  Returns its length, or
 * 0 if the file has neither (elf_identity.c). */
size_t vg_elf_build_id(const struct vg_elf_image *image, unsigned char id[VG_BUILD_ID_MAX_BYTES]);

/* True if the file has .debug_info, compressed or not. */
bool vg_elf_has_dwarf(const struct vg_elf_image *image);

#endif
