/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FIREFOX_IDS_H
#define VG_VGTOOL_FIREFOX_IDS_H

#include <stdint.h>

#include "base/array.h"

/*
 * Numbers for the ids that one thread uses: 0, 1, 2, ... in the order of their first use.  In version 50 of the format
 * each thread has tables of its own.  So a thread costs time and space for what it uses only.
 *
 *	vg_firefox_ids_open(&ids, count);
 *	for (each thread) {
 *		vg_firefox_ids_clear(&ids);
 *		vg_firefox_ids_use(&ids, id);
 *		... ids.used.items[number] == id, vg_firefox_ids_number(&ids, id) == number ...
 *	}
 *	vg_firefox_ids_close(&ids);
 */
struct vg_firefox_ids {
	struct vg_firefox_id {
		uint32_t round;      /* the number is valid if this is the table's round */
		uint32_t number;
	} *by_id;
	uint32_t round;
	VG_ARRAY(uint32_t) used;     /* ids, by number */
};

static inline int vg_firefox_ids_open(struct vg_firefox_ids *ids, size_t count)
{
	*ids = (struct vg_firefox_ids){ .by_id = calloc(count + 1, sizeof *ids->by_id), .round = 1 };
	return ids->by_id != NULL ? 0 : -ENOMEM;
}

static inline void vg_firefox_ids_close(struct vg_firefox_ids *ids)
{
	free(ids->by_id);
	vg_array_free(&ids->used);
	ids->by_id = NULL;
}

static inline void vg_firefox_ids_clear(struct vg_firefox_ids *ids)
{
	ids->round++;
	ids->used.count = 0;
}

/* Returns 1 if the id is new in this thread, 0 if not, or -ENOMEM. */
static inline int vg_firefox_ids_use(struct vg_firefox_ids *ids, uint32_t id)
{
	struct vg_firefox_id *entry = &ids->by_id[id];

	if (entry->round == ids->round)
		return 0;
	*entry = (struct vg_firefox_id){ ids->round, (uint32_t)ids->used.count };
	return vg_array_push(&ids->used, &id) == 0 ? 1 : -ENOMEM;
}

/* The number of an id that the thread uses. */
static inline uint32_t vg_firefox_ids_number(const struct vg_firefox_ids *ids, uint32_t id)
{
	return ids->by_id[id].number;
}

#endif
