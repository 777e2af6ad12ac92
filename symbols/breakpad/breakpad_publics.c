/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_publics.h"

#include "base/sorted.h"
#include "symbols/breakpad/breakpad_name.h"
#include "symbols/breakpad/breakpad_pairs.h"

/* Whether a section ends between the public and the address. */
static bool section_ends(const struct vg_symbols *symbols, uint64_t public, uint64_t address)
{
	const struct vg_symbol_range *sections = symbols->sections.items;
	size_t count = vg_count_to(sections, symbols->sections.count, address, public);

	return count > 0 && public - sections[count - 1].address < sections[count - 1].size_bytes &&
	       address - sections[count - 1].address >= sections[count - 1].size_bytes;
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
	vg_sort_by(reader->publics.items, reader->publics.count, address);
	vg_sort_by(reader->covered.items, reader->covered.count, address);
	vg_sort_by(symbols->sections.items, symbols->sections.count, address);
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
