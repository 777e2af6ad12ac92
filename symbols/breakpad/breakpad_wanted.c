/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_wanted.h"

#include "base/sorted.h"

size_t vg_sym_wanted_search(struct vg_sym_reader *reader, uint64_t address)
{
	const uint64_t *wanted = reader->wanted;
	size_t low = reader->at, high = reader->high;

	/* The addresses of successive lines and ranges are mostly close together and rise, so first search
	 * linearly from the last result. */
	if (low < reader->low || low > high || (low > reader->low && wanted[low - 1] >= address)) {
		high = low < reader->low || low > high ? high : low;
		low = reader->low;
	}
	for (unsigned steps = 0; low < high && wanted[low] < address; low++) {
		if (++steps == 8)
			break;
	}
	low += vg_sorted_count_below(wanted + low, high - low, sizeof *wanted, 0, address);
	return reader->at = low;
}
