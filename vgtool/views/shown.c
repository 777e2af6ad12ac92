/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/shown.h"

#include <errno.h>
#include <stdlib.h>

int vg_shown_build(struct vg_shown *shown, const struct vg_frames *frames)
{
	const struct vg_profile *profile = frames->profile;

	*shown = (struct vg_shown){ .frames = frames };
	shown->depths = calloc(profile->stacks.count + 1, sizeof *shown->depths);
	shown->outer = calloc(profile->stacks.count + 1, sizeof *shown->outer);
	if (shown->depths == NULL || shown->outer == NULL)
		return -ENOMEM;
	/* Callers have lower numbers.  VG_STACK_DEPTH_MAX nodes of VG_FRAME_INLINES_MAX fit in 32 bits. */
	for (uint32_t node = 0; node < profile->stacks.count; node++) {
		uint32_t parent = profile->stacks.items[node].parent;
		uint32_t above = parent != VG_NONE ? shown->depths[parent] : 0;

		shown->depths[node] = above + (uint32_t)vg_frames_count(frames, node);
		shown->outer[node] = above < VG_SHOWN_OUTERMOST ? node : shown->outer[parent];
	}
	return 0;
}

void vg_shown_free(struct vg_shown *shown)
{
	free(shown->depths);
	free(shown->outer);
	shown->depths = shown->outer = NULL;
}

/* Appends `count` functions of the stack at node, or as many as there are, behind the first `skipped`. */
static void functions_add(struct vg_shown *shown, uint32_t node, size_t skipped, size_t count)
{
	size_t i = skipped;

	for (; node != VG_NONE; node = shown->frames->profile->stacks.items[node].parent, i = 0) {
		for (; i < vg_frames_count(shown->frames, node); i++) {
			if (count-- == 0)
				return;
			shown->functions[shown->count++] = vg_frames_at(shown->frames, node, i).function;
		}
	}
}

void vg_shown_stack(struct vg_shown *shown, uint32_t node, uint32_t room)
{
	uint32_t outer;

	shown->count = 0;
	shown->cut = 0;
	if (node == VG_NONE)
		return;
	if (shown->depths[node] <= room) {
		functions_add(shown, node, 0, room);
		return;
	}
	shown->cut = shown->depths[node] - (room - 1);
	functions_add(shown, node, 0, room - 1 - VG_SHOWN_OUTERMOST);
	shown->functions[shown->count++] = VG_SHOWN_CUT;
	/* Its caller is less deep than that: what is skipped lies in this node. */
	outer = shown->outer[node];
	functions_add(shown, outer, shown->depths[outer] - VG_SHOWN_OUTERMOST, VG_SHOWN_OUTERMOST);
}
