/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/binary.h"

#include <stdio.h>

#include "symbols/cfi/cfi.h"
#include "symbols/dwarf/dwarf.h"
#include "symbols/elf/elf_separate.h"

/* The files that a module's symbols come from. */
struct sources {
	struct vg_elf_image image, separate, minidebug;
	const struct vg_elf_image *debug;       /* the one with the DWARF, if any has */
	struct vg_dwarf_companions companions;
	const struct vg_elf_image *labels;      /* whose .symtab was read, or NULL */
	const char *table;                      /* the symbol tables that were read, for people */
	bool has_dwarf;
};

#define SOURCES_NONE { \
	.image = VG_ELF_IMAGE_CLOSED, .separate = VG_ELF_IMAGE_CLOSED, \
	.minidebug = VG_ELF_IMAGE_CLOSED, .companions = VG_DWARF_COMPANIONS_NONE, \
}

static int sources_open(struct sources *sources, const struct vg_symbols_search *search,
			struct vg_err *err)
{
	int rc = 0;

	sources->debug = &sources->image;
	if (!vg_elf_has_dwarf(&sources->image)) {
		rc = vg_elf_separate_open(&sources->image, search, &sources->separate);
		if (rc == -ENOENT && search != NULL && search->debuginfod)
			rc = vg_elf_debuginfod_open(&sources->image, &sources->separate, err);
		/* One with a symbol table only is better than none. */
		if (sources->separate.elf != NULL)
			sources->debug = &sources->separate;
		if (rc == -ENOENT)
			rc = 0;
	}
	if (rc == 0)
		rc = vg_elf_image_expand(&sources->image);
	if (rc == 0 && sources->separate.elf != NULL)
		rc = vg_elf_image_expand(&sources->separate);
	if (rc == 0 && vg_elf_has_dwarf(sources->debug))
		rc = vg_dwarf_companions_open(&sources->companions, &sources->image, sources->debug,
					      search);
	return rc;
}

static void sources_close(struct sources *sources)
{
	vg_dwarf_companions_close(&sources->companions);
	vg_elf_image_close(&sources->minidebug);
	vg_elf_image_close(&sources->separate);
	vg_elf_image_close(&sources->image);
}

/* .dynsym, and the part of .symtab that a distribution packs into the program. */
static int dynsym_read(struct sources *sources, struct vg_elf_publics *publics, struct vg_err *err)
{
	bool has_dynsym, has_more = false;
	int rc = vg_elf_minidebug_open(&sources->image, &sources->minidebug, err);

	if (rc == -EBADMSG)
		publics->symbols->bad_records++;
	else if (rc != 0 && rc != -ENOENT)
		return rc;
	if (rc == 0) {
		rc = vg_elf_publics_read(publics, &sources->minidebug, SHT_SYMTAB, &has_more);
		if (rc != 0)
			return rc;
		sources->labels = &sources->minidebug;
		/* What is in both tables is the same function. */
		publics->marks_multiple = false;
	}
	rc = vg_elf_publics_read(publics, &sources->image, SHT_DYNSYM, &has_dynsym);
	sources->table = has_dynsym && has_more ? ".dynsym and .gnu_debugdata" :
			 has_more ? ".gnu_debugdata" : has_dynsym ? ".dynsym" : NULL;
	return rc;
}

/* .symtab may have been moved to the separate file with the rest. */
static int publics_read(struct sources *sources, struct vg_elf_publics *publics,
			struct vg_err *err)
{
	const struct vg_elf_image *files[] = { &sources->separate, &sources->image };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		bool found = false;
		int rc = 0;

		if (files[i]->elf != NULL)
			rc = vg_elf_publics_read(publics, files[i], SHT_SYMTAB, &found);
		if (rc != 0)
			return rc;
		if (found && (publics->symbols->publics.count > 0 || files[i] == &sources->image)) {
			sources->labels = files[i];
			sources->table = ".symtab";
			return 0;
		}
	}
	return dynsym_read(sources, publics, err);
}

