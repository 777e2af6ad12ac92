/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf.h"

#include <dwarf.h>

#include "symbols/dwarf/dwarf_dwo.h"
#include "symbols/dwarf/dwarf_emit.h"
#include "symbols/dwarf/dwarf_file.h"
#include "symbols/dwarf/dwarf_language.h"
#include "symbols/dwarf/dwarf_line.h"
#include "symbols/dwarf/dwarf_name.h"
#include "symbols/dwarf/dwarf_unused_rows.h"
#include "symbols/dwarf/dwarf_package_unit.h"
#include "symbols/dwarf/dwarf_reader.h"
#include "symbols/dwarf/dwarf_walk.h"

/* Reading a byte takes about one step, and several passes read each byte. */
#define STEPS_PER_BYTE 8
#define STEPS_MIN 100000

/* Adds the steps for another file, whose sections may be compressed. */
static void work_limit_extend(struct vg_dwarf_reader *reader, Elf *other)
{
	size_t bytes = 0;

	elf_rawfile(other, &bytes);
	vg_work_limit_extend(&reader->work_limit, bytes, STEPS_PER_BYTE * 8);
}

static int unit_read(struct vg_dwarf_reader *reader, Dwarf_Die *unit, Dwarf_Die *split)
{
	Dwarf_Files *files;
	size_t count;
	int rc = vg_dwarf_read_rows(reader, unit);

	/* In a split unit, the file number of an inlined call refers to the line table of the
	 * skeleton (DWARF 5) or of the split unit (before DWARF 5).  libdw chooses the right table. */
	if (rc == 0 && split != NULL && dwarf_getsrcfiles(split, &files, &count) == 0)
		vg_dwarf_set_files(reader, files, count);
	if (rc == 0)
		rc = vg_dwarf_walk(reader, split != NULL ? split : unit);
	if (rc == 0)
		rc = vg_dwarf_emit(reader);
	if (rc == 0)
		rc = vg_dwarf_keep_unused_rows(reader);
	return rc;
}

/* Reads a skeleton and its split unit, which is in a file of its own or in the package. */
static int skeleton_read(struct vg_dwarf_reader *reader, Dwarf_Die *skeleton)
{
	struct vg_dwarf_split split;
	Dwarf_Die unit;
	int rc = vg_dwarf_dwo_find(&reader->companions->dwos, reader->debug, skeleton, &unit, &split);

	if (rc == 0)
		work_limit_extend(reader, dwarf_getelf(dwarf_cu_getdwarf(unit.cu)));
	else if (rc == -ENOENT)
		rc = vg_dwarf_package_find(&reader->companions->package, reader->debug, skeleton, &unit, &split);
	if (rc == -EBADMSG)
		reader->symbols->bad_records++;
	if (rc != 0)
		return rc == -ENOMEM ? rc : unit_read(reader, skeleton, NULL);
	reader->split = &split;
	rc = unit_read(reader, skeleton, &unit);
	reader->split = NULL;
	return rc;
}

static int units_read(struct vg_dwarf_reader *reader)
{
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Die die;
	uint8_t type;
	int rc;

	while ((rc = dwarf_get_units(reader->dwarf, unit, &next, NULL, &type, &die, NULL)) == 0) {
		unit = next;
		rc = vg_work_limit_use(&reader->work_limit, 1);
		if (rc != 0)
			return rc;
		switch (type) {
		case DW_UT_compile:
		case DW_UT_partial:
			rc = unit_read(reader, &die, NULL);
			break;
		case DW_UT_skeleton:
			rc = skeleton_read(reader, &die);
			break;
		default:
			if (die.addr == NULL)
				reader->symbols->bad_records++;
		}
		if (rc != 0)
			return rc;
	}
	if (rc < 0)
		reader->symbols->bad_records++;
	return 0;
}

/* Walks the supplementary file, to record the scopes of names.  The file has names and types but no
 * code. */
static int supplementary_units_walk(struct vg_dwarf_reader *reader)
{
	Dwarf *supplementary = dwarf_getalt(reader->dwarf);
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Die die;
	int rc = 0;

	if (supplementary != NULL)
		work_limit_extend(reader, dwarf_getelf(supplementary));
	reader->rows.count = 0;
	vg_dwarf_set_files(reader, NULL, 0);
	while (supplementary != NULL && rc == 0 &&
	       dwarf_get_units(supplementary, unit, &next, NULL, NULL, &die, NULL) == 0) {
		unit = next;
		rc = vg_work_limit_use(&reader->work_limit, 1);
		if (rc == 0 && die.addr != NULL)
			rc = vg_dwarf_walk(reader, &die);
	}
	return rc;
}

