/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_OPEN_INTERVALS_H
#define VG_VIGNETTED_OPEN_INTERVALS_H

#include <stdbool.h>

#include "base/hash.h"
#include "vignetted/output/tape.h"

/* Beginnings of intervals, by their tokens.  All zero is an empty set. */
struct vg_open_intervals {
	struct vg_tape_entry *slots; /* token 0: free; owned */
	size_t size;                 /* a power of two, or 0 */
	size_t count;
	size_t max;                  /* to be set */
	struct vg_hash_key hash_key; /* tokens are the program's to choose */
};

/* Keeps a copy.  false: there are too many, or no memory. */
bool vg_open_intervals_add(struct vg_open_intervals *open, const struct vg_tape_entry *begin);

/* Does nothing to one that is not there. */
void vg_open_intervals_remove(struct vg_open_intervals *open, uint64_t token);

/* A copy of all, by time, which is the caller's; NULL: none, or no memory. */
struct vg_tape_entry *vg_open_intervals_list(const struct vg_open_intervals *open);

void vg_open_intervals_free(struct vg_open_intervals *open);

#endif
