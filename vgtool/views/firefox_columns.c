/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/firefox_columns.h"

#include "vgtool/analysis/frame_class.h"

/* Indices in the list of categories.  Viewers take the first grey one for frames without a category.  They treat the
 * category named "Idle" as time in which the thread did nothing. */
enum { OTHER, PROGRAM, LIBRARY, JIT, KERNEL, IDLE, CATEGORIES };

static const struct category {
	const char *name, *color;
	enum vg_frame_class class;
} categories[CATEGORIES] = {
	[OTHER] = { "Other", "grey", VG_CLASS_UNKNOWN }, [PROGRAM] = { "Program", "blue", VG_CLASS_PROGRAM },
	[LIBRARY] = { "Library", "green", VG_CLASS_LIBRARY }, [JIT] = { "JIT code", "yellow", VG_CLASS_JIT },
	[KERNEL] = { "Kernel", "orange", VG_CLASS_KERNEL }, [IDLE] = { "Idle", "transparent", VG_CLASS_WAIT_OTHER },
};

void vg_firefox_categories_write(struct vg_json *json)
{
	vg_json_array_begin(json);
	for (size_t i = 0; i < CATEGORIES; i++) {
		vg_json_object_begin(json);
		vg_json_key_string(json, "name", categories[i].name);
		vg_json_key_string(json, "color", categories[i].color);
		vg_json_key(json, "subcategories");
		vg_json_array_begin(json);
		vg_json_string(json, "Other");
		for (unsigned class = VG_CLASS_WAIT_LOCK; i == IDLE && class < VG_CLASS_COUNT; class++)
			vg_json_string(json, vg_frame_class_name((enum vg_frame_class)class));
		vg_json_array_end(json);
		vg_json_object_end(json);
	}
	vg_json_array_end(json);
}

struct place {
	unsigned category, subcategory;
};

static struct place place_of(const struct vg_firefox_tables *tables, uint32_t node)
{
	size_t nodes = tables->firefox->profile->stacks.count;
	unsigned class;

	if (node == nodes + VG_FIREFOX_IDLE)
		return (struct place){ IDLE, 0 };
	if (node >= nodes)
		return (struct place){ OTHER, 0 };
	class = tables->firefox->classes[node];
	if (class >= VG_CLASS_WAIT_LOCK)
		return (struct place){ IDLE, class - VG_CLASS_WAIT_LOCK + 1 };
	for (unsigned i = 0; i < IDLE; i++) {
		if (categories[i].class == class)
			return (struct place){ i, 0 };
	}
	return (struct place){ OTHER, 0 };
}

static void column_begin(struct vg_json *json, const char *name)
{
	vg_json_key(json, name);
	vg_json_array_begin(json);
}

static void table_begin(struct vg_json *json, const char *name, size_t length)
{
	vg_json_line(json);
	vg_json_key(json, name);
	vg_json_object_begin(json);
	vg_json_key_uint(json, "length", length);
}

/* A column in which all rows are null, or all are false. */
static void column_empty(struct vg_json *json, const char *name, size_t length, bool is_boolean)
{
	column_begin(json, name);
	for (size_t i = 0; i < length && !ferror(json->file); i++) {
		if (is_boolean)
			vg_json_bool(json, false);
		else
			vg_json_null(json);
	}
	vg_json_array_end(json);
}

static void number_or_null(struct vg_json *json, uint64_t number, bool is_null)
{
	if (is_null)
		vg_json_null(json);
	else
		vg_json_uint(json, number);
}

enum stack_column { STACK_FRAME, STACK_PREFIX, STACK_CATEGORY, STACK_SUBCATEGORY, STACK_COLUMNS };

static bool has_cut_row(const struct vg_firefox_tables *tables, uint32_t node)
{
	return tables->has_cut_row != NULL && node < tables->firefox->profile->stacks.count &&
	       tables->has_cut_row[node];
}

static void stack_row_write(const struct vg_firefox_tables *tables, enum stack_column column, uint32_t node, size_t i,
			    uint32_t prefix)
{
	struct vg_json *json = &tables->firefox->json;
	struct place place;
	uint32_t function;

	if (column == STACK_FRAME) {
		vg_json_uint(json, vg_firefox_tables_frame(tables, node, i, &function));
	} else if (column == STACK_PREFIX) {
		number_or_null(json, prefix, prefix == VG_NONE);
	} else {
		place = place_of(tables, node);
		vg_json_uint(json, column == STACK_CATEGORY ? place.category : place.subcategory);
	}
}