static int dwarf_read(struct sources *sources, struct vg_elf_publics *publics, struct vg_err *err)
{
	struct vg_symbols *symbols = publics->symbols;
	int rc = vg_dwarf_read(&sources->image, sources->debug, &sources->companions, publics,
			       sources->labels, err);

	sources->has_dwarf = rc == 0 && symbols->functions.count > 0;
	if (rc == -ENODATA)
		return 0;
	/* Damaged debug information does not take the linker's symbols with it. */
	if (rc == -EBADMSG && symbols->publics.count > 0) {
		symbols->bad_records++;
		return 0;
	}
	return rc;
}

/* Everything in order: what is read first names an address. */
static int symbols_read(struct sources *sources, struct vg_symbols *symbols, struct vg_err *err)
{
	struct vg_elf_publics publics = { .image = &sources->image, .symbols = symbols,
					  .marks_multiple = true };
	int rc = publics_read(sources, &publics, err);

	publics.marks_multiple = false;
	if (rc == 0)
		rc = dwarf_read(sources, &publics, err);
	if (rc == 0)
		rc = vg_elf_publics_read_plt(&publics);
	if (rc == 0 && sources->labels != NULL)
		rc = vg_elf_publics_read_labels(&publics, sources->labels);
	if (rc == 0)
		rc = vg_elf_publics_cut_gaps(symbols);
	if (rc == 0 && symbols->wants_unwinds)
		rc = vg_cfi_read(&sources->image, sources->debug, symbols);
	if (rc == 0)
		rc = vg_symbols_finish(symbols);
	vg_elf_publics_free(&publics);
	return rc;
}

static int source_describe(const struct sources *sources, struct vg_symbols *symbols)
{
	const char *what = sources->has_dwarf ? "DWARF" : sources->table != NULL ? sources->table : "none";
	bool is_separate = sources->has_dwarf ? sources->debug == &sources->separate :
			   sources->labels != NULL && sources->labels == &sources->separate;
	const char *shared = sources->has_dwarf ? sources->companions.shared.path : NULL;
	const char *package = sources->has_dwarf ? sources->companions.package.image.path : NULL;

	if (asprintf(&symbols->source, "%s%s%s%s%s%s%s", what, is_separate ? " in " : "",
		     is_separate ? sources->separate.path : "", shared != NULL ? " and " : "",
		     shared != NULL ? shared : "", package != NULL ? " and " : "",
		     package != NULL ? package : "") >= 0)
		return 0;
	symbols->source = NULL;
	return -ENOMEM;
}

int vg_symbols_from_binary(struct vg_symbols *symbols, const char *path,
			   const struct vg_symbols_search *search, struct vg_err *err)
{
	struct sources sources = SOURCES_NONE;
	int rc = vg_elf_image_open(&sources.image, path, err);

	if (rc != 0)
		return rc;
	rc = vg_elf_identify(&sources.image, symbols, err);
	if (rc == 0)
		rc = sources_open(&sources, search, err);
	if (rc == 0)
		rc = symbols_read(&sources, symbols, err);
	if (rc == 0)
		rc = source_describe(&sources, symbols);
	if (rc == 0)
		rc = vg_absent_copy(&symbols->absent, &sources.companions.absent);
	if (rc == -ENOMEM)
		vg_err_sys(err, rc, "%s", path);
	if (rc != 0)
		vg_symbols_free(symbols);
	sources_close(&sources);
	return rc;
}

int vg_symbols_find_absent(struct vg_absent *absent, const char *path,
			   const struct vg_symbols_search *search, struct vg_err *err)
{
	struct sources sources = SOURCES_NONE;
	int rc = vg_elf_image_open(&sources.image, path, err);

	if (rc == 0)
		rc = sources_open(&sources, search, err);
	if (rc == 0)
		rc = vg_absent_copy(absent, &sources.companions.absent);
	if (rc == -ENOMEM)
		vg_err_sys(err, rc, "%s", path);
	sources_close(&sources);
	return rc;
}
