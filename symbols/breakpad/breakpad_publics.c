/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_publics.h"

#include "symbols/breakpad/breakpad_name.h"
#include "symbols/breakpad/breakpad_pairs.h"

static int public_compare(const void *left, const void *right)
{
	const struct vg_sym_public *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static int range_compare(const void *left, const void *right)
{
	const struct vg_symbol_range *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static void ranges_sort(struct vg_symbol_range *ranges, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (ranges[i].address < ranges[i - 1].address) {
			qsort(ranges, count, sizeof *ranges, range_compare);
			return;
		}
	}
}

static void publics_sort(struct vg_sym_reader *reader)
{
	const struct vg_sym_public *publics = reader->publics.items;

	for (size_t i = 1; i < reader->publics.count; i++) {
		if (publics[i].address < publics[i - 1].address) {
			qsort(reader->publics.items, reader->publics.count, sizeof *publics,
			      public_compare);
			return;
		}
	}
}

/* Whether a section ends between the public and the address. */
static bool section_ends(const struct vg_symbols *symbols, uint64_t public, uint64_t address)
{
	const struct vg_symbol_range *sections = symbols->sections.items;
	size_t low = 0, high = symbols->sections.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sections[middle].address <= public)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && public - sections[low - 1].address < sections[low - 1].size_bytes &&
	       address - sections[low - 1].address >= sections[low - 1].size_bytes;
}

/* Answers the wanted address of that index with that name. */
static int public_answer(struct vg_sym_reader *reader, size_t at, const struct vg_sym_name *name)
{
	struct vg_answer *answer = &reader->answers->items[at];
	uint32_t id;
	int rc = vg_sym_name_keep(reader, &reader->answers->strings, name, &id);

	answer->line = 0;
	answer->outer = VG_ANSWER_NONE;
	return rc == 0 ? vg_sym_pair_index(reader, id, VG_SYMBOLS_NONE, &answer->function) : rc;
}

int vg_sym_publics_answer(struct vg_sym_reader *reader)
{
	struct vg_symbols *symbols = reader->symbols;
	size_t public = 0, range = 0;
	uint64_t functions_end = 0;     /* of all that start before the address */
	int rc = 0;

	if (reader->publics.count == 0)
		return 0;
	publics_sort(reader);
	ranges_sort(reader->covered.items, reader->covered.count);
	ranges_sort(symbols->sections.items, symbols->sections.count);
	for (size_t at = 0; rc == 0 && at < reader->wanted_count; at++) {
		uint64_t address = reader->wanted[at];
		const struct vg_sym_public *found;

		for (; range < reader->covered.count &&
		     reader->covered.items[range].address <= address; range++) {
			const struct vg_symbol_range *function = &reader->covered.items[range];
			uint64_t end = function->address + function->size_bytes;

			if (end > functions_end)
				functions_end = end;
		}
		while (public < reader->publics.count &&
		       reader->publics.items[public].address <= address)
			public++;
		if (public == 0 || reader->answers->items[at].function != VG_ANSWER_NONE)
			continue;
		found = &reader->publics.items[public - 1];
		if (found->address >= functions_end &&
		    !section_ends(symbols, found->address, address))
			rc = public_answer(reader, at, &found->name);
	}
	return rc;
}
