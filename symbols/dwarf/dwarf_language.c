/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_language.h"

#include <dwarf.h>

/* DWARF 6 numbers, which not every dwarf.h has. */
enum { LANG_FORTRAN18 = 0x2d, LANG_ADA2005 = 0x2e, LANG_ADA2012 = 0x2f };

/* C++, Rust and all others: a function's linkage name has its scope, and is demangled. */
static const struct vg_dwarf_language usual = { .separator = "::" };

/*
 * libiberty could demangle D, but takes time that doubles with every four characters of a bad name, and
 * cannot be stopped.  The tree has the same scopes.
 */
static const struct vg_dwarf_language d = {
	.separator = ".", .from_tree = true, .within_functions = true,
};
static const struct vg_dwarf_language fortran = {
	.separator = "::", .from_tree = true, .within_functions = true,
};
/* DW_AT_name itself is whole, and encoded: `shapes__fill`. */
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

/* NULL where the unit names no language: dwz's partial units do not. */
static const struct vg_dwarf_language *of_unit(Dwarf_Die *unit)
{
	int number = dwarf_srclang(unit);

	if (number < 0)
		return NULL;
	for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
		if (languages[i].number == number)
			return languages[i].language;
	}
	return &usual;
}

void vg_dwarf_set_language(struct vg_dwarf_reader *reader, Dwarf_Die *unit)
{
	const struct vg_dwarf_language *language = of_unit(unit);

	if (language != NULL)
		reader->language = language;
}

/* Partial units stand before those that import them. */
int vg_dwarf_first_language(struct vg_dwarf_reader *reader)
{
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Die die;
	int rc = 0;

	reader->language = NULL;
	while (rc == 0 && reader->language == NULL &&
	       dwarf_get_units(reader->dwarf, unit, &next, NULL, NULL, &die, NULL) == 0) {
		unit = next;
		rc = vg_budget_spend(&reader->budget, 1);
		if (die.addr != NULL)
			vg_dwarf_set_language(reader, &die);
	}
	if (reader->language == NULL)
		reader->language = &usual;
	return rc;
}

const struct vg_dwarf_language *vg_dwarf_language(const struct vg_dwarf_reader *reader,
						  const Dwarf_Die *die)
{
	const struct vg_dwarf_language *language = NULL;
	Dwarf_Die unit;

	if (dwarf_cu_die(die->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) != NULL)
		language = of_unit(&unit);
	return language != NULL ? language : reader->language;
}
