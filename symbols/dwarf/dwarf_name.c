/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_name.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "symbols/dwarf/dwarf_language.h"

#define REFERENCES_MAX 16
#define OCCURRENCES_MAX 16
#define NAME_MAX_CHARS 65536

int vg_dwarf_origin(struct vg_dwarf_reader *reader, Dwarf_Die *die, uint32_t *origin)
{
	struct vg_dwarf_origin entry = { *die, VG_SYMBOLS_NONE, VG_SYMBOLS_NONE };
	uintptr_t key = (uintptr_t)die->addr;
	int rc = vg_array_reserve(&reader->origins, 1);

	if (rc != 0)
		return rc;
	rc = vg_intern(&reader->origin_index, &key, sizeof key, origin);
	if (rc == 1)
		reader->origins.items[reader->origins.count++] = entry;
	return rc < 0 ? rc : 0;
}

int vg_dwarf_record_scope(struct vg_dwarf_reader *reader, const Dwarf_Die *die, uint32_t scope)
{
	uintptr_t key = (uintptr_t)die->addr;
	uint32_t index;
	int rc = vg_array_reserve(&reader->scopes, 1);

	if (rc != 0)
		return rc;
	rc = vg_intern(&reader->scope_index, &key, sizeof key, &index);
	if (rc == 1)
		reader->scopes.items[reader->scopes.count++] = scope;
	return rc < 0 ? rc : 0;
}

/* Sets *scope to the scope that the walk recorded for the DIE, or to VG_SYMBOLS_NONE.  vg_intern() adds
 * a DIE that it does not know, so `scopes` must get an element for that DIE too. */
static int scope_of(struct vg_dwarf_reader *reader, const Dwarf_Die *die, uint32_t *scope)
{
	uintptr_t key = (uintptr_t)die->addr;
	uint32_t index;
	int rc = vg_array_reserve(&reader->scopes, 1);

	if (rc != 0)
		return rc;
	rc = vg_intern(&reader->scope_index, &key, sizeof key, &index);
	if (rc < 0)
		return rc;
	if (rc == 1)
		reader->scopes.items[reader->scopes.count++] = VG_SYMBOLS_NONE;
	*scope = reader->scopes.items[index];
	return 0;
}

const char *vg_dwarf_string(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr(die, name, &attribute) == NULL)
		return NULL;
	return dwarf_formstring(&attribute);
}

static const char *linkage_name(Dwarf_Die *die)
{
	const char *name = vg_dwarf_string(die, DW_AT_linkage_name);

	return name != NULL ? name : vg_dwarf_string(die, DW_AT_MIPS_linkage_name);
}

bool vg_dwarf_has_linkage_name(const struct vg_dwarf_reader *reader, Dwarf_Die *die)
{
	const char *name = linkage_name(die);

	return name != NULL && (!reader->language->scope_from_tree || vg_is_mangled(name));
}

/* Replaces a DIE by the DIE that it refers to: its declaration or its abstract instance. */
static bool reference_follow(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die next;

	if (dwarf_attr(die, DW_AT_specification, &attribute) == NULL &&
	    dwarf_attr(die, DW_AT_abstract_origin, &attribute) == NULL)
		return false;
	if (dwarf_formref_die(&attribute, &next) == NULL)
		return false;
	*die = next;
	return true;
}

static int qualified_name(struct vg_dwarf_reader *reader, uint32_t scope, const char *own,
			  uint32_t *name)
{
	const char *outer;
	char *joined;
	int rc;

	if (scope == VG_SYMBOLS_NONE)
		return vg_intern_string(&reader->symbols->strings, own, name);
	outer = vg_intern_text(&reader->symbols->strings, scope);
	if (asprintf(&joined, "%.*s%.*s", NAME_MAX_CHARS, outer, NAME_MAX_CHARS, own) < 0)
		return -ENOMEM;
	rc = vg_intern_string(&reader->symbols->strings, joined, name);
	free(joined);
	return rc;
}

/* Makes a name from DW_AT_name and the scope. */
static int scoped_name(struct vg_dwarf_reader *reader, Dwarf_Die *die, const char *own, uint32_t scope,
		       uint32_t *name, uint32_t *die_name)
{
	const struct vg_dwarf_language *language = vg_dwarf_language(reader, die);
	int rc = 0;

	if (language->scope_from_tree || language->is_ada)
		rc = vg_intern_string(&reader->symbols->strings, own, die_name);
	if (rc < 0)
		return rc;
	if (language->is_ada)
		own = vg_demangle_ada(&reader->demangler, own);
	return qualified_name(reader, scope, own, name);
}

