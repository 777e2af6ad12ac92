/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_walk.h"

#include <dwarf.h>
#include <stdio.h>

#include "symbols/dwarf/dwarf_file.h"
#include "symbols/dwarf/dwarf_language.h"
#include "symbols/dwarf/dwarf_name.h"

/* Real trees nest some dozens deep; the limit keeps damaged ones off the end of the stack. */
#define DEPTH_MAX 1024

/* Where in the tree a DIE stands. */
struct place {
	struct place *outer;    /* NULL at the unit */
	Dwarf_Die *die;         /* the namespace, type or function this is the inside of */
	uint32_t scope;         /* its qualified name with the separator, once somebody asked, or NONE */
	uint32_t function;      /* index in the unit's functions, or NONE */
	uint32_t parent;        /* the inline around, or NONE */
	uint32_t depth;         /* of the next inline */
	unsigned levels;        /* of the tree so far */
	bool is_scope;          /* a namespace or type: qualifies names */
};

static int children_walk(struct vg_dwarf_reader *reader, Dwarf_Die *parent, struct place *place);

/* outer may be NONE: nothing is around. */
static int scope_join(struct vg_dwarf_reader *reader, uint32_t outer, const char *own, uint32_t *scope)
{
	const char *separator = reader->language->separator;
	char *joined;
	int rc;

	if (outer == VG_SYMBOLS_NONE)
		rc = asprintf(&joined, "%s%s", own, separator);
	else
		rc = asprintf(&joined, "%.4096s%.4096s%s",
			      vg_intern_text(&reader->symbols->strings, outer), own, separator);
	if (rc < 0)
		return -ENOMEM;
	rc = vg_intern_string(&reader->symbols->strings, joined, scope);
	free(joined);
	return rc < 0 ? rc : 0;
}

static int place_scope(struct vg_dwarf_reader *reader, struct place *place, uint32_t *scope)
{
	const char *own;
	uint32_t name;
	int rc = 0;

	/* A function is part of the names of the types within, not of those it merely surrounds. */
	*scope = VG_SYMBOLS_NONE;
	if (place == NULL || place->die == NULL)
		return 0;
	if (place->scope != VG_SYMBOLS_NONE) {
		*scope = place->scope;
		return 0;
	}
	if (!place->is_scope) {
		rc = vg_dwarf_name(reader, place->die, &name);
		if (rc == 0)
			rc = scope_join(reader, VG_SYMBOLS_NONE,
					vg_intern_text(&reader->symbols->strings, name), &place->scope);
		*scope = place->scope;
		return rc;
	}
	rc = place_scope(reader, place->outer, scope);
	if (rc != 0)
		return rc;
	own = dwarf_diename(place->die);
	if (own == NULL || *own == '\0') {
		/* A lambda's class has no name; where it stands says enough. */
		if (dwarf_tag(place->die) != DW_TAG_namespace)
			return 0;
		own = "(anonymous namespace)";
	}
	rc = scope_join(reader, *scope, own, &place->scope);
	*scope = place->scope;
	return rc;
}

/* Names without a linkage name need what they are nested in, which only the walk knows. */
static int scope_record(struct vg_dwarf_reader *reader, Dwarf_Die *die, struct place *place)
{
	uint32_t scope;
	int rc;

	if ((!place->is_scope && !reader->language->within_functions) ||
	    !dwarf_hasattr(die, DW_AT_name) || vg_dwarf_has_linkage_name(reader, die))
		return 0;
	rc = place_scope(reader, place, &scope);
	if (rc == 0 && scope != VG_SYMBOLS_NONE)
		rc = vg_dwarf_record_scope(reader, die, scope);
	return rc;
}

/* Of dropped code nothing is kept. */
static int range_add(void *context, uint64_t low, uint64_t high)
{
	struct vg_dwarf_reader *reader = context;
	struct vg_symbol_range range = { low, high - low };
	int rc = vg_budget_spend(&reader->budget, 1);

	if (rc != 0 || low >= high || low < reader->image->load_base ||
	    !vg_elf_image_has_code(reader->image, low))
		return rc;
	return vg_array_push(&reader->ranges, &range);
}

