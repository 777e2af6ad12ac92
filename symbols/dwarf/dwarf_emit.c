/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_emit.h"

#include "base/sorted.h"

static uint64_t range_high(const struct vg_symbol_range *range)
{
	return range->address + range->size_bytes;
}

/* The first row that ends after the address.  Rows are sorted.  They overlap only in tables of
 * dropped code, which no function covers. */
static size_t row_after(const struct vg_dwarf_reader *reader, uint64_t address)
{
	return vg_count_at_most(reader->rows.items, reader->rows.count, high, address);
}

/* Adds the rows of one range of a function (a part) to the lines of the table. */
static int lines_emit(struct vg_dwarf_reader *reader, const struct vg_symbol_range *part)
{
	uint64_t part_high = range_high(part);

	for (size_t i = row_after(reader, part->address); i < reader->rows.count; i++) {
		struct vg_dwarf_row *row = &reader->rows.items[i];
		uint64_t low = row->low > part->address ? row->low : part->address;
		uint64_t high = row->high < part_high ? row->high : part_high;
		struct vg_symbol_row line;
		int rc;

		if (row->low >= part_high)
			break;
		if (low >= high || high - low > UINT32_MAX)
			continue;
		row->is_used = true;
		line = (struct vg_symbol_row){ low - reader->image->load_base,
						(uint32_t)(high - low), row->line, row->file };
		rc = vg_work_limit_use(&reader->work_limit, 1);
		if (rc == 0)
			rc = vg_array_push(&reader->symbols->lines, &line);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static bool clip(const struct vg_symbol_range *range, const struct vg_symbol_range *part,
		 uint64_t *low, uint64_t *high)
{
	*low = range->address > part->address ? range->address : part->address;
	*high = range_high(range) < range_high(part) ? range_high(range) : range_high(part);
	return *low < *high;
}

static void extent_widen(struct vg_dwarf_inline *call, uint64_t low, uint64_t high)
{
	if (low < call->extent_low)
		call->extent_low = low;
	if (high > call->extent_high)
		call->extent_high = high;
}

/* Sets the extent of each call in this part of the function: the lowest and highest address of the
 * call and of all calls inside it.  extent_high is 0 if none of these calls has code in this part.
 * Parents come before their children in the list.  So a parent's own extent is set first, and then
 * widened by the extents of its children. */
static int extents_measure(struct vg_dwarf_reader *reader, const struct vg_dwarf_function *function,
			   const struct vg_symbol_range *part)
{
	for (uint32_t i = function->first_inline; i != VG_SYMBOLS_NONE;
	     i = reader->inlines.items[i].next) {
		struct vg_dwarf_inline *call = &reader->inlines.items[i];
		int rc = vg_work_limit_use(&reader->work_limit, 1 + call->range_count);

		if (rc != 0)
			return rc;
		call->extent_low = UINT64_MAX;
		call->extent_high = 0;
		for (uint32_t r = 0; r < call->range_count; r++) {
			uint64_t low, high;

			if (clip(&reader->ranges.items[call->first_range + r], part, &low, &high))
				extent_widen(call, low, high);
		}
		for (uint32_t up = call->parent; up != VG_SYMBOLS_NONE && call->extent_high != 0;
		     up = reader->inlines.items[up].parent) {
			struct vg_dwarf_inline *outer = &reader->inlines.items[up];

			if (outer->extent_low <= call->extent_low && outer->extent_high >= call->extent_high)
				break;
			extent_widen(outer, call->extent_low, call->extent_high);
			rc = vg_work_limit_use(&reader->work_limit, 1);
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

static int range_emit(struct vg_dwarf_reader *reader, struct vg_symbol_inline *call, uint64_t low,
		      uint64_t high)
{
	struct vg_symbol_range range = { low - reader->image->load_base, high - low };

	call->range_count++;
	return vg_array_push(&reader->symbols->ranges, &range);
}

static int inline_emit(struct vg_dwarf_reader *reader, const struct vg_dwarf_inline *from,
		       const struct vg_symbol_range *part)
{
	struct vg_symbol_inline call = {
		.depth = from->depth, .call_line = from->call_line, .call_file = from->call_file,
		.name = from->origin, .first_range = (uint32_t)reader->symbols->ranges.count,
	};
	int rc = 0;

	for (uint32_t r = 0; r < from->range_count && rc == 0; r++) {
		uint64_t low, high;

		if (clip(&reader->ranges.items[from->first_range + r], part, &low, &high))
			rc = range_emit(reader, &call, low, high);
	}
	/* This call has no code in this part, but calls inside it do.  Give this call a range, so
	 * that it is their parent. */
	if (rc == 0 && call.range_count == 0)
		rc = range_emit(reader, &call, from->extent_low, from->extent_high);
	if (rc == 0)
		rc = vg_array_push(&reader->symbols->inlines, &call);
	return rc;
}

static int part_emit(struct vg_dwarf_reader *reader, const struct vg_dwarf_function *from,
		     const struct vg_symbol_range *part)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_function function = {
		.address = part->address - reader->image->load_base,
		.size_bytes = part->size_bytes,
		.name = from->origin,
		.first_line = (uint32_t)symbols->lines.count,
		.first_inline = (uint32_t)symbols->inlines.count,
	};
	int rc = extents_measure(reader, from, part);

	for (uint32_t i = from->first_inline; i != VG_SYMBOLS_NONE && rc == 0;
	     i = reader->inlines.items[i].next) {
		if (reader->inlines.items[i].extent_high != 0)
			rc = inline_emit(reader, &reader->inlines.items[i], part);
	}
	if (rc == 0)
		rc = lines_emit(reader, part);
	if (rc == 0 && (symbols->lines.count >= VG_SYMBOLS_NONE ||
			symbols->inlines.count >= VG_SYMBOLS_NONE ||
			symbols->ranges.count >= VG_SYMBOLS_NONE))
		rc = -ENOBUFS;
	if (rc != 0)
		return rc;
	function.line_count = (uint32_t)(symbols->lines.count - function.first_line);
	function.inline_count = (uint32_t)(symbols->inlines.count - function.first_inline);
	return vg_array_push(&symbols->functions, &function);
}

int vg_dwarf_emit(struct vg_dwarf_reader *reader)
{
	int rc = 0;

	for (size_t i = 0; i < reader->functions.count && rc >= 0; i++) {
		const struct vg_dwarf_function *function = &reader->functions.items[i];
		const struct vg_symbol_range *parts = reader->ranges.items + function->first_range;
		uint64_t lowest = UINT64_MAX;
		uint32_t id;

		rc = 0;
		for (uint32_t part = 0; part < function->range_count && rc == 0; part++) {
			if (parts[part].address < lowest)
				lowest = parts[part].address;
			rc = vg_work_limit_use(&reader->work_limit, 1);
			if (rc == 0)
				rc = part_emit(reader, function, &parts[part]);
		}
		lowest -= reader->image->load_base;
		if (rc == 0)
			rc = vg_intern(&reader->entry_addresses, &lowest, sizeof lowest, &id);
	}
	return rc < 0 ? rc : 0;
}
