/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/address_groups.h"

static int group_number(struct vg_frames *frames, const struct vg_stack *stack, uint32_t *number)
{
	const struct vg_profile *profile = frames->profile;
	struct vg_frame_key key = { .file = VG_NONE, .module = VG_NONE, .is_synthetic = 1 };
	const char *name = "[no module]";
	int rc;

	if (stack->module != VG_NONE) {
		key.module = profile->modules.items[stack->module].name;
		name = "[no symbol]";
	} else if (vg_profile_jit_name(profile, stack) != VG_NONE) {
		name = "[JIT code]";
	}
	rc = vg_intern_string(&frames->names, name, &key.name);
	if (rc >= 0)
		rc = vg_intern(&frames->keys, &key, sizeof key, number);
	frames->count = frames->keys.count;
	return rc < 0 ? rc : 0;
}

int vg_address_groups_merge(struct vg_frames *frames)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < frames->profile->stacks.count; i++) {
		const struct vg_stack *stack = &frames->profile->stacks.items[i];

		if (frames->nodes[i].line_count == 0 && stack->found_by != VG_FOUND_BY_SYSTEM_CALL)
			rc = group_number(frames, stack, &frames->nodes[i].first);
	}
	return rc;
}
