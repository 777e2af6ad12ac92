/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_STACK_SUMS_H
#define VG_VGTOOL_STACK_SUMS_H

#include "vgtool/analysis/chains.h"
#include "vgtool/analysis/thread_samples.h"

/*
 * The distinct stacks of all threads, each with the sum of its samples' weights.  Two stacks are the same if they have
 * the same chain (chains.h), or if both are empty and their walks ended for the same reason.  Stacks without weight are
 * left out.  The stacks are in the order of their first samples.
 *
 *	vg_stack_sums_build(&sums, profile, &chains, VG_WEIGHT_CPU);
 *	for (size_t i = 0; i < sums.items.count; i++)
 *		... sums.items.items[i].stack ...
 *	vg_stack_sums_free(&sums);
 */
struct vg_stack_sum {
	uint32_t stack;              /* node of the leaf frame; VG_NONE: no frames */
	uint8_t end;                 /* enum vg_walk_end */
	uint64_t weight_ns;
};

struct vg_stack_sums {
	VG_ARRAY(struct vg_stack_sum) items;
};

/* Returns 0 or -ENOMEM; call vg_stack_sums_free() in either case. */
int vg_stack_sums_build(struct vg_stack_sums *sums, const struct vg_profile *profile, const struct vg_chains *chains,
			enum vg_weight weight);
void vg_stack_sums_free(struct vg_stack_sums *sums);

#endif
