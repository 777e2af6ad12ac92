/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_symbols.h"

#include "base/sorted.h"

/*
 * Breakpad's PUBLIC records have no size, so a lookup finds the nearest symbol before an address.  Local functions
 * after an exported function would get the name of the exported function.  INFO SECTION records prevent that: code that
 * no symbol covers is cut out of the sections.  Readers that do not know INFO SECTION ignore these records.
 */

/* Compilers align functions to 16 bytes.  A gap of up to 15 bytes is padding; cutting it would add
 * a record for nearly every function. */
#define PADDING_MAX_BYTES 15

typedef VG_ARRAY(uint64_t) address_list;
typedef VG_ARRAY(struct vg_symbol_range) range_list;

/* Collects the addresses at which functions and linker symbols begin, sorted. */
static int starts_collect(const struct vg_symbols *symbols, address_list *starts)
{
	if (vg_array_reserve(starts, symbols->functions.count + symbols->linker_symbols.count) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < symbols->functions.count; i++)
		starts->items[starts->count++] = symbols->functions.items[i].address;
	for (size_t i = 0; i < symbols->linker_symbols.count; i++)
		starts->items[starts->count++] = symbols->linker_symbols.items[i].address;
	vg_sorted_sort(starts->items, starts->count, sizeof *starts->items, 0);
	return 0;
}

/* Requires sorted linker symbols.  A gap ends at the next symbol; the last gap has no end. */
static int gaps_collect(const struct vg_symbols *symbols, const address_list *starts,
			range_list *gaps)
{
	uint64_t covered_end = 0;
	size_t next = 0;

	for (size_t i = 0; i < symbols->linker_symbols.count; i++) {
		const struct vg_linker_symbol *symbol = &symbols->linker_symbols.items[i];
		struct vg_symbol_range gap;
		uint64_t end;

		if (symbol->size_bytes == 0 ||
		    __builtin_add_overflow(symbol->address, symbol->size_bytes, &end))
			continue;
		/* A symbol inside a larger one, such as a second entry point, does not end the
		 * larger one. */
		if (end > covered_end)
			covered_end = end;
		while (next < starts->count && starts->items[next] <= symbol->address)
			next++;
		gap.address = covered_end;
		end = next < starts->count ? starts->items[next] : UINT64_MAX;
		if (end <= covered_end || end - covered_end <= PADDING_MAX_BYTES)
			continue;
		gap.size_bytes = end - covered_end;
		if (vg_array_push(gaps, &gap) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int piece_push(range_list *pieces, uint64_t low, uint64_t high)
{
	struct vg_symbol_range piece = { low, high - low };

	return low < high ? vg_array_push(pieces, &piece) : 0;
}

/* Both lists are sorted.  Gaps do not overlap, because each ends before the next symbol. */
static int sections_cut_gaps(struct vg_symbols *symbols, const range_list *gaps)
{
	range_list pieces = { 0 };
	size_t at = 0;
	int rc = 0;

	for (size_t i = 0; i < symbols->sections.count && rc == 0; i++) {
		uint64_t low = symbols->sections.items[i].address;
		uint64_t end = low + symbols->sections.items[i].size_bytes;

		while (at < gaps->count && rc == 0) {
			uint64_t gap_start = gaps->items[at].address;
			uint64_t to = gap_start + gaps->items[at].size_bytes;

			if (gap_start >= end)
				break;
			if (to > low && (to < end ? to : end) - gap_start > PADDING_MAX_BYTES) {
				rc = piece_push(&pieces, low, gap_start);
				low = to < end ? to : end;
			}
			if (to > end)
				break;
			at++;
		}
		if (rc == 0)
			rc = piece_push(&pieces, low, end);
	}
	if (rc != 0) {
		vg_array_free(&pieces);
		return rc;
	}
	free(symbols->sections.items);
	memcpy(&symbols->sections, &pieces, sizeof pieces);
	return 0;
}

int vg_elf_symbols_cut_gaps(struct vg_symbols *symbols)
{
	address_list starts = { 0 };
	range_list gaps = { 0 };
	int rc;

	if (symbols->linker_symbols.count == 0 || symbols->sections.count == 0)
		return 0;
	vg_sort_by(symbols->linker_symbols.items, symbols->linker_symbols.count, address);
	rc = starts_collect(symbols, &starts);
	if (rc == 0)
		rc = gaps_collect(symbols, &starts, &gaps);
	if (rc == 0)
		rc = sections_cut_gaps(symbols, &gaps);
	vg_array_free(&starts);
	vg_array_free(&gaps);
	return rc;
}
