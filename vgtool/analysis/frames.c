/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int key_number(struct vg_frames *frames, const struct vg_frame_key *key, uint32_t *number)
{
	int rc = vg_intern(&frames->keys, key, sizeof *key, number);

	frames->count = frames->keys.count;
	return rc < 0 ? rc : 0;
}

static int function_number(struct vg_frames *frames, const struct vg_function *function,
			   uint32_t *number)
{
	struct vg_frame_key key = { function->name, function->file, VG_NONE, 0 };

	if (function->module != VG_NONE)
		key.module = frames->profile->modules.items[function->module].name;
	return key_number(frames, &key, number);
}

/* seccomp_syscall_resolve_num_arch(3) takes an int, and negative numbers mean pseudo calls of libseccomp.  So a number
 * above INT_MAX must not be converted to int. */
static void syscall_name_print(char *room, size_t room_bytes, const char *arch, uint64_t number)
{
	uint32_t token = seccomp_arch_resolve_name(arch);
	char *call = token != 0 && number <= INT_MAX ? seccomp_syscall_resolve_num_arch(token, (int)number) : NULL;

	if (call != NULL)
		snprintf(room, room_bytes, "[%s]", call);
	else
		snprintf(room, room_bytes, "[system call %" PRIu64 "]", number);
	free(call);
}

static int address_number(struct vg_frames *frames, const struct vg_stack *stack, uint32_t *number)
{
	struct vg_frame_key key = { 0, VG_NONE, VG_NONE, 1 };
	char name[VG_NAME_MAX_BYTES + 32];
	int rc;

	if (stack->found_by == VG_FOUND_BY_SYSTEM_CALL) {
		syscall_name_print(name, sizeof name, vg_profile_text(frames->profile, frames->profile->header.arch),
				   stack->address);
	} else if (stack->module != VG_NONE) {
		key.module = frames->profile->modules.items[stack->module].name;
		if (frames->by_module) {
			key.is_synthetic = 2;
			snprintf(name, sizeof name, "[%s]", vg_profile_text(frames->profile, key.module));
		} else {
			snprintf(name, sizeof name, "%s+0x%" PRIx64,
				 vg_profile_text(frames->profile, key.module), stack->address);
		}
	} else if (vg_profile_jit_name(frames->profile, stack->address) != VG_NONE) {
		snprintf(name, sizeof name, "%s",
			 vg_profile_text(frames->profile,
					 vg_profile_jit_name(frames->profile, stack->address)));
	} else {
		snprintf(name, sizeof name, "0x%" PRIx64, stack->address);
	}
	rc = vg_intern_string(&frames->names, name, &key.name);
	return rc < 0 ? rc : key_number(frames, &key, number);
}

static int node_build(struct vg_frames *frames, const struct vg_stack *stack,
		      struct vg_frame_node *node)
{
	const struct vg_profile *profile = frames->profile;
	const struct vg_symbol_line *lines;
	size_t count;

	lines = vg_profile_symbol(profile, stack->module, stack->address, &count);
	if (stack->found_by == VG_FOUND_BY_SYSTEM_CALL)
		count = 0;
	node->line_count = (uint32_t)(count < VG_FRAME_INLINES_MAX ? count : VG_FRAME_INLINES_MAX);
	if (node->line_count == 0)
		return address_number(frames, stack, &node->first);
	node->first = (uint32_t)(lines - profile->symbol_lines.items);
	return 0;
}

static int frames_build(struct vg_frames *frames, const struct vg_profile *profile, bool by_module)
{
	int rc = 0;

	*frames = (struct vg_frames){ .profile = profile, .by_module = by_module };
	frames->nodes = calloc(profile->stacks.count + 1, sizeof *frames->nodes);
	frames->by_function = calloc(profile->functions.count + 1, sizeof *frames->by_function);
	if (frames->nodes == NULL || frames->by_function == NULL)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < profile->functions.count; i++)
		rc = function_number(frames, &profile->functions.items[i], &frames->by_function[i]);
	for (size_t i = 0; rc == 0 && i < profile->stacks.count; i++)
		rc = node_build(frames, &profile->stacks.items[i], &frames->nodes[i]);
	return rc;
}

int vg_frames_build(struct vg_frames *frames, const struct vg_profile *profile)
{
	return frames_build(frames, profile, false);
}

int vg_frames_build_by_module(struct vg_frames *frames, const struct vg_profile *profile)
{
	return frames_build(frames, profile, true);
}

void vg_frames_free(struct vg_frames *frames)
{
	vg_intern_free(&frames->keys);
	vg_intern_free(&frames->names);
	free(frames->nodes);
	free(frames->by_function);
	*frames = (struct vg_frames){ 0 };
}

size_t vg_frames_count(const struct vg_frames *frames, uint32_t node)
{
	return frames->nodes[node].line_count > 0 ? frames->nodes[node].line_count : 1;
}

struct vg_frame vg_frames_at(const struct vg_frames *frames, uint32_t node, size_t i)
{
	const struct vg_frame_node *at = &frames->nodes[node];
	const struct vg_symbol_line *line;

	if (at->line_count == 0)
		return (struct vg_frame){ at->first, 0, false };
	line = &frames->profile->symbol_lines.items[at->first + i];
	return (struct vg_frame){ frames->by_function[line->function], line->line,
				  i + 1 < at->line_count };
}

struct vg_function_view vg_frames_function(const struct vg_frames *frames, uint32_t function)
{
	struct vg_function_view view;
	struct vg_frame_key key;

	memcpy(&key, vg_intern_bytes(&frames->keys, function, NULL), sizeof key);
	view.name = key.is_synthetic ? vg_intern_text(&frames->names, key.name) :
		    vg_profile_text(frames->profile, key.name);
	view.is_module = key.is_synthetic == 2;
	view.file = vg_profile_text(frames->profile, key.file);
	view.module = vg_profile_text(frames->profile, key.module);
	return view;
}