static void stack_column_write(const struct vg_firefox_tables *tables, enum stack_column column)
{
	uint32_t cut = (uint32_t)tables->firefox->profile->stacks.count + VG_FIREFOX_CUT;

	for (size_t k = 0; k < tables->nodes.used.count && !ferror(tables->firefox->json.file); k++) {
		uint32_t node = tables->nodes.used.items[k], row = tables->row_of[node];
		uint32_t parent = column == STACK_PREFIX ? vg_firefox_tables_parent(tables, node) : VG_NONE;
		uint32_t prefix = VG_NONE;

		if (parent != VG_NONE)
			prefix = tables->row_of[parent] + (uint32_t)vg_firefox_tables_frames(tables, parent) - 1;
		for (size_t i = vg_firefox_tables_frames(tables, node); i-- > 0; prefix = row++)
			stack_row_write(tables, column, node, i, prefix);
		if (has_cut_row(tables, node))
			stack_row_write(tables, column, cut, 0, prefix);
	}
}

static void stacks_write(const struct vg_firefox_tables *tables)
{
	static const char *const names[STACK_COLUMNS] = { "frame", "prefix", "category", "subcategory" };
	struct vg_json *json = &tables->firefox->json;

	table_begin(json, "stackTable", tables->rows);
	for (unsigned column = 0; column < STACK_COLUMNS; column++) {
		column_begin(json, names[column]);
		stack_column_write(tables, (enum stack_column)column);
		vg_json_array_end(json);
	}
	vg_json_object_end(json);
}

enum frame_column { FRAME_ADDRESS, FRAME_DEPTH, FRAME_CATEGORY, FRAME_SUBCATEGORY, FRAME_FUNCTION, FRAME_SYMBOL,
	FRAME_LINE, FRAME_COLUMNS };

/* The address in the module; -1: it has none, or it is too large for the viewer. */
static int64_t frame_address(const struct vg_profile *profile, uint32_t node)
{
	const struct vg_stack *stack = node < profile->stacks.count ? &profile->stacks.items[node] : NULL;

	if (stack == NULL || stack->module == VG_NONE || stack->found_by == VG_FOUND_BY_SYSTEM_CALL ||
	    stack->found_by == VG_FOUND_IN_KERNEL || stack->address > UINT32_MAX)
		return -1;
	return (int64_t)stack->address;
}

static void frame_row_write(const struct vg_firefox_tables *tables, enum frame_column column, size_t number)
{
	const struct vg_frames *frames = &tables->firefox->frames;
	struct vg_json *json = &tables->firefox->json;
	uint32_t id = tables->frames.used.items[number], node = tables->frame_nodes.items[number], function, symbol;
	size_t count = vg_firefox_tables_frames(tables, node), i = 0;
	struct place place = place_of(tables, node);
	struct vg_frame_view view = { 0 };

	if (node < tables->firefox->profile->stacks.count) {
		i = frames->nodes[node].line_count > 0 ? id - frames->nodes[node].first : 0;
		view = vg_frames_at(frames, node, i);
	}
	switch (column) {
	case FRAME_ADDRESS:
		vg_json_int(json, frame_address(tables->firefox->profile, node));
		break;
	case FRAME_DEPTH:
		vg_json_uint(json, count - 1 - i);
		break;
	case FRAME_FUNCTION:
		vg_firefox_tables_frame(tables, node, i, &function);
		vg_json_uint(json, vg_firefox_ids_number(&tables->functions, function));
		break;
	case FRAME_SYMBOL:
		symbol = vg_firefox_tables_symbol(tables, node);
		number_or_null(json, symbol != VG_NONE ? vg_firefox_ids_number(&tables->symbols, symbol) : 0,
			       symbol == VG_NONE);
		break;
	case FRAME_LINE:
		number_or_null(json, view.line, view.line == 0);
		break;
	default:
		vg_json_uint(json, column == FRAME_CATEGORY ? place.category : place.subcategory);
	}
}

static void frames_write(const struct vg_firefox_tables *tables)
{
	static const char *const names[FRAME_COLUMNS] = { "address", "inlineDepth", "category", "subcategory", "func",
		"nativeSymbol", "line" };
	struct vg_json *json = &tables->firefox->json;
	size_t count = tables->frames.used.count;

	table_begin(json, "frameTable", count);
	for (unsigned column = 0; column < FRAME_COLUMNS; column++) {
		column_begin(json, names[column]);
		for (size_t i = 0; i < count && !ferror(json->file); i++)
			frame_row_write(tables, (enum frame_column)column, i);
		vg_json_array_end(json);
	}
	column_empty(json, "column", count, false);
	column_empty(json, "innerWindowID", count, false);
	column_empty(json, "implementation", count, false);
	vg_json_object_end(json);
}

