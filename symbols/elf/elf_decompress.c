/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_image.h"

#include <libdeflate.h>
#include <zstd.h>

/* elf.h has no such constant before glibc 2.36.  The value is from the ELF gABI. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* Limit for the decompressed size of all sections together, as a multiple of the file's data.
 * elf_image.c checks the ratio of each section.  But the sections of a hostile file may overlap, so
 * that many of them decompress the same bytes. */
#define DECOMPRESSED_MAX_RATIO 100

static size_t header_bytes(const struct vg_elf_image *image)
{
	return gelf_fsize(image->elf, ELF_T_CHDR, 1, EV_CURRENT);
}

static bool bytes_decompress(unsigned type, const void *from, size_t from_bytes, void *to, size_t to_bytes)
{
	struct libdeflate_decompressor *inflater;
	enum libdeflate_result result;
	size_t written_bytes;

	if (type == ELFCOMPRESS_ZSTD) {
		written_bytes = ZSTD_decompress(to, to_bytes, from, from_bytes);
		return !ZSTD_isError(written_bytes) && written_bytes == to_bytes;
	}
	inflater = libdeflate_alloc_decompressor();
	if (inflater == NULL)
		return false;
	result = libdeflate_zlib_decompress(inflater, from, from_bytes, to, to_bytes, NULL);
	libdeflate_free_decompressor(inflater);
	return result == LIBDEFLATE_SUCCESS;
}

/* Returns the contents, which the caller frees.  If the section is damaged, returns NULL.  If there is
 * no memory, sets *rc to -ENOMEM and returns NULL. */
static void *section_decompress(const struct vg_elf_image *image, const Elf_Data *raw,
				const GElf_Chdr *compressed, int *rc)
{
	size_t skip = header_bytes(image), bytes = compressed->ch_size;
	void *plain;

	if (skip == 0 || raw->d_size <= skip || bytes == 0)
		return NULL;
	plain = malloc(bytes);
	if (plain == NULL) {
		*rc = -ENOMEM;
		return NULL;
	}
	if (!bytes_decompress(compressed->ch_type, (const char *)raw->d_buf + skip, raw->d_size - skip, plain,
			      bytes)) {
		free(plain);
		return NULL;
	}
	return plain;
}

/* Sections that we never read.  They are made empty, because libdw decompresses every .debug_
 * section when it opens a file. */
static bool is_unused(const char *name)
{
	static const char *const names[] = {
		".debug_loc", ".debug_loclists", ".debug_macro", ".debug_macinfo", ".debug_aranges",
		".debug_pubnames", ".debug_pubtypes", ".debug_gnu_pubnames", ".debug_gnu_pubtypes",
		".debug_names",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* Gives the new contents to libelf.  Later calls of elf_getdata() return this Elf_Data.  The
 * section's header no longer has SHF_COMPRESSED. */
static void section_replace(Elf_Scn *section, GElf_Shdr *header, Elf_Data *data, void *plain,
			    const GElf_Chdr *compressed)
{
	data->d_buf = plain;
	data->d_size = compressed->ch_size;
	data->d_type = ELF_T_BYTE;
	data->d_align = compressed->ch_addralign;
	header->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	header->sh_size = compressed->ch_size;
	header->sh_addralign = compressed->ch_addralign;
	gelf_update_shdr(section, header);
}

/* If a section does not decompress, leaves it to libdw, which reports the error. */
static int section_update(struct vg_elf_image *image, Elf_Scn *section, GElf_Shdr *header,
			  GElf_Chdr *compressed, bool unused)
{
	Elf_Data *data = elf_getdata(section, NULL);
	void *plain;
	int rc = 0;

	if (data == NULL || data->d_buf == NULL)
		return 0;
	if (unused) {
		compressed->ch_size = 0;
		section_replace(section, header, data, data->d_buf, compressed);
		return 0;
	}
	if (vg_array_reserve(&image->decompressed, 1) != 0)
		return -ENOMEM;
	plain = section_decompress(image, data, compressed, &rc);
	if (plain == NULL)
		return rc;
	image->decompressed.items[image->decompressed.count++] = plain;
	section_replace(section, header, data, plain, compressed);
	return 0;
}

int vg_elf_image_decompress(struct vg_elf_image *image)
{
	Elf_Scn *section = NULL;
	uint64_t left;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names) != 0)
		return 0;
	left = image->file_data_bytes * DECOMPRESSED_MAX_RATIO;
	while ((section = elf_nextscn(image->elf, section)) != NULL) {
		GElf_Shdr header;
		GElf_Chdr compressed;
		const char *name;
		bool is_empty;
		int rc;

		if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS ||
		    !(header.sh_flags & SHF_COMPRESSED) ||
		    gelf_getchdr(section, &compressed) == NULL ||
		    (compressed.ch_type != ELFCOMPRESS_ZSTD && compressed.ch_type != ELFCOMPRESS_ZLIB))
			continue;
		name = elf_strptr(image->elf, names, header.sh_name);
		if (name == NULL || strncmp(name, ".debug_", 7) != 0)
			continue;
		/* Empty, and not as it is: libdw would decompress it. */
		is_empty = is_unused(name) || compressed.ch_size > left;
		left -= is_empty ? 0 : compressed.ch_size;
		rc = section_update(image, section, &header, &compressed, is_empty);
		if (rc != 0)
			return rc;
	}
	return 0;
}
