/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_SORTED_H
#define VG_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>

/*
 * Arrays sorted by a key, a member of type uint64_t (an address, an id, a time).  `items` may be NULL if count is 0.
 *
 * 	vg_sort_by(ranges, count, start);
 * 	at = vg_count_at_most(ranges, count, start, address);    // ranges[at - 1].start <= address
 */

/* Offset of the key in an item.  Fails to compile if the key is not a uint64_t. */
#define VG_KEY_OFFSET(items, key) \
	(offsetof(__typeof__(*(items)), key) + 0 * sizeof(char[ \
	 __builtin_types_compatible_p(__typeof__((items)->key), uint64_t) ? 1 : -1]))

/* Sorts the items.  Cheap if they are sorted already. */
#define vg_sort_by(items, count, key) \
	vg_sorted_sort((items), (count), sizeof *(items), VG_KEY_OFFSET(items, key))

/* Number of items with a key of at most `value`: this is also the index of the first item above `value`. */
#define vg_count_at_most(items, count, key, value) \
	vg_sorted_count_at_most((items), (count), sizeof *(items), VG_KEY_OFFSET(items, key), (value))

/* Number of items with a key below `value`: this is also the index of the first item at or above `value`. */
#define vg_count_below(items, count, key, value) \
	vg_sorted_count_below((items), (count), sizeof *(items), VG_KEY_OFFSET(items, key), (value))

/* The functions behind the macros.  For arrays of plain uint64_t use offset 0. */
void vg_sorted_sort(void *items, size_t count, size_t item_bytes, size_t key_offset);

static inline uint64_t vg_sorted_key(const void *items, size_t index, size_t item_bytes,
				     size_t key_offset)
{
	return *(const uint64_t *)((const char *)items + index * item_bytes + key_offset);
}

static inline size_t vg_sorted_count_at_most(const void *items, size_t count, size_t item_bytes,
					     size_t key_offset, uint64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (vg_sorted_key(items, middle, item_bytes, key_offset) <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static inline size_t vg_sorted_count_below(const void *items, size_t count, size_t item_bytes,
					   size_t key_offset, uint64_t value)
{
	return value == 0 ? 0 : vg_sorted_count_at_most(items, count, item_bytes, key_offset, value - 1);
}

#endif
