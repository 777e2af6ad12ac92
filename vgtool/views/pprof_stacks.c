/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/pprof_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- building ---- */

static int location_find(struct vg_pprof_stacks *stacks, uint32_t node, uint32_t *number)
{
	const struct vg_stack *stack = &stacks->profile->stacks.items[node];
	struct vg_pprof_location key = { stack->address, stack->module, VG_NONE };
	int rc;

	if (stacks->frames.nodes[node].line_count == 0)
		key.function = vg_frames_at(&stacks->frames, node, 0).function;
	/* The address of a system call is its number. */
	if (stack->found_by == VG_FOUND_BY_SYSTEM_CALL) {
		key.module = VG_NONE;
		key.address = 0;
	}
	rc = vg_intern(&stacks->locations, &key, sizeof key, number);
	if (rc > 0)
		rc = vg_array_push(&stacks->nodes, &node);
	return rc;
}

static int stack_find(struct vg_pprof_stacks *stacks, uint32_t node)
{
	uint32_t parent = stacks->profile->stacks.items[node].parent, *number = &stacks->of_node[node];
	struct vg_pprof_stack key = { parent != VG_NONE ? stacks->of_node[parent] : VG_NONE, 0 };
	struct vg_pprof_step step;
	int rc = location_find(stacks, node, &key.location);

	if (rc >= 0)
		rc = vg_intern(&stacks->stacks, &key, sizeof key, number);
	if (rc <= 0)
		return rc;
	step.stack = key;
	step.depth = key.caller != VG_NONE ? stacks->steps.items[key.caller].depth + 1 : 1;
	step.outer = step.depth <= VG_PPROF_OUTERMOST ? *number : stacks->steps.items[key.caller].outer;
	return vg_array_push(&stacks->steps, &step);
}

int vg_pprof_stacks_build(struct vg_pprof_stacks *stacks, const struct vg_profile *profile)
{
	int rc;

	*stacks = (struct vg_pprof_stacks){ .profile = profile };
	stacks->of_node = calloc(profile->stacks.count + 1, sizeof *stacks->of_node);
	rc = stacks->of_node != NULL ? vg_frames_build_rows(&stacks->frames, profile, VG_FRAMES_FUNCTION, true) : -ENOMEM;
	for (uint32_t node = 0; rc >= 0 && node < profile->stacks.count; node++)
		rc = stack_find(stacks, node);
	return rc < 0 ? rc : 0;
}

void vg_pprof_stacks_free(struct vg_pprof_stacks *stacks)
{
	vg_frames_free(&stacks->frames);
	vg_intern_free(&stacks->locations);
	vg_array_free(&stacks->nodes);
	vg_intern_free(&stacks->stacks);
	vg_array_free(&stacks->steps);
	free(stacks->of_node);
	stacks->of_node = NULL;
	vg_intern_free(&stacks->synthetic);
}

/* ---- the locations of a stack ---- */

/* The id of a location that is in no stack of the profile.  The ids of the others are lower. */
static uint64_t synthetic_id(struct vg_pprof_stacks *stacks, struct vg_pprof_file *file, const char *name)
{
	uint32_t number = 0;

	if (vg_intern_string(&stacks->synthetic, name, &number) < 0)
		file->failed = -ENOMEM;
	return (uint64_t)stacks->locations.count + number + 1;
}

/* Adds the locations of the stack and its callers, at most `count`, and returns how many. */
static size_t path_add(const struct vg_pprof_stacks *stacks, uint32_t stack, size_t count, uint64_t *ids)
{
	size_t added = 0;

	for (; stack != VG_NONE && added < count; stack = stacks->steps.items[stack].stack.caller)
		ids[added++] = (uint64_t)stacks->steps.items[stack].stack.location + 1;
	return added;
}

size_t vg_pprof_stack_locations(struct vg_pprof_stacks *stacks, struct vg_pprof_file *file, uint32_t stack,
				uint8_t end, uint64_t *ids)
{
	enum { INNERMOST = VG_PPROF_LOCATIONS_MAX - 1 - VG_PPROF_OUTERMOST };
	const struct vg_pprof_step *step = stack != VG_NONE ? &stacks->steps.items[stack] : NULL;
	struct vg_incomplete_name incomplete;
	size_t count = 0;
	char name[32];

	if (step != NULL && step->depth > VG_PPROF_LOCATIONS_MAX) {
		count = path_add(stacks, stack, INNERMOST, ids);
		snprintf(name, sizeof name, "[%" PRIu32 " frames cut]",
			 step->depth - INNERMOST - VG_PPROF_OUTERMOST);
		ids[count++] = synthetic_id(stacks, file, name);
		count += path_add(stacks, step->outer, VG_PPROF_OUTERMOST, ids + count);
	} else {
		count = path_add(stacks, stack, VG_PPROF_LOCATIONS_MAX, ids);
	}
	if (end != VG_WALK_ROOT)
		ids[count++] = synthetic_id(stacks, file, vg_incomplete_name(end, &incomplete));
	else if (count == 0)
		ids[count++] = synthetic_id(stacks, file, "[idle]");
	return count;
}
