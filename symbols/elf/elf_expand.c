/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_image.h"

#include <libdeflate.h>
#include <zstd.h>

/* elf.h of glibc before 2.36 lacks it; the value is the gABI's. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* All that one file's sections may expand to, of its size: they may lie one upon another, so that
 * the ratio of each, which was checked when it was opened, bounds nothing. */
#define EXPANDED_MAX_RATIO 100

static size_t header_bytes(const struct vg_elf_image *image)
{
	return gelf_fsize(image->elf, ELF_T_CHDR, 1, EV_CURRENT);
}

static bool bytes_expand(unsigned type, const void *from, size_t from_bytes, void *to, size_t to_bytes)
{
	struct libdeflate_decompressor *inflater;
	enum libdeflate_result result;
	size_t got;

	if (type == ELFCOMPRESS_ZSTD) {
		got = ZSTD_decompress(to, to_bytes, from, from_bytes);
		return !ZSTD_isError(got) && got == to_bytes;
	}
	inflater = libdeflate_alloc_decompressor();
	if (inflater == NULL)
		return false;
	result = libdeflate_zlib_decompress(inflater, from, from_bytes, to, to_bytes, NULL);
	libdeflate_free_decompressor(inflater);
	return result == LIBDEFLATE_SUCCESS;
}

/* NULL: damaged; *rc is -ENOMEM if it is for that. */
static void *section_expand(const struct vg_elf_image *image, const Elf_Data *raw,
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
	if (!bytes_expand(compressed->ch_type, (const char *)raw->d_buf + skip, raw->d_size - skip, plain,
			  bytes)) {
		free(plain);
		return NULL;
	}
	return plain;
}

/* What nobody here asks for: libdw would expand it all the same. */
static bool is_unread(const char *name)
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

/* Hands the section's new contents to libelf: later callers of elf_getdata() get this very
 * Elf_Data, and a header without the flag. */
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

/* A section that does not expand is left to libdw, which says what is wrong with it. */
static int section_read(struct vg_elf_image *image, Elf_Scn *section, GElf_Shdr *header,
			GElf_Chdr *compressed, bool unread)
{
	Elf_Data *data = elf_getdata(section, NULL);
	void *plain;
	int rc = 0;

	if (data == NULL || data->d_buf == NULL)
		return 0;
	if (unread) {
		compressed->ch_size = 0;
		section_replace(section, header, data, data->d_buf, compressed);
		return 0;
	}
	if (vg_array_reserve(&image->expanded, 1) != 0)
		return -ENOMEM;
	plain = section_expand(image, data, compressed, &rc);
	if (plain == NULL)
		return rc;
	image->expanded.items[image->expanded.count++] = plain;
	section_replace(section, header, data, plain, compressed);
	return 0;
}

int vg_elf_image_expand(struct vg_elf_image *image)
{
	Elf_Scn *section = NULL;
	uint64_t left;
	size_t names, file_bytes;

	if (elf_getshdrstrndx(image->elf, &names) != 0 ||
	    elf_rawfile(image->elf, &file_bytes) == NULL)
		return 0;
	left = (uint64_t)file_bytes * EXPANDED_MAX_RATIO;
	while ((section = elf_nextscn(image->elf, section)) != NULL) {
		GElf_Shdr header;
		GElf_Chdr compressed;
		const char *name;
		int rc;

		if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS ||
		    !(header.sh_flags & SHF_COMPRESSED) ||
		    gelf_getchdr(section, &compressed) == NULL ||
		    (compressed.ch_type != ELFCOMPRESS_ZSTD && compressed.ch_type != ELFCOMPRESS_ZLIB))
			continue;
		name = elf_strptr(image->elf, names, header.sh_name);
		if (name == NULL || strncmp(name, ".debug_", 7) != 0)
			continue;
		if (!is_unread(name) && compressed.ch_size > left)
			continue;
		left -= is_unread(name) ? 0 : compressed.ch_size;
		rc = section_read(image, section, &header, &compressed, is_unread(name));
		if (rc != 0)
			return rc;
	}
	return 0;
}
