/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_language.h"

#include <dwarf.h>

/* Language codes that older versions of dwarf.h lack. */
enum { LANG_FORTRAN18 = 0x2d, LANG_ADA2005 = 0x2e, LANG_ADA2012 = 0x2f };

/* C, C++, Rust and all languages that are not listed below: the linkage name is demangled, and includes the scope. */
static const struct vg_dwarf_language default_language = { .separator = "::" };

/*
 * The scope of D names comes from the DIE tree.  libiberty can demangle D names, but its D demangler
 * cannot be stopped, and its time doubles with every 4 characters of a bad name.
 */
static const struct vg_dwarf_language d = {
	.separator = ".", .scope_from_tree = true, .functions_are_scopes = true,
};
static const struct vg_dwarf_language fortran = {
	.separator = "::", .scope_from_tree = true, .functions_are_scopes = true,
};
/* DW_AT_name is complete and in GNAT's encoding: `shapes__fill`. */
static const struct vg_dwarf_language ada = { .separator = ".", .is_ada = true };

static const struct {
	int number;
	const struct vg_dwarf_language *language;
} languages[] = {
	{ DW_LANG_Ada83, &ada }, { DW_LANG_Ada95, &ada }, { LANG_ADA2005, &ada },
	{ LANG_ADA2012, &ada }, { DW_LANG_D, &d }, { DW_LANG_Fortran77, &fortran },
	{ DW_LANG_Fortran90, &fortran }, { DW_LANG_Fortran95, &fortran },
	{ DW_LANG_Fortran03, &fortran }, { DW_LANG_Fortran08, &fortran },
	{ LANG_FORTRAN18, &fortran },
};

/* NULL if the unit has no language, for instance a partial unit of dwz. */
static const struct vg_dwarf_language *unit_language(Dwarf_Die *unit)
{
	int number = dwarf_srclang(unit);

	if (number < 0)
		return NULL;
	for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
		if (languages[i].number == number)
			return languages[i].language;
	}
	return &default_language;
}

void vg_dwarf_set_language(struct vg_dwarf_reader *reader, Dwarf_Die *unit)
{
	const struct vg_dwarf_language *language = unit_language(unit);

	if (language != NULL)
		reader->language = language;
}

/* Partial units have no language, and come before the units that import them.  So they get the
 * language of the first unit that has one. */
int vg_dwarf_first_language(struct vg_dwarf_reader *reader)
{
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Die die;
	int rc = 0;

	reader->language = NULL;
	while (rc == 0 && reader->language == NULL &&
	       dwarf_get_units(reader->dwarf, unit, &next, NULL, NULL, &die, NULL) == 0) {
		unit = next;
		rc = vg_work_limit_use(&reader->work_limit, 1);
		if (die.addr != NULL)
			vg_dwarf_set_language(reader, &die);
	}
	if (reader->language == NULL)
		reader->language = &default_language;
	return rc;
}

const struct vg_dwarf_language *vg_dwarf_language(const struct vg_dwarf_reader *reader,
						  const Dwarf_Die *die)
{
	const struct vg_dwarf_language *language = NULL;
	Dwarf_Die unit;

	if (dwarf_cu_die(die->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) != NULL)
		language = unit_language(&unit);
	return language != NULL ? language : reader->language;
}
