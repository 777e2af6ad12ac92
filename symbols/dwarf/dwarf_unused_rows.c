/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_unused_rows.h"

#include "base/sorted.h"
#include "symbols/table/covered_ranges.h"

/*
 * Some code has rows but no function DIE: assembly with debug information, and functions whose DIEs
 * a link-time optimizer lost.  If such code has a linker symbol, the symbol becomes its function.
 */

int vg_dwarf_keep_unused_rows(struct vg_dwarf_reader *reader)
{
	int rc = 0;

	for (size_t i = 0; i < reader->rows.count && rc == 0; i++) {
		const struct vg_dwarf_row *row = &reader->rows.items[i];

		if (!row->is_used && row->low >= reader->image->load_base &&
		    row->high - row->low <= UINT32_MAX &&
		    vg_elf_image_has_code(reader->image, row->low))
			rc = vg_array_push(&reader->unused_rows, row);
	}
	return rc;
}

/* Appends the unused rows in [address, end) as lines.  Starts with row *next of the unused rows, which
 * are sorted. */
static int lines_add(struct vg_dwarf_reader *reader, uint64_t address, uint64_t end, size_t *next)
{
	uint64_t base = reader->image->load_base, covered_end = address;

	for (; *next < reader->unused_rows.count; ++*next) {
		const struct vg_dwarf_row *row = &reader->unused_rows.items[*next];
		struct vg_symbol_row line;
		uint64_t low = row->low - base, high = row->high - base;
		int rc;

		if (low >= end)
			break;
		/* Rows of two line tables may overlap: the first one stays. */
		if (low < covered_end)
			low = covered_end;
		if (high > end)
			high = end;
		if (low >= high)
			continue;
		line = (struct vg_symbol_row){ low, (uint32_t)(high - low), row->line, row->file };
		rc = vg_array_push(&reader->symbols->lines, &line);
		if (rc != 0)
			return rc;
		covered_end = high;
	}
	return 0;
}

static int row_function_add(struct vg_dwarf_reader *reader, const struct vg_linker_symbol *symbol,
			    uint64_t end, size_t *next)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_function function = {
		.address = symbol->address, .name = symbol->name, .is_multiple = symbol->is_multiple,
		.first_line = (uint32_t)symbols->lines.count,
		.first_inline = (uint32_t)symbols->inlines.count,
	};
	const struct vg_symbol_row *last;
	uint32_t id;
	int rc = lines_add(reader, symbol->address, end, next);

	if (rc != 0)
		return rc;
	if (symbols->lines.count >= VG_SYMBOLS_NONE)
		return -ENOBUFS;
	function.line_count = (uint32_t)symbols->lines.count - function.first_line;
	if (function.line_count == 0)
		return 0;
	/* A symbol without a size ends with its last line. */
	last = &symbols->lines.items[symbols->lines.count - 1];
	function.size_bytes = symbol->size_bytes != 0 ? end - symbol->address :
			      last->address + last->size_bytes - symbol->address;
	rc = vg_array_push(&symbols->functions, &function);
	if (rc == 0)
		rc = vg_intern(&reader->entry_addresses, &symbol->address, sizeof symbol->address, &id);
	return rc < 0 ? rc : 0;
}

int vg_dwarf_add_row_functions(struct vg_dwarf_reader *reader)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_covered_ranges covered = { 0 };
	size_t next = 0;
	int rc;

	if (reader->unused_rows.count == 0 || symbols->linker_symbols.count == 0)
		return 0;
	rc = vg_covered_ranges_collect(&covered, symbols, false);
	vg_sort_by(reader->unused_rows.items, reader->unused_rows.count, low);
	vg_sort_by(symbols->linker_symbols.items, symbols->linker_symbols.count, address);
	for (size_t i = 0; i < symbols->linker_symbols.count && rc == 0; i++) {
		const struct vg_linker_symbol *symbol = &symbols->linker_symbols.items[i];
		uint64_t end = vg_covered_ranges_next(&covered, symbol->address), sized;

		while (next < reader->unused_rows.count &&
		       reader->unused_rows.items[next].high - reader->image->load_base <= symbol->address)
			next++;
		if (i + 1 < symbols->linker_symbols.count && symbols->linker_symbols.items[i + 1].address < end)
			end = symbols->linker_symbols.items[i + 1].address;
		if (symbol->size_bytes != 0 &&
		    !__builtin_add_overflow(symbol->address, symbol->size_bytes, &sized) && sized < end)
			end = sized;
		if (end > symbol->address)
			rc = row_function_add(reader, symbol, end, &next);
	}
	vg_array_free(&covered);
	return rc;
}
