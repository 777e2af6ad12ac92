/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_ARRAY_H
#define VG_BASE_ARRAY_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Arrays that grow by doubling.  VG_ARRAY(struct foo) declares a struct with the members items, count and capacity.
 * A zeroed array is empty.  vg_array_push() may move the items: keep indices, not pointers.
 *
 * 	VG_ARRAY(uint64_t) ids = { 0 };
 * 	if (vg_array_push(&ids, &id) != 0)
 * 		return -ENOMEM;
 * 	use(ids.items[ids.count - 1]);
 * 	vg_array_free(&ids);             // empty again
 */
#define VG_ARRAY(type) struct { type *items; size_t count, capacity; }

/* Makes room for `more` additional items.  Returns 0, or -ENOMEM with the array unchanged. */
#define vg_array_reserve(array, more) \
	vg_array_grow((void **)&(array)->items, &(array)->capacity, (array)->count, (more), \
		      sizeof *(array)->items)

/* Appends a copy of *item.  Returns 0 or -ENOMEM. */
#define vg_array_push(array, item) \
	(vg_array_reserve((array), 1) ? -ENOMEM : \
	 ((array)->items[(array)->count++] = *(item), 0))

/* Appends zeroed items until there are `wanted`.  Returns 0, or -ENOMEM with the array unchanged. */
#define vg_array_extend(array, wanted) \
	vg_array_fill((void **)&(array)->items, &(array)->count, &(array)->capacity, (wanted), sizeof *(array)->items)

#define vg_array_free(array) \
	(free((array)->items), memset((array), 0, sizeof *(array)), (void)0)

static inline int vg_array_grow(void **items, size_t *capacity, size_t count, size_t more,
				size_t item_bytes)
{
	size_t need, room = *capacity ? *capacity : 16;
	void *grown;

	if (__builtin_add_overflow(count, more, &need))
		return -ENOMEM;
	if (need <= *capacity)
		return 0;
	while (room < need) {
		if (__builtin_mul_overflow(room, (size_t)2, &room))
			return -ENOMEM;
	}
	grown = reallocarray(*items, room, item_bytes);
	if (grown == NULL)
		return -ENOMEM;
	*items = grown;
	*capacity = room;
	return 0;
}

static inline int vg_array_fill(void **items, size_t *count, size_t *capacity, size_t wanted, size_t item_bytes)
{
	if (wanted <= *count)
		return 0;
	if (vg_array_grow(items, capacity, *count, wanted - *count, item_bytes) != 0)
		return -ENOMEM;
	memset((char *)*items + *count * item_bytes, 0, (wanted - *count) * item_bytes);
	*count = wanted;
	return 0;
}

#endif
