/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_publics.h"

#include "base/sorted.h"

/*
 * A PUBLIC record has no size, so that the code behind an exported function, of functions that
 * are not exported, would bear its name.  What bounds publics in the table and in the text
 * alike are the stretches of code: those are cut where nothing has a name.
 */

/* Functions are aligned to this: a shorter gap holds padding, and would cost a record for
 * nearly every function. */
#define PADDING_MAX_BYTES 15

typedef VG_ARRAY(uint64_t) address_list;
typedef VG_ARRAY(struct vg_symbol_range) range_list;

/* Where functions and publics begin, sorted. */
static int starts_collect(const struct vg_symbols *symbols, address_list *starts)
{
	if (vg_array_reserve(starts, symbols->functions.count + symbols->publics.count) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < symbols->functions.count; i++)
		starts->items[starts->count++] = symbols->functions.items[i].address;
	for (size_t i = 0; i < symbols->publics.count; i++)
		starts->items[starts->count++] = symbols->publics.items[i].address;
	vg_sorted_sort(starts->items, starts->count, sizeof *starts->items, 0);
	return 0;
}

/* Publics are sorted.  A gap reaches up to the next start, beyond all sections after the last. */
static int gaps_collect(const struct vg_symbols *symbols, const address_list *starts,
			range_list *gaps)
{
	uint64_t covered = 0;
	size_t next = 0;

	for (size_t i = 0; i < symbols->publics.count; i++) {
		const struct vg_symbol_public *symbol = &symbols->publics.items[i];
		struct vg_symbol_range gap;
		uint64_t end;

		if (symbol->size_bytes == 0 ||
		    __builtin_add_overflow(symbol->address, symbol->size_bytes, &end))
			continue;
		/* One within another, such as a second entry, must not cut that short. */
		if (end > covered)
			covered = end;
		while (next < starts->count && starts->items[next] <= symbol->address)
			next++;
		gap.address = covered;
		end = next < starts->count ? starts->items[next] : UINT64_MAX;
		if (end <= covered || end - covered <= PADDING_MAX_BYTES)
			continue;
		gap.size_bytes = end - covered;
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

/* Both lists are sorted; gaps do not overlap, as each ends before the next public. */
static int sections_cut(struct vg_symbols *symbols, const range_list *gaps)
{
	range_list pieces = { 0 };
	size_t at = 0;
	int rc = 0;

	for (size_t i = 0; i < symbols->sections.count && rc == 0; i++) {
		uint64_t low = symbols->sections.items[i].address;
		uint64_t end = low + symbols->sections.items[i].size_bytes;

		while (at < gaps->count && rc == 0) {
			uint64_t from = gaps->items[at].address;
			uint64_t to = from + gaps->items[at].size_bytes;

			if (from >= end)
				break;
			if (to > low && (to < end ? to : end) - from > PADDING_MAX_BYTES) {
				rc = piece_push(&pieces, low, from);
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

int vg_elf_publics_cut_gaps(struct vg_symbols *symbols)
{
	address_list starts = { 0 };
	range_list gaps = { 0 };
	int rc;

	if (symbols->publics.count == 0 || symbols->sections.count == 0)
		return 0;
	vg_sort_by(symbols->publics.items, symbols->publics.count, address);
	rc = starts_collect(symbols, &starts);
	if (rc == 0)
		rc = gaps_collect(symbols, &starts, &gaps);
	if (rc == 0)
		rc = sections_cut(symbols, &gaps);
	vg_array_free(&starts);
	vg_array_free(&gaps);
	return rc;
}
