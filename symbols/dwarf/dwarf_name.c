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

/* The scope that the walk recorded for a DIE, or NONE.  Interning a stranger would give it a
 * number, and the array must keep step. */
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

static const char *string_attribute(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr(die, name, &attribute) == NULL)
		return NULL;
	return dwarf_formstring(&attribute);
}

static const char *linkage_name(Dwarf_Die *die)
{
	const char *name = string_attribute(die, DW_AT_linkage_name);

	return name != NULL ? name : string_attribute(die, DW_AT_MIPS_linkage_name);
}

bool vg_dwarf_has_linkage_name(const struct vg_dwarf_reader *reader, Dwarf_Die *die)
{
	const char *name = linkage_name(die);

	return name != NULL && (!reader->language->from_tree || vg_is_mangled(name));
}

/* From a concrete function to what describes it: the abstract instance, the declaration. */
static bool follow_reference(Dwarf_Die *die)
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

/* From DW_AT_name and the scope. */
static int tree_name(struct vg_dwarf_reader *reader, Dwarf_Die *die, const char *own, uint32_t scope,
		     uint32_t *name, uint32_t *plain)
{
	const struct vg_dwarf_language *language = vg_dwarf_language(reader, die);
	int rc = 0;

	if (language->from_tree || language->is_ada)
		rc = vg_intern_string(&reader->symbols->strings, own, plain);
	if (rc < 0)
		return rc;
	if (language->is_ada)
		own = vg_demangle_ada(&reader->demangler, own);
	return qualified_name(reader, scope, own, name);
}

static int name_find(struct vg_dwarf_reader *reader, Dwarf_Die *from, uint32_t *name, uint32_t *plain)
{
	const char *own = NULL, *raw = NULL;
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
			if (raw == NULL)
				raw = linkage;
		}
		if (own == NULL)
			own = string_attribute(&die, DW_AT_name);
		rc = scope_of(reader, &die, &found);
		if (rc != 0)
			return rc;
		if (found != VG_SYMBOLS_NONE)
			scope = found;
		if (!follow_reference(&die))
			break;
	}
	/* Crystal's linkage names are no code: `*Ring(Int32)#push<Int32>:Nil`, where DW_AT_name is `push`.
	 * Its units say that they are C or C++. */
	if (raw != NULL && raw[0] == '*')
		own = NULL;
	if (own != NULL && *own != '\0')
		rc = tree_name(reader, from, own, scope, name, plain);
	else
		rc = vg_intern_string(&reader->symbols->strings,
				      raw != NULL ? raw : "<name omitted>", name);
	return rc < 0 ? rc : 0;
}

int vg_dwarf_name(struct vg_dwarf_reader *reader, Dwarf_Die *die, uint32_t *name)
{
	uint32_t plain;

	return name_find(reader, die, name, &plain);
}

/*
 * Where debug information is for line tables only (-g1), a function's name there is neither
 * mangled nor within a scope: `push`.  Then the linker's at its entry says more of the same,
 * `Ring<int>::push(int const&)`.
 */
static bool says_more(const char *public, const char *own)
{
	/* Compilers and demanglers spell arguments of templates differently. */
	size_t length = strncmp(own, "operator", 8) == 0 ? strlen(own) : strcspn(own, "<");
	const char *at = length > 0 ? memmem(public, strlen(public), own, length) : NULL;

	for (int tries = 0; tries < OCCURRENCES_MAX && at != NULL; tries++) {
		char after = at[length];

		if (at - public >= 2 && at[-1] == ':' && at[-2] == ':' &&
		    (after == '[' || after == (own[length] != '\0' ? '<' : '(')))
			return true;
		at = memmem(at + 1, strlen(at + 1), own, length);
	}
	return false;
}

/* Publics are sorted, and there is one at an address. */
static struct vg_symbol_public *public_at(const struct vg_symbols *symbols, uint64_t address)
{
	struct vg_symbol_public *publics = symbols->publics.items;
	size_t count = vg_count_to(publics, symbols->publics.count, address, address);

	return count > 0 && publics[count - 1].address == address ? &publics[count - 1] : NULL;
}

static void linker_name_take(const struct vg_symbols *symbols, struct vg_symbol_function *function)
{
	const struct vg_symbol_public *found = public_at(symbols, function->address);

	if (found != NULL && found->name != function->name &&
	    says_more(vg_intern_text(&symbols->strings, found->name),
		      vg_intern_text(&symbols->strings, function->name)))
		function->name = found->name;
}

/* The linker's name of the same function is no second name: `__shapes_MOD_fill` of shapes::fill.  It
 * contains DW_AT_name. */
static void linker_name_replace(const struct vg_symbols *symbols, uint32_t plain,
				const struct vg_symbol_function *function)
{
	struct vg_symbol_public *found = public_at(symbols, function->address);

	if (found != NULL && strstr(vg_intern_text(&symbols->strings, found->name),
				    vg_intern_text(&symbols->strings, plain)) != NULL)
		found->name = function->name;
}

static int origin_name(struct vg_dwarf_reader *reader, uint32_t *name)
{
	struct vg_dwarf_origin *origin = &reader->origins.items[*name];
	int rc = 0;

	if (origin->name == VG_SYMBOLS_NONE)
		rc = name_find(reader, &origin->die, &origin->name, &origin->plain);
	*name = origin->name;
	return rc;
}

int vg_dwarf_resolve_names(struct vg_dwarf_reader *reader)
{
	struct vg_symbols *symbols = reader->symbols;
	int rc = 0;

	vg_sort_by(symbols->publics.items, symbols->publics.count, address);
	for (size_t i = 0; i < symbols->functions.count && rc == 0; i++) {
		struct vg_symbol_function *function = &symbols->functions.items[i];
		uint32_t origin = function->name, plain;

		rc = origin_name(reader, &function->name);
		plain = reader->origins.items[origin].plain;
		if (rc == 0 && plain != VG_SYMBOLS_NONE)
			linker_name_replace(symbols, plain, function);
		else if (rc == 0)
			linker_name_take(symbols, function);
	}
	for (size_t i = 0; i < symbols->inlines.count && rc == 0; i++)
		rc = origin_name(reader, &symbols->inlines.items[i].name);
	return rc;
}
