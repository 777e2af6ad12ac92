/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/sorted.h"

#include <stdlib.h>

static int key_compare(const void *left, const void *right, void *context)
{
	const size_t *key_offset = context;
	uint64_t a = vg_sorted_key(left, 0, 0, *key_offset), b = vg_sorted_key(right, 0, 0, *key_offset);

	return a < b ? -1 : a > b;
}

void vg_sorted_sort(void *items, size_t count, size_t item_bytes, size_t key_offset)
{
	for (size_t i = 1; i < count; i++) {
		if (vg_sorted_key(items, i, item_bytes, key_offset) <
		    vg_sorted_key(items, i - 1, item_bytes, key_offset)) {
			qsort_r(items, count, item_bytes, key_compare, &key_offset);
			return;
		}
	}
}
