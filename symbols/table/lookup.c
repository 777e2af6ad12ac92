/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/table.h"

#include "base/sorted.h"

static const char *string(const struct vg_symbols *symbols, uint32_t name)
{
	return vg_intern_text(&symbols->strings, name);
}

static const char *file_name(const struct vg_symbols *symbols, uint32_t file)
{
	if (file == VG_SYMBOLS_NONE || symbols->files.items[file].name == VG_SYMBOLS_NONE)
		return NULL;
	return string(symbols, symbols->files.items[file].name);
}

static const struct vg_symbol_function *function_find(const struct vg_symbols *symbols,
						      uint64_t address)
{
	const struct vg_symbol_function *functions = symbols->functions.items;
	size_t count = vg_count_at_most(functions, symbols->functions.count, address, address);
	uint32_t at = count > 0 ? (uint32_t)(count - 1) : VG_SYMBOLS_NONE;

	while (at != VG_SYMBOLS_NONE && address - functions[at].address >= functions[at].size_bytes)
		at = functions[at].outer;
	if (at == VG_SYMBOLS_NONE)
		return NULL;
	/* Functions that the linker folded have the same range.  Use the first by name. */
	while (at > 0 && functions[at - 1].address == functions[at].address &&
	       functions[at - 1].size_bytes == functions[at].size_bytes)
		at--;
	return &functions[at];
}

static const struct vg_symbol_row *line_find(const struct vg_symbols *symbols,
					      const struct vg_symbol_function *function,
					      uint64_t address)
{
	const struct vg_symbol_row *lines;
	size_t count;

	if (function->line_count == 0)
		return NULL;
	lines = symbols->lines.items + function->first_line;
	count = vg_count_at_most(lines, function->line_count, address, address);
	if (count == 0 || address - lines[count - 1].address >= lines[count - 1].size_bytes)
		return NULL;
	return &lines[count - 1];
}

static bool inline_covers(const struct vg_symbols *symbols, const struct vg_symbol_inline *call,
			  uint64_t address)
{
	for (uint32_t i = 0; i < call->range_count; i++) {
		const struct vg_symbol_range *range =
			&symbols->ranges.items[call->first_range + i];

		if (address - range->address < range->size_bytes)
			return true;
	}
	return false;
}

/* The source line of a frame.  For the innermost frame it comes from the line table, for each caller
 * from the call site of the inlined call. */
struct source_line {
	const char *file;
	uint32_t line;
};

static size_t frame_add(struct vg_symbol_frame *frames, size_t count, size_t max, const char *name,
			struct source_line source_line, bool is_inline)
{
	/* Keep the last element for the function itself. */
	if (is_inline && count + 1 >= max)
		return count;
	frames[count] = (struct vg_symbol_frame){ name, source_line.file, source_line.line, is_inline };
	return count + 1;
}

static const struct vg_linker_symbol *linker_symbol_find(const struct vg_symbols *symbols,
							 uint64_t address)
{
	const struct vg_linker_symbol *linker_symbols = symbols->linker_symbols.items;
	size_t count = vg_count_at_most(linker_symbols, symbols->linker_symbols.count, address, address);

	if (count == 0 || address - linker_symbols[count - 1].address >= linker_symbols[count - 1].size_bytes)
		return NULL;
	return &linker_symbols[count - 1];
}

bool vg_symbols_range(const struct vg_symbols *symbols, uint64_t address, struct vg_symbol_range *range)
{
	const struct vg_symbol_function *function = function_find(symbols, address);
	const struct vg_linker_symbol *symbol = function == NULL ? linker_symbol_find(symbols, address) : NULL;

	if (function != NULL)
		*range = (struct vg_symbol_range){ function->address, function->size_bytes };
	else if (symbol != NULL)
		*range = (struct vg_symbol_range){ symbol->address, symbol->size_bytes };
	return function != NULL || symbol != NULL;
}

size_t vg_symbols_lookup(const struct vg_symbols *symbols, uint64_t address,
			 struct vg_symbol_frame *frames, size_t max)
{
	const struct vg_symbol_function *function = function_find(symbols, address);
	const struct vg_linker_symbol *symbol;
	const struct vg_symbol_row *line;
	struct source_line source_line = { NULL, 0 };
	uint32_t depth = VG_SYMBOLS_NONE; /* depth of the next caller; NONE: the innermost call is not found yet */
	size_t count = 0;

	if (max == 0)
		return 0;
	if (function == NULL) {
		symbol = linker_symbol_find(symbols, address);
		if (symbol == NULL)
			return 0;
		return frame_add(frames, 0, max, string(symbols, symbol->name), source_line, false);
	}
	line = line_find(symbols, function, address);
	if (line != NULL)
		source_line = (struct source_line){ file_name(symbols, line->file), line->line };
	/* Calls are in preorder, so the last call that covers the address is the innermost.  All its
	 * parents are callers, even if their own ranges do not contain the address: compilers emit
	 * such ranges. */
	for (uint32_t i = function->inline_count; i-- > 0 && depth != 0;) {
		const struct vg_symbol_inline *call =
			&symbols->inlines.items[function->first_inline + i];

		if (depth == VG_SYMBOLS_NONE ? !inline_covers(symbols, call, address) :
					       call->depth != depth - 1)
			continue;
		count = frame_add(frames, count, max, string(symbols, call->name), source_line, true);
		source_line = (struct source_line){ file_name(symbols, call->call_file), call->call_line };
		depth = call->depth;
	}
	return frame_add(frames, count, max, string(symbols, function->name), source_line, false);
}