/* Appends a DIE's ranges.  *count is what it appended. */
static int ranges_read(struct vg_dwarf_reader *reader, Dwarf_Die *die, uint32_t *count)
{
	size_t before = reader->ranges.count;
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;
	int rc = 0;

	*count = 0;
	if (!dwarf_hasattr(die, DW_AT_ranges) && !dwarf_hasattr(die, DW_AT_high_pc))
		return 0;
	if (reader->split != NULL)
		rc = vg_dwarf_split_ranges(reader->split, die, range_add, reader);
	else
		while (rc == 0 && (offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0)
			rc = range_add(reader, low, high);
	if (rc == -EBADMSG || (rc == 0 && offset < 0)) {
		reader->symbols->bad_records++;
		rc = 0;
	}
	if (rc != 0)
		return rc;
	*count = (uint32_t)(reader->ranges.count - before);
	return reader->ranges.count < VG_SYMBOLS_NONE ? 0 : -ENOBUFS;
}

static int function_walk(struct vg_dwarf_reader *reader, Dwarf_Die *die, struct place *place)
{
	struct place inside = {
		.outer = place, .die = die, .scope = VG_SYMBOLS_NONE, .function = VG_SYMBOLS_NONE,
		.parent = VG_SYMBOLS_NONE, .levels = place->levels + 1,
	};
	struct vg_dwarf_function function = {
		.first_range = (uint32_t)reader->ranges.count,
		.first_inline = VG_SYMBOLS_NONE, .last_inline = VG_SYMBOLS_NONE,
	};
	int rc = scope_record(reader, die, place);

	if (rc == 0)
		rc = ranges_read(reader, die, &function.range_count);
	if (rc == 0 && function.range_count > 0) {
		rc = vg_dwarf_origin(reader, die, &function.origin);
		if (rc == 0)
			rc = vg_array_push(&reader->functions, &function);
		inside.function = (uint32_t)reader->functions.count - 1;
	}
	return rc == 0 ? children_walk(reader, die, &inside) : rc;
}

static void unsigned_attribute(Dwarf_Die *die, unsigned name, uint64_t none, uint64_t *value)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	*value = none;
	if (dwarf_attr(die, name, &attribute) != NULL && dwarf_formudata(&attribute, &word) == 0)
		*value = word;
}

static int inline_describe(struct vg_dwarf_reader *reader, Dwarf_Die *die,
			   struct vg_dwarf_inline *call)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin = *die;
	uint64_t file, line;
	int rc;

	unsigned_attribute(die, DW_AT_call_line, 0, &line);
	unsigned_attribute(die, DW_AT_call_file, UINT64_MAX, &file);
	call->call_line = line > UINT32_MAX ? 0 : (uint32_t)line;
	rc = vg_dwarf_file(reader, file, &call->call_file);
	if (rc != 0)
		return rc;
	if (dwarf_attr(die, DW_AT_abstract_origin, &attribute) != NULL &&
	    dwarf_formref_die(&attribute, &origin) == NULL)
		origin = *die;
	return vg_dwarf_origin(reader, &origin, &call->origin);
}

static void inline_link(struct vg_dwarf_reader *reader, struct vg_dwarf_function *function,
			uint32_t index)
{
	if (function->last_inline == VG_SYMBOLS_NONE)
		function->first_inline = index;
	else
		reader->inlines.items[function->last_inline].next = index;
	function->last_inline = index;
}

static int inline_walk(struct vg_dwarf_reader *reader, Dwarf_Die *die, struct place *place)
{
	struct place inside = *place;
	struct vg_dwarf_inline call = {
		.next = VG_SYMBOLS_NONE, .parent = place->parent, .depth = place->depth,
		.first_range = (uint32_t)reader->ranges.count,
	};
	int rc;

	inside.levels++;
	if (place->function == VG_SYMBOLS_NONE)
		return children_walk(reader, die, &inside);
	rc = ranges_read(reader, die, &call.range_count);
	if (rc == 0)
		rc = inline_describe(reader, die, &call);
	if (rc == 0)
		rc = vg_array_push(&reader->inlines, &call);
	if (rc == 0 && reader->inlines.count >= VG_SYMBOLS_NONE)
		rc = -ENOBUFS;
	if (rc != 0)
		return rc;
	inside.parent = (uint32_t)reader->inlines.count - 1;
	inside.depth++;
	inline_link(reader, &reader->functions.items[place->function], inside.parent);
	return children_walk(reader, die, &inside);
}

static int die_walk(struct vg_dwarf_reader *reader, Dwarf_Die *die, struct place *place)
{
	struct place inside = *place;

	inside.levels++;
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		return function_walk(reader, die, place);
	case DW_TAG_inlined_subroutine:
		return inline_walk(reader, die, place);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return children_walk(reader, die, &inside);
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		inside.outer = place;
		inside.die = die;
		inside.scope = VG_SYMBOLS_NONE;
		inside.is_scope = true;
		return children_walk(reader, die, &inside);
	}
	return 0;
}

static int children_walk(struct vg_dwarf_reader *reader, Dwarf_Die *parent, struct place *place)
{
	Dwarf_Die die;
	int more, rc;

	if (!dwarf_haschildren(parent))
		return 0;
	if (place->levels > DEPTH_MAX) {
		reader->symbols->bad_records++;
		return 0;
	}
	for (more = dwarf_child(parent, &die); more == 0; more = dwarf_siblingof(&die, &die)) {
		rc = vg_budget_spend(&reader->budget, 1);
		if (rc == 0)
			rc = die_walk(reader, &die, place);
		if (rc != 0)
			return rc;
	}
	if (more < 0)
		reader->symbols->bad_records++;
	return 0;
}

int vg_dwarf_walk(struct vg_dwarf_reader *reader, Dwarf_Die *unit)
{
	struct place place = {
		.scope = VG_SYMBOLS_NONE, .function = VG_SYMBOLS_NONE, .parent = VG_SYMBOLS_NONE,
	};

	vg_dwarf_set_language(reader, unit);
	reader->functions.count = 0;
	reader->inlines.count = 0;
	reader->ranges.count = 0;
	return children_walk(reader, unit, &place);
}
