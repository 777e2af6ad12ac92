/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finds the inlined calls at each wanted address of a function. */
#include "symbols/breakpad/breakpad_inlines.h"

#include "symbols/breakpad/breakpad_wanted.h"

/* Sets the parent of each call: the nearest earlier call whose depth is 1 less, or VG_SYMBOLS_NONE. */
static int parents_find(struct vg_sym_reader *reader, const struct vg_symbol_function *function)
{
	const struct vg_symbol_inline *calls = reader->symbols->inlines.items;

	reader->parents.count = reader->open_calls.count = 0;
	for (uint32_t at = 0; at < function->inline_count; at++) {
		uint32_t parent = VG_SYMBOLS_NONE;

		while (reader->open_calls.count > 0) {
			parent = reader->open_calls.items[reader->open_calls.count - 1];
			if (calls[parent].depth < calls[at].depth)
				break;
			reader->open_calls.count--;
			parent = VG_SYMBOLS_NONE;
		}
		if (parent != VG_SYMBOLS_NONE && calls[parent].depth + 1 != calls[at].depth)
			parent = VG_SYMBOLS_NONE;
		if (vg_array_push(&reader->parents, &parent) != 0 ||
		    vg_array_push(&reader->open_calls, &at) != 0)
			return -ENOMEM;
	}
	return 0;
}

static uint32_t next_unset_find(uint32_t *next_unset, uint32_t at)
{
	while (next_unset[at] != at) {
		next_unset[at] = next_unset[next_unset[at]];
		at = next_unset[at];
	}
	return at;
}

/*
 * Sets the innermost call at each wanted address of the function.  Calls are in preorder, so the
 * last call that covers an address is the innermost.  The calls are processed from the last to the
 * first, and each call sets those addresses in its ranges that are still unset.  next_unset is a
 * disjoint-set forest, as in Tarjan's offline algorithms.  It leads from any address to the next unset
 * address, so that addresses that are already set cost no time.
 */
static int innermost_find(struct vg_sym_reader *reader, const struct vg_symbol_function *function)
{
	const struct vg_symbols *symbols = reader->symbols;
	uint32_t count = (uint32_t)(reader->high - reader->low);
	const uint64_t *wanted = reader->wanted + reader->low;

	reader->innermost.count = reader->next_unset.count = 0;
	if (vg_array_reserve(&reader->innermost, count) != 0 ||
	    vg_array_reserve(&reader->next_unset, (size_t)count + 1) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i <= count; i++)
		reader->next_unset.items[i] = i;
	memset(reader->innermost.items, 0xff, count * sizeof *reader->innermost.items);
	for (uint32_t call = function->inline_count; call-- > 0;) {
		const struct vg_symbol_inline *of = &symbols->inlines.items[call];

		for (uint32_t i = 0; i < of->range_count; i++) {
			const struct vg_symbol_range *range =
				&symbols->ranges.items[of->first_range + i];
			uint32_t at = (uint32_t)(vg_sym_wanted_from(reader, range->address) -
						 reader->low);

			for (at = next_unset_find(reader->next_unset.items, at);
			     at < count && wanted[at] - range->address < range->size_bytes;
			     at = next_unset_find(reader->next_unset.items, at)) {
				reader->innermost.items[at] = call;
				reader->next_unset.items[at] = at + 1;
			}
		}
	}
	return 0;
}

int vg_sym_inlines_find(struct vg_sym_reader *reader, const struct vg_symbol_function *function)
{
	int rc;

	reader->frames.count = 0;
	rc = vg_array_reserve(&reader->frames, function->inline_count);
	if (rc != 0)
		return rc;
	memset(reader->frames.items, 0xff, function->inline_count * sizeof *reader->frames.items);
	rc = parents_find(reader, function);
	return rc == 0 ? innermost_find(reader, function) : rc;
}
