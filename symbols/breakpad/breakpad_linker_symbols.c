/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_linker_symbols.h"

#include "base/sorted.h"
#include "symbols/breakpad/breakpad_name.h"
#include "symbols/breakpad/breakpad_pairs.h"

/* True if the section that has the symbol ends at or before the address. */
static bool section_ends_between(const struct vg_symbols *symbols, uint64_t symbol_address,
				 uint64_t address)
{
	const struct vg_symbol_range *sections = symbols->sections.items;
	size_t count = vg_count_at_most(sections, symbols->sections.count, address, symbol_address);

	return count > 0 &&
	       symbol_address - sections[count - 1].address < sections[count - 1].size_bytes &&
	       address - sections[count - 1].address >= sections[count - 1].size_bytes;
}

/* Sets the function name of the wanted address with index `at`. */
static int address_name(struct vg_sym_reader *reader, size_t at, const struct vg_sym_name *name)
{
	struct vg_symbolized_address *address = &reader->symbolization->items[at];
	uint32_t id;
	int rc = vg_sym_name_intern(reader, &reader->symbolization->strings, name, &id);

	address->line = 0;
	address->outer = VG_SYMBOLIZED_NONE;
	return rc == 0 ? vg_sym_pair_index(reader, id, VG_SYMBOLS_NONE, &address->function) : rc;
}

int vg_sym_linker_symbols_use(struct vg_sym_reader *reader)
{
	struct vg_symbols *symbols = reader->symbols;
	size_t symbol_count = 0, range_count = 0;
	uint64_t functions_end = 0;     /* the greatest end of the functions that start at or before the address */
	int rc = 0;

	if (reader->linker_symbols.count == 0)
		return 0;
	vg_sort_by(reader->linker_symbols.items, reader->linker_symbols.count, address);
	vg_sort_by(reader->function_ranges.items, reader->function_ranges.count, address);
	vg_sort_by(symbols->sections.items, symbols->sections.count, address);
	for (size_t at = 0; rc == 0 && at < reader->wanted_count; at++) {
		uint64_t address = reader->wanted[at];
		const struct vg_sym_linker_symbol *found;

		for (; range_count < reader->function_ranges.count &&
		     reader->function_ranges.items[range_count].address <= address; range_count++) {
			const struct vg_symbol_range *function = &reader->function_ranges.items[range_count];
			uint64_t end = function->address + function->size_bytes;

			if (end > functions_end)
				functions_end = end;
		}
		while (symbol_count < reader->linker_symbols.count &&
		       reader->linker_symbols.items[symbol_count].address <= address)
			symbol_count++;
		if (symbol_count == 0 || reader->symbolization->items[at].function != VG_SYMBOLIZED_NONE)
			continue;
		found = &reader->linker_symbols.items[symbol_count - 1];
		if (found->address >= functions_end &&
		    !section_ends_between(symbols, found->address, address))
			rc = address_name(reader, at, &found->name);
	}
	return rc;
}
