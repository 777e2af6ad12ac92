/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/stack_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sum.h"

/* The slot of a stack in by_stack.  A chain has one walk end.  The slots of empty stacks follow those of the chains. */
static size_t slot_of(const struct vg_chains *chains, const struct vg_sample *sample)
{
	return sample->stack != VG_NONE ? chains->by_node[sample->stack] : chains->nodes.count + sample->end;
}

int vg_stack_sums_build(struct vg_stack_sums *sums, const struct vg_profile *profile, const struct vg_chains *chains,
			enum vg_weight weight)
{
	/* Index in items, + 1; 0: none. */
	uint32_t *by_stack = calloc(chains->nodes.count + UINT8_MAX + 1, sizeof *by_stack);
	int rc = by_stack != NULL ? 0 : -ENOMEM;

	*sums = (struct vg_stack_sums){ 0 };
	for (size_t i = 0; rc == 0 && i < profile->samples.count; i++) {
		const struct vg_sample *sample = &profile->samples.items[i];
		const struct vg_stack_sum fresh = { sample->stack, sample->end, vg_weight_of(sample, weight) };
		uint32_t *index = &by_stack[slot_of(chains, sample)];

		if (fresh.weight_ns == 0)
			continue;
		if (*index > 0) {
			uint64_t *sum_ns = &sums->items.items[*index - 1].weight_ns;

			*sum_ns = vg_sum(*sum_ns, fresh.weight_ns);
			continue;
		}
		rc = vg_array_push(&sums->items, &fresh);
		*index = (uint32_t)sums->items.count;
	}
	free(by_stack);
	return rc;
}

void vg_stack_sums_free(struct vg_stack_sums *sums)
{
	vg_array_free(&sums->items);
}
