/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_OPEN_INTERVALS_H
#define VG_VIGNETTED_OPEN_INTERVALS_H

#include <stdbool.h>

#include "base/hash.h"
#include "profile/writer.h"

/* An interval that has begun, or in vg_open_intervals_note() any event. */
struct vg_open_interval {
	struct vg_writer_event event; /* its begin; token 0: a free slot */
	pid_t tid;                   /* of the event's thread */
};

/* A hash table of open intervals, by token.  All zero is an empty table, except for `max`. */
struct vg_open_intervals {
	struct vg_open_interval *slots; /* owned */
	size_t size;                 /* a power of two, or 0 */
	size_t count;
	size_t max;                  /* the most intervals; set by the caller */
	struct vg_hash_key hash_key; /* keyed, because the program chooses the tokens */
};

/* Adds a copy of `begin`.  Returns false if its token is 0, if the table has `max` intervals, or if memory is short. */
bool vg_open_intervals_add(struct vg_open_intervals *open, const struct vg_open_interval *begin);

/* Does nothing if the token is not in the table. */
void vg_open_intervals_remove(struct vg_open_intervals *open, uint64_t token);

/* Adds or removes the interval that the event begins or ends.  If the table is full, a new interval is left out. */
void vg_open_intervals_note(struct vg_open_intervals *open, const struct vg_open_interval *interval);

/* Removes the intervals that only threads could end which have ended.  Sets the thread of detached intervals of ended
 * threads to VG_NONE: another thread may get its id. */
void vg_open_intervals_threads_forget(struct vg_open_intervals *open, const struct vg_writer *writer);

/* Returns an array with copies of all `count` intervals, ordered by time.  The caller frees it.  NULL: the table is
 * empty, or memory is short. */
struct vg_open_interval *vg_open_intervals_list(const struct vg_open_intervals *open);

void vg_open_intervals_free(struct vg_open_intervals *open);

#endif
