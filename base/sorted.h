/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_SORTED_H
#define VG_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>

/*
 * Arrays that are sorted by a member of type uint64_t, the key: an address, an id, a time.  `items`
 * may be NULL where count is 0.
 */

/* Where the key lies in an item; another type than uint64_t does not compile. */
#define VG_KEY_OFFSET(items, key) \
	(offsetof(__typeof__(*(items)), key) + 0 * sizeof(char[ \
	 __builtin_types_compatible_p(__typeof__((items)->key), uint64_t) ? 1 : -1]))

/* Sorts the items, unless they are sorted already. */
#define vg_sort_by(items, count, key) \
	vg_sorted_sort((items), (count), sizeof *(items), VG_KEY_OFFSET(items, key))

/* How many of the items have a key of at most `value`: the index of the first item above. */
#define vg_count_to(items, count, key, value) \
	vg_sorted_count_to((items), (count), sizeof *(items), VG_KEY_OFFSET(items, key), (value))

/* How many of the items have a key below `value`: the index of the first item that has not. */
#define vg_count_below(items, count, key, value) \
	vg_sorted_count_below((items), (count), sizeof *(items), VG_KEY_OFFSET(items, key), (value))

/* The functions behind the macros; for arrays of plain numbers, with offset 0. */
void vg_sorted_sort(void *items, size_t count, size_t item_bytes, size_t key_offset);

static inline uint64_t vg_sorted_key(const void *items, size_t index, size_t item_bytes,
				     size_t key_offset)
{
	return *(const uint64_t *)((const char *)items + index * item_bytes + key_offset);
}

static inline size_t vg_sorted_count_to(const void *items, size_t count, size_t item_bytes,
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
	return value == 0 ? 0 : vg_sorted_count_to(items, count, item_bytes, key_offset, value - 1);
}

#endif
