/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf_image.h"

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

/* NULL: damaged; *rc is -ENOMEM if it is for that. */
static void *section_expand(const struct vg_elf_image *image, const Elf_Data *raw, uint64_t bytes,
			    int *rc)
{
	size_t skip = header_bytes(image), got;
	void *plain;

	if (skip == 0 || raw->d_size <= skip || bytes == 0)
		return NULL;
	plain = malloc(bytes);
	if (plain == NULL) {
		*rc = -ENOMEM;
		return NULL;
	}
	got = ZSTD_decompress(plain, bytes, (const char *)raw->d_buf + skip, raw->d_size - skip);
	if (ZSTD_isError(got) || got != bytes) {
		free(plain);
		return NULL;
	}
	return plain;
}

/* Hands the section's new contents to libelf: later callers of elf_getdata() get this very
 * Elf_Data, and a header without the flag. */
static int section_replace(struct vg_elf_image *image, Elf_Scn *section, GElf_Shdr *header,
			   const GElf_Chdr *compressed)
{
	Elf_Data *data = elf_getdata(section, NULL);
	void *plain;
	int rc = 0;

	if (data == NULL || data->d_buf == NULL || vg_array_reserve(&image->expanded, 1) != 0)
		return data == NULL || data->d_buf == NULL ? 0 : -ENOMEM;
	plain = section_expand(image, data, compressed->ch_size, &rc);
	if (plain == NULL)
		return rc;
	image->expanded.items[image->expanded.count++] = plain;
	data->d_buf = plain;
	data->d_size = compressed->ch_size;
	data->d_type = ELF_T_BYTE;
	data->d_align = compressed->ch_addralign;
	header->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	header->sh_size = compressed->ch_size;
	header->sh_addralign = compressed->ch_addralign;
	gelf_update_shdr(section, header);
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
		    compressed.ch_type != ELFCOMPRESS_ZSTD)
			continue;
		name = elf_strptr(image->elf, names, header.sh_name);
		if (name == NULL || strncmp(name, ".debug_", 7) != 0 ||
		    compressed.ch_size > left)
			continue;
		left -= compressed.ch_size;
		rc = section_replace(image, section, &header, &compressed);
		if (rc != 0)
			return rc;
	}
	return 0;
}
