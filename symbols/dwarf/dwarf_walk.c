/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_walk.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>

#include "symbols/dwarf/dwarf_file.h"
#include "symbols/dwarf/dwarf_language.h"
#include "symbols/dwarf/dwarf_name.h"

/* Limit for the recursion on damaged files.  Real trees are some dozens of levels deep. */
#define DEPTH_MAX 1024

/* dwarf_siblingof(3) skips a DIE in a tenth of the time that the walk takes. */
#define SKIPS_PER_STEP 8

/* The position of a DIE in the tree.  NONE is VG_SYMBOLS_NONE. */
struct position {
	struct position *outer; /* NULL at the unit */
	Dwarf_Die *die;         /* the namespace, type or function that contains the DIE; NULL at the unit */
	uint32_t scope;         /* string id of the qualified name of `die` and the separator; NONE: not made yet */
	uint32_t function;      /* index in the unit's functions, or NONE */
	uint32_t parent;        /* the inlined call that contains the DIE: index in inlines; or NONE */
	uint32_t depth;         /* depth of the next inlined call */
	unsigned tree_depth;    /* levels of the tree from the unit to here */
	bool is_scope;          /* `die` is a namespace or type, which qualifies names */
	bool is_counted;        /* nothing is read here: the DIEs are only counted */
};

static int children_walk(struct vg_dwarf_reader *reader, Dwarf_Die *parent, struct position *position);

/* Without DW_AT_sibling, dwarf_siblingof(3) reads all DIEs below the DIE to find the end of them.  Clang never writes
 * the attribute. */
static bool skip_is_long(Dwarf_Die *die)
{
	return dwarf_haschildren(die) && !dwarf_hasattr(die, DW_AT_sibling);
}

/* Joins a scope and a name.  `outer` may be VG_SYMBOLS_NONE. */
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

static int position_scope(struct vg_dwarf_reader *reader, struct position *position, uint32_t *scope)
{
	const char *own;
	uint32_t name;
	int rc = 0;

	*scope = VG_SYMBOLS_NONE;
	if (position == NULL || position->die == NULL)
		return 0;
	if (position->scope != VG_SYMBOLS_NONE) {
		*scope = position->scope;
		return 0;
	}
	/* A function qualifies the types in it.  Its name includes its own scope already. */
	if (!position->is_scope) {
		rc = vg_dwarf_name(reader, position->die, &name);
		if (rc == 0)
			rc = scope_join(reader, VG_SYMBOLS_NONE,
					vg_intern_text(&reader->symbols->strings, name), &position->scope);
		*scope = position->scope;
		return rc;
	}
	rc = position_scope(reader, position->outer, scope);
	if (rc != 0)
		return rc;
	own = dwarf_diename(position->die);
	if (own == NULL || *own == '\0') {
		/* The class of a lambda has no name, and needs none. */
		if (dwarf_tag(position->die) != DW_TAG_namespace)
			return 0;
		own = "(anonymous namespace)";
	}
	rc = scope_join(reader, *scope, own, &position->scope);
	*scope = position->scope;
	return rc;
}

/* Records the scope of a DIE, because only the walk knows the parents of the DIE.  Does nothing if the
 * DIE has a linkage name.  If a function is inside another function, only some languages make the outer
 * function its scope. */
static int scope_record(struct vg_dwarf_reader *reader, Dwarf_Die *die, struct position *position)
{
	uint32_t scope;
	int rc;

	if ((!position->is_scope && !reader->language->functions_are_scopes) ||
	    !dwarf_hasattr(die, DW_AT_name) || vg_dwarf_has_linkage_name(reader, die))
		return 0;
	rc = position_scope(reader, position, &scope);
	if (rc == 0 && scope != VG_SYMBOLS_NONE)
		rc = vg_dwarf_record_scope(reader, die, scope);
	return rc;
}

/* Ignores ranges of dropped code. */
static int range_add(void *context, uint64_t low, uint64_t high)
{
	struct vg_dwarf_reader *reader = context;
	struct vg_symbol_range range = { low, high - low };
	int rc = vg_work_limit_use(&reader->work_limit, 1);

	if (rc != 0 || low >= high || low < reader->image->load_base ||
	    !vg_elf_image_has_code(reader->image, low))
		return rc;
	return vg_array_push(&reader->ranges, &range);
}

/* Appends the ranges of a DIE.  *count is their number. */
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

