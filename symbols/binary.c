/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/binary.h"

#include <fcntl.h>
#include <stdio.h>

#include "symbols/cfi/cfi.h"
#include "symbols/dwarf/dwarf.h"
#include "symbols/elf/elf_separate.h"

/* The files that a module's symbols are read from. */
struct sources {
	struct vg_elf_image image, separate, minidebug;
	const struct vg_elf_image *debug;       /* the file with the DWARF; if there is no DWARF: `separate` if it is
						   open, otherwise `image` */
	struct vg_dwarf_companions companions;
	const struct vg_elf_image *symtab_image; /* the file whose .symtab was read, or NULL */
	const char *tables;                     /* names of the symbol tables that were read */
	bool has_dwarf;
};

#define SOURCES_NONE { \
	.image = VG_ELF_IMAGE_CLOSED, .separate = VG_ELF_IMAGE_CLOSED, \
	.minidebug = VG_ELF_IMAGE_CLOSED, .companions = VG_DWARF_COMPANIONS_NONE, \
}

static int sources_open(struct sources *sources, const struct vg_symbols_search *search)
{
	int rc = 0;

	sources->debug = &sources->image;
	if (!vg_elf_has_dwarf(&sources->image)) {
		rc = vg_elf_separate_open(&sources->image, search, &sources->separate);
		/* A debug file that has a symbol table but no DWARF is still better than none. */
		if (sources->separate.elf != NULL)
			sources->debug = &sources->separate;
		if (rc == -ENOENT)
			rc = 0;
	}
	if (rc == 0)
		rc = vg_elf_image_decompress(&sources->image);
	if (rc == 0 && sources->separate.elf != NULL)
		rc = vg_elf_image_decompress(&sources->separate);
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

/* Reads .dynsym and .gnu_debugdata.  When distributions strip a program, they keep in .gnu_debugdata
 * the symbols of .symtab that .dynsym lacks. */
static int dynsym_read(struct sources *sources, struct vg_elf_symbols *elf_symbols, struct vg_err *err)
{
	bool has_dynsym, has_minidebug = false;
	int rc = vg_elf_minidebug_open(&sources->image, &sources->minidebug, err);

	if (rc == -EBADMSG)
		elf_symbols->symbols->bad_records++;
	else if (rc != 0 && rc != -ENOENT)
		return rc;
	if (rc == 0) {
		rc = vg_elf_symbols_read(elf_symbols, &sources->minidebug, SHT_SYMTAB, &has_minidebug);
		if (rc != 0)
			return rc;
		sources->symtab_image = &sources->minidebug;
		/* A function that is in both tables still has one name only. */
		elf_symbols->mark_multiple = false;
	}
	rc = vg_elf_symbols_read(elf_symbols, &sources->image, SHT_DYNSYM, &has_dynsym);
	sources->tables = has_dynsym && has_minidebug ? ".dynsym and .gnu_debugdata" :
			  has_minidebug ? ".gnu_debugdata" : has_dynsym ? ".dynsym" : NULL;
	return rc;
}

/* strip(1) may have moved .symtab to the separate file together with the DWARF. */
static int symtab_read(struct sources *sources, struct vg_elf_symbols *elf_symbols,
		       struct vg_err *err)
{
	const struct vg_elf_image *files[] = { &sources->separate, &sources->image };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		bool found = false;
		int rc = 0;

		if (files[i]->elf != NULL)
			rc = vg_elf_symbols_read(elf_symbols, files[i], SHT_SYMTAB, &found);
		if (rc != 0)
			return rc;
		if (found && (elf_symbols->symbols->linker_symbols.count > 0 || files[i] == &sources->image)) {
			sources->symtab_image = files[i];
			sources->tables = ".symtab";
			return 0;
		}
	}
	return dynsym_read(sources, elf_symbols, err);
}

static int dwarf_read(struct sources *sources, struct vg_elf_symbols *elf_symbols, struct vg_err *err)
{
	struct vg_symbols *symbols = elf_symbols->symbols;
	int rc = vg_dwarf_read(&sources->image, sources->debug, &sources->companions, elf_symbols,
			       sources->symtab_image, err);

	sources->has_dwarf = rc == 0 && symbols->functions.count > 0;
	if (rc == -ENODATA)
		return 0;
	/* If the DWARF is damaged, keep the linker symbols. */
	if (rc == -EBADMSG && symbols->linker_symbols.count > 0) {
		symbols->bad_records++;
		return 0;
	}
	return rc;
}

/* The order of the calls matters: if two symbols have the same address, the one that is read first
 * stays. */
static int symbols_read(struct sources *sources, struct vg_symbols *symbols, struct vg_err *err)
{
	struct vg_elf_symbols elf_symbols = { .image = &sources->image, .symbols = symbols,
					  .mark_multiple = true };
	int rc = symtab_read(sources, &elf_symbols, err);

	elf_symbols.mark_multiple = false;
	if (rc == 0)
		rc = dwarf_read(sources, &elf_symbols, err);
	if (rc == 0)
		rc = vg_elf_symbols_read_plt(&elf_symbols);
	if (rc == 0 && sources->symtab_image != NULL)
		rc = vg_elf_symbols_read_labels(&elf_symbols, sources->symtab_image);
	if (rc == 0)
		rc = vg_elf_symbols_cut_gaps(symbols);
	if (rc == 0 && symbols->wants_cfi)
		rc = vg_cfi_read(&sources->image, sources->debug, symbols);
	if (rc == 0)
		rc = vg_symbols_finish(symbols);
	vg_elf_symbols_free(&elf_symbols);
	return rc;
}

