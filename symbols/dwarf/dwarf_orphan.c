/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_orphan.h"

#include "base/sorted.h"
#include "symbols/table/cover.h"

/*
 * Lines of code that no function DIE describes: assembly with debug information, and what a link
 * time optimizer forgot.  Where the linker has a symbol there, that is the function.
 */

int vg_dwarf_keep_orphans(struct vg_dwarf_reader *reader)
{
	int rc = 0;

	for (size_t i = 0; i < reader->rows.count && rc == 0; i++) {
		const struct vg_dwarf_row *row = &reader->rows.items[i];

		if (!row->is_used && row->low >= reader->image->load_base &&
		    row->high - row->low <= UINT32_MAX &&
		    vg_elf_image_has_code(reader->image, row->low))
			rc = vg_array_push(&reader->orphans, row);
	}
	return rc;
}

/* Appends the orphans within [address, end), which are sorted, from *next on. */
static int lines_add(struct vg_dwarf_reader *reader, uint64_t address, uint64_t end, size_t *next)
{
	uint64_t base = reader->image->load_base, reached = address;

	for (; *next < reader->orphans.count; ++*next) {
		const struct vg_dwarf_row *row = &reader->orphans.items[*next];
		struct vg_symbol_row line;
		uint64_t low = row->low - base, high = row->high - base;
		int rc;

		if (low >= end)
			break;
		/* Two tables may speak of the same code: the first is as good as any. */
		if (low < reached)
			low = reached;
		if (high > end)
			high = end;
		if (low >= high)
			continue;
		line = (struct vg_symbol_row){ low, (uint32_t)(high - low), row->line, row->file };
		rc = vg_array_push(&reader->symbols->lines, &line);
		if (rc != 0)
			return rc;
		reached = high;
	}
	return 0;
}

static int public_adopt(struct vg_dwarf_reader *reader, const struct vg_symbol_public *symbol,
			uint64_t end, size_t *next)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_function function = {
		.address = symbol->address, .name = symbol->name, .multiple = symbol->multiple,
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
	/* Without a size of its own it reaches as far as its lines. */
	last = &symbols->lines.items[symbols->lines.count - 1];
	function.size_bytes = symbol->size_bytes != 0 ? end - symbol->address :
			      last->address + last->size_bytes - symbol->address;
	rc = vg_array_push(&symbols->functions, &function);
	if (rc == 0)
		rc = vg_intern(&reader->entries, &symbol->address, sizeof symbol->address, &id);
	return rc < 0 ? rc : 0;
}

int vg_dwarf_adopt_orphans(struct vg_dwarf_reader *reader)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_cover cover = { 0 };
	size_t next = 0;
	int rc;

	if (reader->orphans.count == 0 || symbols->publics.count == 0)
		return 0;
	rc = vg_cover_collect(&cover, symbols, false);
	vg_sort_by(reader->orphans.items, reader->orphans.count, low);
	vg_sort_by(symbols->publics.items, symbols->publics.count, address);
	for (size_t i = 0; i < symbols->publics.count && rc == 0; i++) {
		const struct vg_symbol_public *symbol = &symbols->publics.items[i];
		uint64_t end = vg_cover_after(&cover, symbol->address), sized;

		while (next < reader->orphans.count &&
		       reader->orphans.items[next].high - reader->image->load_base <= symbol->address)
			next++;
		if (i + 1 < symbols->publics.count && symbols->publics.items[i + 1].address < end)
			end = symbols->publics.items[i + 1].address;
		if (symbol->size_bytes != 0 &&
		    !__builtin_add_overflow(symbol->address, symbol->size_bytes, &sized) && sized < end)
			end = sized;
		if (end > symbol->address)
			rc = public_adopt(reader, symbol, end, &next);
	}
	vg_array_free(&cover);
	return rc;
}