static int function_walk(struct vg_dwarf_reader *reader, Dwarf_Die *die, struct position *position)
{
	struct position inner = {
		.outer = position, .die = die, .scope = VG_SYMBOLS_NONE, .function = VG_SYMBOLS_NONE,
		.parent = VG_SYMBOLS_NONE, .tree_depth = position->tree_depth + 1,
	};
	struct vg_dwarf_function function = {
		.first_range = (uint32_t)reader->ranges.count,
		.first_inline = VG_SYMBOLS_NONE, .last_inline = VG_SYMBOLS_NONE,
	};
	int rc = scope_record(reader, die, position);

	if (rc == 0)
		rc = ranges_read(reader, die, &function.range_count);
	if (rc == 0 && function.range_count > 0) {
		rc = vg_dwarf_origin(reader, die, &function.origin);
		if (rc == 0)
			rc = vg_array_push(&reader->functions, &function);
		inner.function = (uint32_t)reader->functions.count - 1;
	}
	return rc == 0 ? children_walk(reader, die, &inner) : rc;
}

static void uint_attribute(Dwarf_Die *die, unsigned name, uint64_t none, uint64_t *value)
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

	uint_attribute(die, DW_AT_call_line, 0, &line);
	uint_attribute(die, DW_AT_call_file, UINT64_MAX, &file);
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

static int inline_walk(struct vg_dwarf_reader *reader, Dwarf_Die *die, struct position *position)
{
	struct position inner = *position;
	struct vg_dwarf_inline call = {
		.next = VG_SYMBOLS_NONE, .parent = position->parent, .depth = position->depth,
		.first_range = (uint32_t)reader->ranges.count,
	};
	int rc;

	inner.tree_depth++;
	if (position->function == VG_SYMBOLS_NONE)
		return children_walk(reader, die, &inner);
	rc = ranges_read(reader, die, &call.range_count);
	if (rc == 0)
		rc = inline_describe(reader, die, &call);
	if (rc == 0)
		rc = vg_array_push(&reader->inlines, &call);
	if (rc == 0 && reader->inlines.count >= VG_SYMBOLS_NONE)
		rc = -ENOBUFS;
	if (rc != 0)
		return rc;
	inner.parent = (uint32_t)reader->inlines.count - 1;
	inner.depth++;
	inline_link(reader, &reader->functions.items[position->function], inner.parent);
	return children_walk(reader, die, &inner);
}

static int die_walk(struct vg_dwarf_reader *reader, Dwarf_Die *die, struct position *position)
{
	struct position inner = *position;

	inner.tree_depth++;
	switch (position->is_counted ? 0 : dwarf_tag(die)) {
	case DW_TAG_subprogram:
		return function_walk(reader, die, position);
	case DW_TAG_inlined_subroutine:
		return inline_walk(reader, die, position);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return children_walk(reader, die, &inner);
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		inner.outer = position;
		inner.die = die;
		inner.scope = VG_SYMBOLS_NONE;
		inner.is_scope = true;
		return children_walk(reader, die, &inner);
	}
	inner.is_counted = true;
	return skip_is_long(die) ? children_walk(reader, die, &inner) : 0;
}

/* In a tree without DW_AT_sibling, a DIE is skipped once for each level above it.  So these skips count as work. */
static int children_walk(struct vg_dwarf_reader *reader, Dwarf_Die *parent, struct position *position)
{
	Dwarf_Die die;
	int status, rc;

	if (!dwarf_haschildren(parent))
		return 0;
	if (position->tree_depth > DEPTH_MAX)
		return -E2BIG;
	for (status = dwarf_child(parent, &die); status == 0; status = dwarf_siblingof(&die, &die)) {
		uint64_t before = reader->dies_walked++;

		rc = vg_work_limit_use(&reader->work_limit, 1);
		if (rc == 0)
			rc = die_walk(reader, &die, position);
		if (rc == 0 && skip_is_long(&die))
			rc = vg_work_limit_use(&reader->work_limit, (reader->dies_walked - before) / SKIPS_PER_STEP);
		if (rc != 0)
			return rc;
	}
	if (status < 0)
		reader->symbols->bad_records++;
	return 0;
}

int vg_dwarf_walk(struct vg_dwarf_reader *reader, Dwarf_Die *unit)
{
	struct position position = {
		.scope = VG_SYMBOLS_NONE, .function = VG_SYMBOLS_NONE, .parent = VG_SYMBOLS_NONE,
	};
	int rc;

	vg_dwarf_set_language(reader, unit);
	reader->functions.count = 0;
	reader->inlines.count = 0;
	reader->ranges.count = 0;
	rc = children_walk(reader, unit, &position);
	if (rc == -E2BIG) {
		reader->symbols->bad_records++;
		rc = 0;
	}
	return rc;
}
