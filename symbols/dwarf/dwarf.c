/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf.h"

#include <dwarf.h>

#include "symbols/dwarf/dwarf_emit.h"
#include "symbols/dwarf/dwarf_file.h"
#include "symbols/dwarf/dwarf_language.h"
#include "symbols/dwarf/dwarf_line.h"
#include "symbols/dwarf/dwarf_name.h"
#include "symbols/dwarf/dwarf_orphan.h"
#include "symbols/dwarf/dwarf_package_unit.h"
#include "symbols/dwarf/dwarf_reader.h"
#include "symbols/dwarf/dwarf_walk.h"

/* Every step of reading stands for a byte of the file or less; several passes look at it. */
#define STEPS_PER_BYTE 8
#define STEPS_FREE 100000

/* Another file brings its own steps; its sections may be compressed, a little. */
static void budget_extend(struct vg_dwarf_reader *reader, Elf *other)
{
	size_t bytes = 0;

	elf_rawfile(other, &bytes);
	vg_budget_extend(&reader->budget, bytes, STEPS_PER_BYTE * 8);
}

static int unit_read(struct vg_dwarf_reader *reader, Dwarf_Die *unit, Dwarf_Die *split)
{
	Dwarf_Files *files;
	size_t count;
	int rc = vg_dwarf_read_rows(reader, unit);

	/* A split unit numbers the files of its calls by the skeleton's line table in DWARF 5, and
	 * by its own before; libdw knows which. */
	if (rc == 0 && split != NULL) {
		if (reader->split == NULL)
			budget_extend(reader, dwarf_getelf(dwarf_cu_getdwarf(split->cu)));
		if (dwarf_getsrcfiles(split, &files, &count) == 0)
			vg_dwarf_set_files(reader, files, count);
	}
	if (rc == 0)
		rc = vg_dwarf_walk(reader, split != NULL ? split : unit);
	if (rc == 0)
		rc = vg_dwarf_emit(reader);
	if (rc == 0)
		rc = vg_dwarf_keep_orphans(reader);
	return rc;
}

/* A skeleton, and the rest of it from a .dwo file, which libdw finds, or from a package. */
static int skeleton_read(struct vg_dwarf_reader *reader, Dwarf_Die *skeleton, Dwarf_Die *found)
{
	struct vg_dwarf_split split;
	Dwarf_Die packed;
	int rc;

	if (dwarf_tag(found) != 0)
		return unit_read(reader, skeleton, found);
	rc = vg_dwarf_package_find(&reader->companions->package, reader->debug, skeleton, &packed,
				   &split);
	if (rc == -EBADMSG)
		reader->symbols->bad_records++;
	if (rc != 0)
		return rc == -ENOMEM ? rc : unit_read(reader, skeleton, NULL);
	reader->split = &split;
	rc = unit_read(reader, skeleton, &packed);
	reader->split = NULL;
	return rc;
}

static int units_read(struct vg_dwarf_reader *reader)
{
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Die die, other;
	uint8_t type;
	int rc;

	while ((rc = dwarf_get_units(reader->dwarf, unit, &next, NULL, &type, &die, &other)) == 0) {
		unit = next;
		rc = vg_budget_spend(&reader->budget, 1);
		if (rc != 0)
			return rc;
		switch (type) {
		case DW_UT_compile:
		case DW_UT_partial:
			rc = unit_read(reader, &die, NULL);
			break;
		case DW_UT_skeleton:
			rc = skeleton_read(reader, &die, &other);
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

/* What dwz moved to the file that several share is names and types; the walk is for the scopes. */
static int shared_units_walk(struct vg_dwarf_reader *reader)
{
	Dwarf *shared = dwarf_getalt(reader->dwarf);
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Die die;
	int rc = 0;

	if (shared != NULL)
		budget_extend(reader, dwarf_getelf(shared));
	reader->rows.count = 0;
	vg_dwarf_set_files(reader, NULL, 0);
	while (shared != NULL && rc == 0 &&
	       dwarf_get_units(shared, unit, &next, NULL, NULL, &die, NULL) == 0) {
		unit = next;
		rc = vg_budget_spend(&reader->budget, 1);
		if (rc == 0 && die.addr != NULL)
			rc = vg_dwarf_walk(reader, &die);
	}
	return rc;
}

/* dump_syms drops a symbol at the lowest address of a function and keeps those at its other
 * parts, even where one of those is the entry.  Equal files are worth more than the few bytes. */
static void publics_prune(struct vg_dwarf_reader *reader)
{
	struct vg_symbols *symbols = reader->symbols;
	uint32_t entries = reader->entries.count;
	size_t kept = 0;

	for (size_t i = 0; i < symbols->publics.count; i++) {
		const struct vg_symbol_public *symbol = &symbols->publics.items[i];
		uint32_t id;

		if (vg_intern(&reader->entries, &symbol->address, sizeof symbol->address, &id) == 0 &&
		    id < entries)
			continue;
		symbols->publics.items[kept++] = *symbol;
	}
	symbols->publics.count = kept;
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
	vg_array_free(&reader->orphans);
	vg_intern_free(&reader->origin_index);
	vg_intern_free(&reader->scope_index);
	vg_intern_free(&reader->entries);
	dwarf_end(reader->dwarf);
}

int vg_dwarf_read(const struct vg_elf_image *image, const struct vg_elf_image *debug,
		  struct vg_dwarf_companions *companions, struct vg_elf_publics *publics,
		  const struct vg_elf_image *labels, struct vg_err *err)
{
	struct vg_symbols *symbols = publics->symbols;
	struct vg_dwarf_reader reader = { .symbols = symbols, .image = image, .debug = debug,
					  .companions = companions, .budget = { STEPS_FREE } };
	int rc;

	if (!vg_elf_has_dwarf(debug))
		return -ENODATA;
	vg_budget_extend(&reader.budget, debug->data_bytes, STEPS_PER_BYTE);
	reader.dwarf = dwarf_begin_elf(debug->elf, DWARF_C_READ, NULL);
	if (reader.dwarf == NULL)
		return vg_err_set(err, -EBADMSG, "%s: debug information: %s", debug->path,
				  dwarf_errmsg(-1));
	vg_dwarf_companions_attach(companions, reader.dwarf);
	if (companions->package.image.elf != NULL)
		budget_extend(&reader, companions->package.image.elf);
	reader.sections.line = vg_elf_section_bytes(debug, ".debug_line");
	reader.sections.line_str = vg_elf_section_bytes(debug, ".debug_line_str");
	reader.sections.str = vg_elf_section_bytes(debug, ".debug_str");
	rc = vg_dwarf_first_language(&reader);
	if (rc == 0)
		rc = units_read(&reader);
	if (rc == 0)
		rc = shared_units_walk(&reader);
	/* Circular or absurd: what was read before it is good. */
	if (rc == -ENOBUFS) {
		symbols->bad_records++;
		rc = 0;
	}
	if (rc == 0)
		rc = vg_dwarf_resolve_names(&reader);
	if (rc == 0 && labels != NULL && reader.orphans.count > 0)
		rc = vg_elf_publics_read_labels(publics, labels);
	if (rc == 0)
		rc = vg_dwarf_adopt_orphans(&reader);
	if (rc == 0)
		rc = vg_symbols_mark_multiple(symbols);
	if (rc == 0)
		publics_prune(&reader);
	else
		vg_err_sys(err, rc, "%s", debug->path);
	reader_free(&reader);
	return rc;
}