/* Removes linker symbols at the lowest address of a function.  Keeps linker symbols at the
 * function's other ranges, even at its entry point.  Breakpad's dump_syms does the same, so both
 * programs write the same file. */
static void linker_symbols_prune(struct vg_dwarf_reader *reader)
{
	struct vg_symbols *symbols = reader->symbols;
	uint32_t entry_addresses = reader->entry_addresses.count;
	size_t kept = 0;

	for (size_t i = 0; i < symbols->linker_symbols.count; i++) {
		const struct vg_linker_symbol *symbol = &symbols->linker_symbols.items[i];
		uint32_t id;

		if (vg_intern(&reader->entry_addresses, &symbol->address, sizeof symbol->address, &id) == 0 &&
		    id < entry_addresses)
			continue;
		symbols->linker_symbols.items[kept++] = *symbol;
	}
	symbols->linker_symbols.count = kept;
}

static void reader_free(struct vg_dwarf_reader *reader)
{
	vg_demangler_free(&reader->demangler);
	vg_array_free(&reader->functions);
	vg_array_free(&reader->inlines);
	vg_array_free(&reader->ranges);
	vg_array_free(&reader->rows);
	vg_array_free(&reader->directories);
	vg_array_free(&reader->file_names);
	vg_array_free(&reader->file_map);
	vg_array_free(&reader->origins);
	vg_array_free(&reader->scopes);
	vg_array_free(&reader->unused_rows);
	vg_intern_free(&reader->origin_index);
	vg_intern_free(&reader->scope_index);
	vg_intern_free(&reader->entry_addresses);
	dwarf_end(reader->dwarf);
}

int vg_dwarf_read(const struct vg_elf_image *image, const struct vg_elf_image *debug,
		  struct vg_dwarf_companions *companions, struct vg_elf_symbols *elf_symbols,
		  const struct vg_elf_image *symtab_image, struct vg_err *err)
{
	struct vg_symbols *symbols = elf_symbols->symbols;
	struct vg_dwarf_reader reader = { .symbols = symbols, .image = image, .debug = debug,
					  .companions = companions, .work_limit = { STEPS_MIN } };
	int rc;

	if (!vg_elf_has_dwarf(debug))
		return -ENODATA;
	vg_work_limit_extend(&reader.work_limit, debug->data_bytes, STEPS_PER_BYTE);
	reader.dwarf = dwarf_begin_elf(debug->elf, DWARF_C_READ, NULL);
	if (reader.dwarf == NULL)
		return vg_err_set(err, -EBADMSG, "%s: debug information: %s", debug->path,
				  dwarf_errmsg(-1));
	vg_dwarf_companions_attach(companions, reader.dwarf);
	if (companions->package.image.elf != NULL)
		work_limit_extend(&reader, companions->package.image.elf);
	reader.sections.line = vg_elf_section_bytes(debug, ".debug_line");
	reader.sections.line_str = vg_elf_section_bytes(debug, ".debug_line_str");
	reader.sections.str = vg_elf_section_bytes(debug, ".debug_str");
	rc = vg_dwarf_first_language(&reader);
	if (rc == 0)
		rc = units_read(&reader);
	if (rc == 0)
		rc = supplementary_units_walk(&reader);
	/* The work limit was reached, for instance because the file refers to itself in a circle.
	 * What was read before is valid. */
	if (rc == -ENOBUFS) {
		symbols->bad_records++;
		rc = 0;
	}
	if (rc == 0)
		rc = vg_dwarf_resolve_names(&reader);
	if (rc == 0 && symtab_image != NULL && reader.unused_rows.count > 0)
		rc = vg_elf_symbols_read_labels(elf_symbols, symtab_image);
	if (rc == 0)
		rc = vg_dwarf_add_row_functions(&reader);
	if (rc == 0)
		rc = vg_symbols_mark_multiple(symbols);
	if (rc == 0)
		linker_symbols_prune(&reader);
	else
		vg_err_sys(err, rc, "%s", debug->path);
	reader_free(&reader);
	return rc;
}
