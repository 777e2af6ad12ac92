/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/instruction_frames.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sum.h"

static bool is_instruction_frame(const struct vg_profile *profile, uint32_t node)
{
	return node != VG_NONE && profile->stacks.items[node].found_by == VG_FOUND_BY_INSTRUCTIONS;
}

int vg_instruction_frames_count(const struct vg_profile *profile, uint64_t *count)
{
	bool *has_frame = calloc(profile->stacks.count + 1, sizeof *has_frame); /* by node: it or one of its callers */

	*count = 0;
	if (has_frame == NULL)
		return -ENOMEM;
	/* Callers come before their callees. */
	for (uint32_t node = 0; node < profile->stacks.count; node++) {
		uint32_t parent = profile->stacks.items[node].parent;

		has_frame[node] = is_instruction_frame(profile, node) || (parent != VG_NONE && has_frame[parent]);
	}
	for (size_t i = 0; i < profile->samples.count; i++) {
		const struct vg_sample *sample = &profile->samples.items[i];

		if (sample->stack != VG_NONE && has_frame[sample->stack])
			*count = vg_sum(*count, sample->count);
	}
	free(has_frame);
	return 0;
}

void vg_instruction_frames_remove(struct vg_profile *profile)
{
	for (uint32_t node = 0; node < profile->stacks.count; node++) {
		struct vg_stack *stack = &profile->stacks.items[node];

		if (is_instruction_frame(profile, stack->parent)) {
			stack->parent = VG_NONE;
			stack->end = VG_WALK_NO_INFO;
		}
		stack->depth = 1;
		if (stack->parent != VG_NONE) {
			stack->depth += profile->stacks.items[stack->parent].depth;
			stack->end = profile->stacks.items[stack->parent].end;
		}
	}
	for (size_t i = 0; i < profile->samples.count; i++) {
		struct vg_sample *sample = &profile->samples.items[i];

		if (is_instruction_frame(profile, sample->stack)) {
			sample->stack = VG_NONE;
			sample->end = VG_WALK_NO_INFO;
		} else if (sample->stack != VG_NONE) {
			sample->end = profile->stacks.items[sample->stack].end;
		}
	}
}
