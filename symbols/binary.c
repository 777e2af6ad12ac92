/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/binary.h"

#include <stdio.h>

#include "symbols/cfi.h"
#include "symbols/elf_image.h"

static int source_describe(struct vg_symbols *symbols, bool has_dwarf, const char *dwarf_path,
			   const char *section)
{
	int length;

	if (has_dwarf && dwarf_path != NULL)
		length = asprintf(&symbols->source, "DWARF in %s", dwarf_path);
	else
		length = asprintf(&symbols->source, "%s",
				  has_dwarf ? "DWARF" : section != NULL ? section : "none");
	if (length >= 0)
		return 0;
	symbols->source = NULL;
	return -ENOMEM;
}

/* .symtab may have been moved to the separate file with the rest. */
static int symtabs_read(const struct vg_elf_image *image, const struct vg_elf_image *separate,
			struct vg_symbols *symbols, const char **section)
{
	int rc = 0;

	*section = NULL;
	if (separate->elf != NULL) {
		rc = vg_elf_read_symtab(separate, symbols, section);
		if (rc == 0 && symbols->publics.count > 0)
			return 0;
	}
	return rc == 0 ? vg_elf_read_symtab(image, symbols, section) : rc;
}

static int sources_read(const struct vg_elf_image *image, struct vg_symbols *symbols,
			struct vg_err *err)
{
	struct vg_elf_image separate = VG_ELF_IMAGE_CLOSED;
	const struct vg_elf_image *debug = image;
	const char *section;
	GElf_Shdr header;
	bool has_dwarf;
	int rc = 0;

	if (vg_elf_section(image, ".debug_info", &header) == NULL &&
	    vg_elf_section(image, ".zdebug_info", &header) == NULL) {
		rc = vg_elf_separate_open(image, &separate);
		if (rc == 0)
			debug = &separate;
	}
	if (rc == -ENOMEM)
		goto out;
	rc = symtabs_read(image, &separate, symbols, &section);
	if (rc != 0)
		goto out;
	rc = vg_dwarf_read(image, debug, symbols, err);
	has_dwarf = rc == 0 && symbols->functions.count > 0;
	/* Damaged debug information does not take the linker's symbols with it. */
	if (rc == -EBADMSG && symbols->publics.count > 0)
		symbols->bad_records++;
	else if (rc != 0 && rc != -ENODATA)
		goto out;
	rc = source_describe(symbols, has_dwarf, debug != image ? debug->path : NULL, section);
	if (rc == 0 && symbols->wants_unwinds)
		rc = vg_cfi_read(image, debug, symbols);
	if (rc == 0)
		rc = vg_symbols_finish(symbols);
out:
	if (rc == -ENOMEM)
		vg_err_sys(err, rc, "%s", image->path);
	vg_elf_image_close(&separate);
	return rc;
}

int vg_symbols_from_binary(struct vg_symbols *symbols, const char *path, struct vg_err *err)
{
	struct vg_elf_image image;
	int rc = vg_elf_image_open(&image, path, err);

	if (rc != 0)
		return rc;
	rc = vg_elf_identify(&image, symbols, err);
	if (rc == 0)
		rc = sources_read(&image, symbols, err);
	if (rc != 0)
		vg_symbols_free(symbols);
	vg_elf_image_close(&image);
	return rc;
}
