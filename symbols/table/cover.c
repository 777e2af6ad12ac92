/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/cover.h"

#include <errno.h>

#include "base/sorted.h"

int vg_cover_collect(struct vg_cover *cover, const struct vg_symbols *symbols, bool publics_too)
{
	size_t publics = publics_too ? symbols->publics.count : 0, kept = 0;

	if (vg_array_reserve(cover, symbols->functions.count + publics) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < symbols->functions.count; i++)
		cover->items[cover->count++] = (struct vg_symbol_range){
			symbols->functions.items[i].address, symbols->functions.items[i].size_bytes };
	for (size_t i = 0; i < publics; i++)
		cover->items[cover->count++] = (struct vg_symbol_range){
			symbols->publics.items[i].address, symbols->publics.items[i].size_bytes };
	if (cover->count == 0)
		return 0;
	vg_sort_by(cover->items, cover->count, address);
	for (size_t i = 1; i < cover->count; i++) {
		struct vg_symbol_range *last = &cover->items[kept], *next = &cover->items[i];
		uint64_t apart = next->address - last->address;

		if (apart > last->size_bytes)
			cover->items[++kept] = *next;
		else if (next->size_bytes > last->size_bytes - apart &&
			 __builtin_add_overflow(apart, next->size_bytes, &last->size_bytes))
			last->size_bytes = UINT64_MAX;
	}
	cover->count = kept + 1;
	return 0;
}

static bool is_in_last(const struct vg_cover *cover, size_t count, uint64_t address)
{
	return count > 0 &&
	       address - cover->items[count - 1].address < cover->items[count - 1].size_bytes;
}

bool vg_cover_has(const struct vg_cover *cover, uint64_t address)
{
	return is_in_last(cover, vg_count_to(cover->items, cover->count, address, address), address);
}

uint64_t vg_cover_after(const struct vg_cover *cover, uint64_t address)
{
	size_t count = vg_count_to(cover->items, cover->count, address, address);

	if (is_in_last(cover, count, address))
		return address;
	return count < cover->count ? cover->items[count].address : UINT64_MAX;
}
