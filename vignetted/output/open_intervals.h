/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_OPEN_INTERVALS_H
#define VG_VIGNETTED_OPEN_INTERVALS_H

#include <stdbool.h>

#include "base/hash.h"
#include "vignetted/output/event_queue.h"

/* A hash table of the events that begin intervals, by token.  All zero is an empty table, except for `max`. */
struct vg_open_intervals {
	struct vg_queue_entry *slots; /* owned; a slot with token 0 is free */
	size_t size;                 /* a power of two, or 0 */
	size_t count;
	size_t max;                  /* the most intervals; set by the caller */
	struct vg_hash_key hash_key; /* keyed, because the program chooses the tokens */
};

/* Adds a copy of `begin`.  Returns false if its token is 0, if the table has `max` intervals, or if memory is short. */
bool vg_open_intervals_add(struct vg_open_intervals *open, const struct vg_queue_entry *begin);

/* Does nothing if the token is not in the table. */
void vg_open_intervals_remove(struct vg_open_intervals *open, uint64_t token);

/* Returns an array with copies of all `count` intervals, ordered by time.  The caller frees it.  NULL: the table is
 * empty, or memory is short. */
struct vg_queue_entry *vg_open_intervals_list(const struct vg_open_intervals *open);

void vg_open_intervals_free(struct vg_open_intervals *open);

#endif
