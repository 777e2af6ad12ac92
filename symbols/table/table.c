/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/table.h"

#include "base/sorted.h"

/* A range that ends at 2^64 is clamped: no module reaches that far. */
static uint64_t range_end(uint64_t address, uint64_t size_bytes)
{
	uint64_t end;

	return __builtin_add_overflow(address, size_bytes, &end) ? UINT64_MAX : end;
}

static uint64_t function_end(const struct vg_symbol_function *function)
{
	return range_end(function->address, function->size_bytes);
}

static const char *name_text(const struct vg_symbols *symbols, uint32_t name)
{
	return name < symbols->strings.count ? vg_intern_text(&symbols->strings, name) : "";
}

static int function_compare(const void *left, const void *right, void *context)
{
	const struct vg_symbol_function *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->name != b->name)
		return strcmp(name_text(context, a->name), name_text(context, b->name));
	/* Among equal functions, the one that was read first comes first.  It has the lowest
	 * first_line. */
	return a->first_line < b->first_line ? -1 : a->first_line > b->first_line;
}

static bool slice_is_valid(uint32_t first, uint32_t count, size_t total)
{
	return (uint64_t)first + count <= total;
}

static bool indices_are_valid(const struct vg_symbols *symbols)
{
	for (size_t i = 0; i < symbols->functions.count; i++) {
		const struct vg_symbol_function *function = &symbols->functions.items[i];

		if (function->name >= symbols->strings.count ||
		    !slice_is_valid(function->first_line, function->line_count,
				    symbols->lines.count) ||
		    !slice_is_valid(function->first_inline, function->inline_count,
				    symbols->inlines.count))
			return false;
	}
	for (size_t i = 0; i < symbols->inlines.count; i++) {
		const struct vg_symbol_inline *call = &symbols->inlines.items[i];

		if (call->name >= symbols->strings.count ||
		    !slice_is_valid(call->first_range, call->range_count, symbols->ranges.count) ||
		    (call->call_file != VG_SYMBOLS_NONE && call->call_file >= symbols->files.count))
			return false;
	}
	for (size_t i = 0; i < symbols->lines.count; i++) {
		uint32_t file = symbols->lines.items[i].file;

		if (file != VG_SYMBOLS_NONE && file >= symbols->files.count)
			return false;
	}
	for (size_t i = 0; i < symbols->linker_symbols.count; i++) {
		if (symbols->linker_symbols.items[i].name >= symbols->strings.count)
			return false;
	}
	return symbols->functions.count < VG_SYMBOLS_NONE;
}

static void functions_deduplicate(struct vg_symbols *symbols)
{
	size_t kept = 0;

	for (size_t i = 0; i < symbols->functions.count; i++) {
		const struct vg_symbol_function *function = &symbols->functions.items[i];
		struct vg_symbol_function *last =
			kept > 0 ? &symbols->functions.items[kept - 1] : NULL;

		if (last != NULL && last->address == function->address &&
		    last->name == function->name)
			continue;
		/* The linker folded two functions into one. */
		if (last != NULL && last->address == function->address &&
		    last->size_bytes == function->size_bytes) {
			if (function->first_line < last->first_line)
				*last = *function;
			last->is_multiple = true;
			continue;
		}
		symbols->functions.items[kept++] = *function;
	}
	symbols->functions.count = kept;
}

/* Sets `outer` by following the chain built so far.  With `outer`, a lookup skips functions that
 * end before the address. */
static void functions_link_outer(struct vg_symbols *symbols)
{
	struct vg_symbol_function *functions = symbols->functions.items;

	for (uint32_t i = 0; i < symbols->functions.count; i++) {
		uint32_t outer = i > 0 ? i - 1 : VG_SYMBOLS_NONE;

		while (outer != VG_SYMBOLS_NONE &&
		       function_end(&functions[outer]) <= function_end(&functions[i]))
			outer = functions[outer].outer;
		functions[i].outer = outer;
	}
}

static void lines_sort(struct vg_symbols *symbols)
{
	for (size_t i = 0; i < symbols->functions.count; i++) {
		const struct vg_symbol_function *function = &symbols->functions.items[i];

		if (function->line_count > 0)
			vg_sort_by(symbols->lines.items + function->first_line, function->line_count, address);
	}
}

/* Index of the last function that starts at or before the address, or VG_SYMBOLS_NONE. */
static uint32_t function_before(const struct vg_symbols *symbols, uint64_t address)
{
	size_t count = vg_count_at_most(symbols->functions.items, symbols->functions.count, address, address);

	return count > 0 ? (uint32_t)(count - 1) : VG_SYMBOLS_NONE;
}

static uint64_t section_end(const struct vg_symbols *symbols, uint64_t address)
{
	const struct vg_symbol_range *sections = symbols->sections.items;
	size_t count = vg_count_at_most(sections, symbols->sections.count, address, address);

	if (count == 0 || address - sections[count - 1].address >= sections[count - 1].size_bytes)
		return UINT64_MAX;
	return range_end(sections[count - 1].address, sections[count - 1].size_bytes);
}