static int name_find(struct vg_dwarf_reader *reader, Dwarf_Die *from, uint32_t *name, uint32_t *die_name)
{
	const char *own = NULL, *undemangled = NULL;
	uint32_t scope = VG_SYMBOLS_NONE;
	Dwarf_Die die = *from;
	int rc = 0;

	for (int hops = 0; hops < REFERENCES_MAX; hops++) {
		const char *linkage = linkage_name(&die);
		uint32_t found;

		if (linkage != NULL && *linkage != '\0') {
			const char *source = vg_demangle(&reader->demangler, linkage);

			if (source != linkage) {
				rc = vg_intern_string(&reader->symbols->strings, source, name);
				return rc < 0 ? rc : 0;
			}
			if (undemangled == NULL)
				undemangled = linkage;
		}
		if (own == NULL)
			own = vg_dwarf_string(&die, DW_AT_name);
		rc = scope_of(reader, &die, &found);
		if (rc != 0)
			return rc;
		if (found != VG_SYMBOLS_NONE)
			scope = found;
		if (!reference_follow(&die))
			break;
	}
	/* In Crystal, the linkage name is the complete name in plain text,
	 * `*Ring(Int32)#push<Int32>:Nil`, and DW_AT_name is only `push`.  Crystal's units claim to be
	 * C or C++. */
	if (undemangled != NULL && undemangled[0] == '*')
		own = NULL;
	if (own != NULL && *own != '\0')
		rc = scoped_name(reader, from, own, scope, name, die_name);
	else
		rc = vg_intern_string(&reader->symbols->strings,
				      undemangled != NULL ? undemangled : "<name omitted>", name);
	return rc < 0 ? rc : 0;
}

int vg_dwarf_name(struct vg_dwarf_reader *reader, Dwarf_Die *die, uint32_t *name)
{
	uint32_t die_name;

	return name_find(reader, die, name, &die_name);
}

/*
 * With line tables only (-g1), a function's DW_AT_name is `push`, without scope and linkage name.
 * If the linker symbol at the function's address is a qualified form of that name, such as
 * `Ring<int>::push(int const&)`, the linker symbol is the better name.
 */
static bool is_qualified_form(const char *linker_name, const char *own)
{
	/* Compare up to the template arguments: compilers and demanglers write them differently. */
	size_t length = strncmp(own, "operator", 8) == 0 ? strlen(own) : strcspn(own, "<");
	const char *at = length > 0 ? memmem(linker_name, strlen(linker_name), own, length) : NULL;

	for (int tries = 0; tries < OCCURRENCES_MAX && at != NULL; tries++) {
		char after = at[length];

		if (at - linker_name >= 2 && at[-1] == ':' && at[-2] == ':' &&
		    (after == '[' || after == (own[length] != '\0' ? '<' : '(')))
			return true;
		at = memmem(at + 1, strlen(at + 1), own, length);
	}
	return false;
}

/* Requires sorted linker symbols, at most one at each address. */
static struct vg_linker_symbol *linker_symbol_at(const struct vg_symbols *symbols, uint64_t address)
{
	struct vg_linker_symbol *linker_symbols = symbols->linker_symbols.items;
	size_t count = vg_count_at_most(linker_symbols, symbols->linker_symbols.count, address, address);

	return count > 0 && linker_symbols[count - 1].address == address ? &linker_symbols[count - 1] : NULL;
}

static void linker_name_use(const struct vg_symbols *symbols, struct vg_symbol_function *function)
{
	const struct vg_linker_symbol *found = linker_symbol_at(symbols, function->address);

	if (found != NULL && found->name != function->name &&
	    is_qualified_form(vg_intern_text(&symbols->strings, found->name),
			      vg_intern_text(&symbols->strings, function->name)))
		function->name = found->name;
}

/* A linker symbol that contains DW_AT_name, such as `__shapes_MOD_fill` for shapes::fill, is not a second
 * name.  Give the linker symbol the function's name, so that the function is not marked is_multiple. */
static void linker_name_merge(const struct vg_symbols *symbols, uint32_t die_name,
			      const struct vg_symbol_function *function)
{
	struct vg_linker_symbol *found = linker_symbol_at(symbols, function->address);

	if (found != NULL && strstr(vg_intern_text(&symbols->strings, found->name),
				    vg_intern_text(&symbols->strings, die_name)) != NULL)
		found->name = function->name;
}

static int origin_name(struct vg_dwarf_reader *reader, uint32_t *name)
{
	struct vg_dwarf_origin *origin = &reader->origins.items[*name];
	int rc = 0;

	if (origin->name == VG_SYMBOLS_NONE)
		rc = name_find(reader, &origin->die, &origin->name, &origin->die_name);
	*name = origin->name;
	return rc;
}

int vg_dwarf_resolve_names(struct vg_dwarf_reader *reader)
{
	struct vg_symbols *symbols = reader->symbols;
	int rc = 0;

	vg_sort_by(symbols->linker_symbols.items, symbols->linker_symbols.count, address);
	for (size_t i = 0; i < symbols->functions.count && rc == 0; i++) {
		struct vg_symbol_function *function = &symbols->functions.items[i];
		uint32_t origin = function->name, die_name;

		rc = origin_name(reader, &function->name);
		die_name = reader->origins.items[origin].die_name;
		if (rc == 0 && die_name != VG_SYMBOLS_NONE)
			linker_name_merge(symbols, die_name, function);
		else if (rc == 0)
			linker_name_use(symbols, function);
	}
	for (size_t i = 0; i < symbols->inlines.count && rc == 0; i++)
		rc = origin_name(reader, &symbols->inlines.items[i].name);
	return rc;
}