enum function_column { FUNCTION_NAME, FUNCTION_FILE, FUNCTION_RESOURCE, FUNCTION_COLUMNS };

static void function_row_write(const struct vg_firefox_tables *tables, enum function_column column, uint32_t function)
{
	struct vg_json *json = &tables->firefox->json;
	uint32_t file, name = vg_firefox_tables_function(tables, function, &file);

	if (column == FUNCTION_NAME)
		vg_json_uint(json, vg_firefox_ids_number(&tables->strings, name));
	else if (column == FUNCTION_FILE)
		number_or_null(json, file != VG_NONE ? vg_firefox_ids_number(&tables->strings, file) : 0,
			       file == VG_NONE);
	else
		vg_json_int(json, tables->module_of[function] == VG_NONE ? -1 :
			    (int64_t)vg_firefox_ids_number(&tables->libraries, tables->module_of[function]));
}

static void functions_write(const struct vg_firefox_tables *tables)
{
	static const char *const names[FUNCTION_COLUMNS] = { "name", "fileName", "resource" };
	struct vg_json *json = &tables->firefox->json;
	size_t count = tables->functions.used.count;

	table_begin(json, "funcTable", count);
	for (unsigned column = 0; column < FUNCTION_COLUMNS; column++) {
		column_begin(json, names[column]);
		for (size_t i = 0; i < count && !ferror(json->file); i++)
			function_row_write(tables, (enum function_column)column, tables->functions.used.items[i]);
		vg_json_array_end(json);
	}
	column_empty(json, "isJS", count, true);
	column_empty(json, "relevantForJS", count, true);
	column_empty(json, "lineNumber", count, false);
	column_empty(json, "columnNumber", count, false);
	vg_json_object_end(json);
}

/* A resource is a module. */
static void resources_write(const struct vg_firefox_tables *tables)
{
	enum { TYPE_LIBRARY = 1 };
	struct vg_json *json = &tables->firefox->json;
	size_t count = tables->libraries.used.count;

	table_begin(json, "resourceTable", count);
	column_begin(json, "lib");
	for (size_t i = 0; i < count; i++)
		vg_json_uint(json, tables->libraries.used.items[i]);
	vg_json_array_end(json);
	column_begin(json, "name");
	for (size_t i = 0; i < count; i++)
		vg_json_uint(json, vg_firefox_ids_number(&tables->strings,
			     tables->firefox->profile->modules.items[tables->libraries.used.items[i]].name));
	vg_json_array_end(json);
	column_empty(json, "host", count, false);
	column_begin(json, "type");
	for (size_t i = 0; i < count; i++)
		vg_json_uint(json, TYPE_LIBRARY);
	vg_json_array_end(json);
	vg_json_object_end(json);
}

static void symbols_write(const struct vg_firefox_tables *tables)
{
	struct vg_json *json = &tables->firefox->json;
	size_t count = tables->symbols.used.count;
	uint32_t file;

	table_begin(json, "nativeSymbols", count);
	column_begin(json, "libIndex");
	for (size_t i = 0; i < count; i++)
		vg_json_uint(json, tables->module_of[tables->symbols.used.items[i]]);
	vg_json_array_end(json);
	column_begin(json, "address");
	for (size_t i = 0; i < count; i++)
		vg_json_uint(json, tables->symbol_address[tables->symbols.used.items[i]]);
	vg_json_array_end(json);
	column_begin(json, "name");
	for (size_t i = 0; i < count; i++)
		vg_json_uint(json, vg_firefox_ids_number(&tables->strings,
			     vg_firefox_tables_function(tables, tables->symbols.used.items[i], &file)));
	vg_json_array_end(json);
	column_empty(json, "functionSize", count, false);
	vg_json_object_end(json);
}

static void strings_write(const struct vg_firefox_tables *tables)
{
	struct vg_json *json = &tables->firefox->json;
	struct vg_incomplete_name room;

	vg_json_line(json);
	column_begin(json, "stringArray");
	for (size_t i = 0; i < tables->strings.used.count && !ferror(json->file); i++)
		vg_json_string(json, vg_firefox_tables_text(tables, tables->strings.used.items[i], &room));
	vg_json_array_end(json);
}

void vg_firefox_columns_write(const struct vg_firefox_tables *tables)
{
	stacks_write(tables);
	frames_write(tables);
	functions_write(tables);
	resources_write(tables);
	symbols_write(tables);
	strings_write(tables);
}
