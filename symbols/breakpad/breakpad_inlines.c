/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which of a function's inlined calls are at which of the wanted addresses. */
#include "symbols/breakpad/breakpad_inlines.h"

#include "symbols/breakpad/breakpad_wanted.h"

/* The parent of each call, or NONE: the nearest before it that is one less deep. */
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

static uint32_t skip_to_unset(uint32_t *skip, uint32_t at)
{
	while (skip[at] != at) {
		skip[at] = skip[skip[at]];
		at = skip[at];
	}
	return at;
}

/*
 * The innermost call at each wanted address of the function.  The last call that covers an address
 * is the innermost: so from the last one on, each sets those addresses that are not set yet, and
 * steps over the others at once (a disjoint-set forest, as in Tarjan's offline algorithms).
 */
static int innermost_find(struct vg_sym_reader *reader, const struct vg_symbol_function *function)
{
	const struct vg_symbols *symbols = reader->symbols;
	uint32_t count = (uint32_t)(reader->high - reader->low);
	const uint64_t *wanted = reader->wanted + reader->low;

	reader->innermost.count = reader->skip.count = 0;
	if (vg_array_reserve(&reader->innermost, count) != 0 ||
	    vg_array_reserve(&reader->skip, (size_t)count + 1) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i <= count; i++)
		reader->skip.items[i] = i;
	memset(reader->innermost.items, 0xff, count * sizeof *reader->innermost.items);
	for (uint32_t call = function->inline_count; call-- > 0;) {
		const struct vg_symbol_inline *of = &symbols->inlines.items[call];

		for (uint32_t i = 0; i < of->range_count; i++) {
			const struct vg_symbol_range *range =
				&symbols->ranges.items[of->first_range + i];
			uint32_t at = (uint32_t)(vg_sym_wanted_from(reader, range->address) -
						 reader->low);

			for (at = skip_to_unset(reader->skip.items, at);
			     at < count && wanted[at] - range->address < range->size_bytes;
			     at = skip_to_unset(reader->skip.items, at)) {
				reader->innermost.items[at] = call;
				reader->skip.items[at] = at + 1;
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