static int source_describe(const struct sources *sources, struct vg_symbols *symbols)
{
	const char *kind = sources->has_dwarf ? "DWARF" : sources->tables != NULL ? sources->tables : "none";
	bool is_separate = sources->has_dwarf ? sources->debug == &sources->separate :
			   sources->symtab_image != NULL && sources->symtab_image == &sources->separate;
	const char *supplementary = sources->has_dwarf ? sources->companions.supplementary.path : NULL;
	const char *package = sources->has_dwarf ? sources->companions.package.image.path : NULL;

	if (asprintf(&symbols->source, "%s%s%s%s%s%s%s", kind, is_separate ? " in " : "",
		     is_separate ? sources->separate.path : "", supplementary != NULL ? " and " : "",
		     supplementary != NULL ? supplementary : "", package != NULL ? " and " : "",
		     package != NULL ? package : "") >= 0)
		return 0;
	symbols->source = NULL;
	return -ENOMEM;
}

/* True if the only names are those of .dynsym. */
static bool is_stripped(const struct sources *sources)
{
	const struct vg_elf_image *files[] = { &sources->image, &sources->separate };
	GElf_Shdr header;

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		if (files[i]->elf != NULL && vg_elf_section_of_type(files[i], SHT_SYMTAB, &header) != NULL)
			return false;
	}
	return !vg_elf_has_dwarf(sources->debug) &&
	       vg_elf_section(&sources->image, ".gnu_debugdata", &header) == NULL;
}

/* Reads the symbols of sources->image, and closes the sources. */
static int image_read(struct sources *sources, struct vg_symbols *symbols, const char *path,
		      const struct vg_symbols_search *search, struct vg_err *err)
{
	int rc = vg_elf_identify(&sources->image, symbols, err);

	if (rc == 0)
		rc = sources_open(sources, search);
	if (rc == 0)
		rc = symbols_read(sources, symbols, err);
	if (rc == 0)
		rc = source_describe(sources, symbols);
	if (rc == 0)
		rc = vg_missing_file_copy(&symbols->missing_file, &sources->companions.missing_file);
	if (rc == 0)
		symbols->missing_file.exported_only = is_stripped(sources);
	if (rc == -ENOMEM)
		vg_err_sys(err, rc, "%s", path);
	if (rc != 0)
		vg_symbols_free(symbols);
	sources_close(sources);
	return rc;
}

int vg_symbols_from_binary(struct vg_symbols *symbols, const char *path,
			   const struct vg_symbols_search *search, struct vg_err *err)
{
	struct sources sources = SOURCES_NONE;
	int rc = vg_elf_image_open(&sources.image, path, err);

	return rc == 0 ? image_read(&sources, symbols, path, search, err) : rc;
}

int vg_symbols_from_descriptor(struct vg_symbols *symbols, int fd, const char *path,
			       const struct vg_symbols_search *search, struct vg_err *err)
{
	struct sources sources = SOURCES_NONE;
	int rc = vg_elf_image_open_descriptor(&sources.image, fd, path, err);

	return rc == 0 ? image_read(&sources, symbols, path, search, err) : rc;
}

static bool section_has(Elf_Scn *section, uint64_t address)
{
	GElf_Shdr header;

	return gelf_getshdr(section, &header) != NULL && (header.sh_flags & SHF_EXECINSTR) != 0 &&
	       header.sh_type != SHT_NOBITS && address - header.sh_addr < header.sh_size;
}

int vg_binary_code_find(int fd, const char *path, const struct vg_symbol_range *range, uint64_t *load_base)
{
	struct vg_elf_image image;
	Elf_Scn *section = NULL;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), rc = copy < 0 ? -ENOENT :
		   vg_elf_image_open_descriptor(&image, copy, path, NULL);

	if (rc != 0)
		return rc == -ENOMEM ? rc : -ENOENT;
	*load_base = image.load_base;
	while ((section = elf_nextscn(image.elf, section)) != NULL) {
		if (section_has(section, image.load_base + range->address))
			break;
	}
	vg_elf_image_close(&image);
	return section != NULL ? 0 : -ENOENT;
}

int vg_symbols_find_missing_file(struct vg_missing_file *missing_file, const char *path,
				 const struct vg_symbols_search *search, struct vg_err *err)
{
	struct sources sources = SOURCES_NONE;
	int rc = vg_elf_image_open(&sources.image, path, err);

	if (rc == 0)
		rc = sources_open(&sources, search);
	if (rc == 0)
		rc = vg_missing_file_copy(missing_file, &sources.companions.missing_file);
	if (rc == 0)
		missing_file->exported_only = is_stripped(&sources);
	if (rc == -ENOMEM)
		vg_err_sys(err, rc, "%s", path);
	sources_close(&sources);
	return rc;
}
