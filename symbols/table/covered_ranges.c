/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/covered_ranges.h"

#include <errno.h>

#include "base/sorted.h"

int vg_covered_ranges_collect(struct vg_covered_ranges *ranges, const struct vg_symbols *symbols,
			      bool with_linker_symbols)
{
	size_t linker_symbols = with_linker_symbols ? symbols->linker_symbols.count : 0, kept = 0;

	if (vg_array_reserve(ranges, symbols->functions.count + linker_symbols) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < symbols->functions.count; i++)
		ranges->items[ranges->count++] = (struct vg_symbol_range){
			symbols->functions.items[i].address, symbols->functions.items[i].size_bytes };
	for (size_t i = 0; i < linker_symbols; i++)
		ranges->items[ranges->count++] = (struct vg_symbol_range){
			symbols->linker_symbols.items[i].address, symbols->linker_symbols.items[i].size_bytes };
	if (ranges->count == 0)
		return 0;
	vg_sort_by(ranges->items, ranges->count, address);
	for (size_t i = 1; i < ranges->count; i++) {
		struct vg_symbol_range *last = &ranges->items[kept], *next = &ranges->items[i];
		uint64_t distance = next->address - last->address;

		if (distance > last->size_bytes)
			ranges->items[++kept] = *next;
		else if (next->size_bytes > last->size_bytes - distance &&
			 __builtin_add_overflow(distance, next->size_bytes, &last->size_bytes))
			last->size_bytes = UINT64_MAX;
	}
	ranges->count = kept + 1;
	return 0;
}

static bool last_has(const struct vg_covered_ranges *ranges, size_t count, uint64_t address)
{
	return count > 0 &&
	       address - ranges->items[count - 1].address < ranges->items[count - 1].size_bytes;
}

bool vg_covered_ranges_have(const struct vg_covered_ranges *ranges, uint64_t address)
{
	return last_has(ranges, vg_count_at_most(ranges->items, ranges->count, address, address), address);
}

uint64_t vg_covered_ranges_next(const struct vg_covered_ranges *ranges, uint64_t address)
{
	size_t count = vg_count_at_most(ranges->items, ranges->count, address, address);

	if (last_has(ranges, count, address))
		return address;
	return count < ranges->count ? ranges->items[count].address : UINT64_MAX;
}
