/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PART_H
#define VG_VGTOOL_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/*
 * Selects what belongs to a time range of a profile: samples, instants, counters and readings of perf counters in the
 * range, and intervals that were open in it; then the threads, stacks, modules, symbols and JIT code of those.
 *
 * An interval that began before the range is selected with its begin event.  So is an interval around a selected one.
 * Time and memory are proportional to the profile.
 *
 *	struct vg_part part = { .begin_ns = begin_ns, .end_ns = end_ns };
 *	if (vg_part_select(&part, profile) == 0 && part.stacks[0])
 *		... some sample of the range has the frame 0 ...
 *	vg_part_free(&part);
 */
struct vg_part {
	uint64_t begin_ns, end_ns;   /* set by the caller: begin_ns <= time < end_ns, as in struct vg_sample_filter.
	                                vg_part_select() rounds both up to microseconds, in which samples are timed */

	/* Results, freed by vg_part_free().  Each array has one byte for each item of the profile's array: 0 is not
	 * selected, otherwise 1 or what the comment says. */
	const struct vg_profile *profile;
	unsigned char *samples, *events, *counter_readings;
	unsigned char *threads;      /* VG_PART_MAIN_THREAD: only because it is the main thread */
	unsigned char *stacks, *modules, *jit_code;
	unsigned char *symbols;      /* VG_PART_KERNEL: the name of a kernel function */
	size_t sample_count, event_count;
};

enum { VG_PART_MAIN_THREAD = 2, VG_PART_KERNEL = 2 };

/* The profile has one process.  Returns 0 or -ENOMEM; call vg_part_free() in either case. */
int vg_part_select(struct vg_part *part, const struct vg_profile *profile);
void vg_part_free(struct vg_part *part);

#endif
