/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/trimmed_stack.h"

#include <errno.h>
#include <stdlib.h>

int vg_trimmed_stack_build(struct vg_trimmed_stack *trimmed, const struct vg_frames *frames)
{
	const struct vg_profile *profile = frames->profile;

	*trimmed = (struct vg_trimmed_stack){ .frames = frames };
	trimmed->depths = calloc(profile->stacks.count + 1, sizeof *trimmed->depths);
	trimmed->outer = calloc(profile->stacks.count + 1, sizeof *trimmed->outer);
	if (trimmed->depths == NULL || trimmed->outer == NULL)
		return -ENOMEM;
	/* A caller has a lower number than its callees, so the parent's depth and outer are already set.  The depth
	 * fits in 32 bits: VG_STACK_DEPTH_MAX nodes with VG_FRAME_INLINES_MAX functions each. */
	for (uint32_t node = 0; node < profile->stacks.count; node++) {
		uint32_t parent = profile->stacks.items[node].parent;
		uint32_t above = parent != VG_NONE ? trimmed->depths[parent] : 0;

		trimmed->depths[node] = above + (uint32_t)vg_frames_count(frames, node);
		trimmed->outer[node] = above < VG_TRIMMED_STACK_OUTERMOST ? node : trimmed->outer[parent];
	}
	return 0;
}

void vg_trimmed_stack_free(struct vg_trimmed_stack *trimmed)
{
	free(trimmed->depths);
	free(trimmed->outer);
	trimmed->depths = trimmed->outer = NULL;
}

/* Skips the first `skipped` functions of the node.  Then appends `count` functions of the stack, or fewer if it
 * ends. */
static void functions_add(struct vg_trimmed_stack *trimmed, uint32_t node, size_t skipped, size_t count)
{
	size_t i = skipped;

	for (; node != VG_NONE; node = trimmed->frames->profile->stacks.items[node].parent, i = 0) {
		for (; i < vg_frames_count(trimmed->frames, node); i++) {
			if (count-- == 0)
				return;
			trimmed->functions[trimmed->count++] = vg_frames_at(trimmed->frames, node, i).function;
		}
	}
}

void vg_trimmed_stack_fill(struct vg_trimmed_stack *trimmed, uint32_t node, uint32_t functions_max)
{
	uint32_t outer;

	trimmed->count = 0;
	trimmed->cut = 0;
	if (node == VG_NONE)
		return;
	if (trimmed->depths[node] <= functions_max) {
		functions_add(trimmed, node, 0, functions_max);
		return;
	}
	trimmed->cut = trimmed->depths[node] - (functions_max - 1);
	functions_add(trimmed, node, 0, functions_max - 1 - VG_TRIMMED_STACK_OUTERMOST);
	trimmed->functions[trimmed->count++] = VG_TRIMMED_STACK_GAP;
	/* The depth of the parent of `outer` is below VG_TRIMMED_STACK_OUTERMOST.  So the functions that are skipped
	 * here all belong to the node `outer`. */
	outer = trimmed->outer[node];
	functions_add(trimmed, outer, trimmed->depths[outer] - VG_TRIMMED_STACK_OUTERMOST, VG_TRIMMED_STACK_OUTERMOST);
}