static void linker_symbols_bound(struct vg_symbols *symbols)
{
	struct vg_linker_symbol *linker_symbols = symbols->linker_symbols.items;
	uint64_t next = UINT64_MAX;

	for (size_t i = symbols->linker_symbols.count; i-- > 0;) {
		uint64_t address = linker_symbols[i].address;
		uint64_t end = section_end(symbols, address);
		uint32_t before = function_before(symbols, address);
		size_t after = before == VG_SYMBOLS_NONE ? 0 : (size_t)before + 1;

		if (i + 1 < symbols->linker_symbols.count && linker_symbols[i + 1].address > address)
			next = linker_symbols[i + 1].address;
		if (next < end)
			end = next;
		if (after < symbols->functions.count && symbols->functions.items[after].address < end)
			end = symbols->functions.items[after].address;
		/* A symbol inside a function ends where the function ends.  Padding after the
		 * function is not part of the symbol. */
		while (before != VG_SYMBOLS_NONE &&
		       function_end(&symbols->functions.items[before]) <= address)
			before = symbols->functions.items[before].outer;
		if (before != VG_SYMBOLS_NONE && function_end(&symbols->functions.items[before]) < end)
			end = function_end(&symbols->functions.items[before]);
		linker_symbols[i].size_bytes = end - address;
	}
}

int vg_symbols_finish(struct vg_symbols *symbols)
{
	if (!indices_are_valid(symbols))
		return -EINVAL;
	if (symbols->functions.count > 1)
		qsort_r(symbols->functions.items, symbols->functions.count,
			sizeof *symbols->functions.items, function_compare, symbols);
	vg_sort_by(symbols->linker_symbols.items, symbols->linker_symbols.count, address);
	vg_sort_by(symbols->sections.items, symbols->sections.count, address);
	functions_deduplicate(symbols);
	functions_link_outer(symbols);
	lines_sort(symbols);
	linker_symbols_bound(symbols);
	return 0;
}

int vg_symbols_add_file_id(struct vg_symbols *symbols, uint32_t name, uint32_t *index)
{
	struct vg_symbol_file file = { name };
	/* Reserve first: a later failure would leave an id in file_index that the array does not
	 * have. */
	int rc = vg_array_reserve(&symbols->files, 1);

	if (rc != 0)
		return rc;
	rc = vg_intern(&symbols->file_index, &file.name, sizeof file.name, index);
	if (rc < 0)
		return rc;
	if (rc == 1)
		symbols->files.items[symbols->files.count++] = file;
	return 0;
}

int vg_symbols_add_file(struct vg_symbols *symbols, const char *name, uint32_t *index)
{
	uint32_t id;
	int rc = vg_intern_string(&symbols->strings, name, &id);

	return rc < 0 ? rc : vg_symbols_add_file_id(symbols, id, index);
}

static size_t intern_bytes(const struct vg_intern *table)
{
	return table->bytes.capacity + table->capacity * sizeof *table->keys + table->slot_count * sizeof *table->slots;
}

size_t vg_symbols_bytes(const struct vg_symbols *symbols)
{
	return intern_bytes(&symbols->strings) + intern_bytes(&symbols->file_index) +
	       symbols->files.capacity * sizeof *symbols->files.items +
	       symbols->functions.capacity * sizeof *symbols->functions.items +
	       symbols->lines.capacity * sizeof *symbols->lines.items +
	       symbols->inlines.capacity * sizeof *symbols->inlines.items +
	       symbols->ranges.capacity * sizeof *symbols->ranges.items +
	       symbols->linker_symbols.capacity * sizeof *symbols->linker_symbols.items +
	       symbols->sections.capacity * sizeof *symbols->sections.items +
	       symbols->cfi_ranges.capacity * sizeof *symbols->cfi_ranges.items +
	       symbols->cfi_rows.capacity * sizeof *symbols->cfi_rows.items;
}

void vg_symbols_free(struct vg_symbols *symbols)
{
	if (symbols == NULL)
		return;
	vg_intern_free(&symbols->strings);
	vg_intern_free(&symbols->file_index);
	free(symbols->module_name);
	free(symbols->os);
	free(symbols->arch);
	free(symbols->source);
	vg_missing_file_free(&symbols->missing_file);
	vg_array_free(&symbols->files);
	vg_array_free(&symbols->functions);
	vg_array_free(&symbols->lines);
	vg_array_free(&symbols->inlines);
	vg_array_free(&symbols->ranges);
	vg_array_free(&symbols->linker_symbols);
	vg_array_free(&symbols->sections);
	vg_array_free(&symbols->cfi_ranges);
	vg_array_free(&symbols->cfi_rows);
	memset(symbols, 0, sizeof *symbols);
}
