/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_MERGING_H
#define VG_PROFILE_MERGING_H

#include "profile/merge.h"

/* The profile that is being added, shared by merge.c and the merging_*.c files only.  The arrays map its indices to
 * those of the merged profile. */
struct vg_merging {
	struct vg_merge *merge;
	const struct vg_profile *from;
	struct vg_profile *to;
	uint32_t *strings, *modules, *functions;
	uint32_t process, first_thread, first_stack, first_sample; /* its first indices in the merged profile */
	uint32_t counters[VG_PERF_COUNTERS_MAX]; /* VG_NONE: the merged profile has no room for the counter */
};

/* Both return the merged profile's index for an index of the part.  vg_merging_map() reads it from a map.
 * vg_merging_shift() adds the index that the part's first item got. */
static inline uint32_t vg_merging_map(const uint32_t *map, uint32_t index)
{
	return index == VG_NONE ? VG_NONE : map[index];
}

static inline uint32_t vg_merging_shift(uint32_t index, uint32_t first)
{
	return index == VG_NONE ? VG_NONE : first + index;
}

/* Each function adds one table of the part (the profile that is being added), and sets the table's map.  The first
 * three must be called first, in this order.  The caller frees the maps.  Each returns 0 or -ENOMEM. */
int vg_merging_strings(struct vg_merging *part);
int vg_merging_modules(struct vg_merging *part);
int vg_merging_functions(struct vg_merging *part);
int vg_merging_symbols(struct vg_merging *part);
int vg_merging_threads(struct vg_merging *part);
int vg_merging_stacks(struct vg_merging *part);
int vg_merging_jit_code(struct vg_merging *part);
int vg_merging_samples(struct vg_merging *part);
int vg_merging_events(struct vg_merging *part);
int vg_merging_counter_readings(struct vg_merging *part);

#endif
