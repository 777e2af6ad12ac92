/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *vg_frames_kind_name(enum vg_frames_kind kind)
{
	static const char *const names[] = { "function", "line", "module", "file" };

	return names[kind];
}

static int key_number(struct vg_frames *frames, const struct vg_frame_key *key, uint32_t *number)
{
	int rc = vg_intern(&frames->keys, key, sizeof *key, number);

	frames->count = frames->keys.count;
	return rc < 0 ? rc : 0;
}

static int named_number(struct vg_frames *frames, const char *name, struct vg_frame_key key, uint32_t *number)
{
	int rc = vg_intern_string(&frames->names, name, &key.name);

	return rc < 0 ? rc : key_number(frames, &key, number);
}

static int synthetic_number(struct vg_frames *frames, const char *name, uint32_t module, uint32_t *number)
{
	return named_number(frames, name, (struct vg_frame_key){
		.file = VG_NONE, .module = module, .is_synthetic = VG_SYNTHETIC_ADDRESS }, number);
}

/* All addresses of a module that have no symbols. */
static int unnamed_number(struct vg_frames *frames, uint32_t module, uint32_t *number)
{
	char name[VG_NAME_MAX_BYTES + 3];

	snprintf(name, sizeof name, "[%s]", vg_profile_text(frames->profile, module));
	return named_number(frames, name, (struct vg_frame_key){
		.file = VG_NONE, .module = module, .is_synthetic = VG_SYNTHETIC_MODULE }, number);
}

static uint32_t module_name(const struct vg_frames *frames, uint32_t module)
{
	return module != VG_NONE ? frames->profile->modules.items[module].name : VG_NONE;
}

static int module_number(struct vg_frames *frames, uint32_t module, uint32_t *number)
{
	struct vg_frame_key key = { module_name(frames, module), VG_NONE, VG_NONE, 0, 0 };

	if (key.name == VG_NONE)
		return synthetic_number(frames, "[no module]", VG_NONE, number);
	return key_number(frames, &key, number);
}

static int file_number(struct vg_frames *frames, uint32_t file, uint32_t module, uint32_t *number)
{
	struct vg_frame_key key = { file, file, VG_NONE, 0, 0 };

	if (file == VG_NONE)
		return synthetic_number(frames, "[no file]", module_name(frames, module), number);
	return key_number(frames, &key, number);
}

static int function_number(struct vg_frames *frames, const struct vg_function *function, uint32_t line,
			   uint32_t *number)
{
	struct vg_frame_key key = { function->name, function->file, module_name(frames, function->module), 0, line };

	if (frames->kind == VG_FRAMES_MODULE)
		return module_number(frames, function->module, number);
	if (frames->kind == VG_FRAMES_FILE)
		return file_number(frames, function->file, function->module, number);
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
	bool is_call = stack->found_by == VG_FOUND_BY_SYSTEM_CALL, is_coarse = frames->kind >= VG_FRAMES_MODULE;
	uint32_t jit_name = vg_profile_jit_name(frames->profile, stack);
	uint32_t module = is_call ? VG_NONE : module_name(frames, stack->module);
	char name[VG_NAME_MAX_BYTES + 32];

	if (is_coarse && !is_call && stack->module != VG_NONE)
		return frames->kind == VG_FRAMES_MODULE ? module_number(frames, stack->module, number) :
		       file_number(frames, VG_NONE, stack->module, number);
	if (is_coarse)
		return synthetic_number(frames, is_call ? "[system call]" : jit_name != VG_NONE ? "[JIT code]" :
					"[no module]", VG_NONE, number);
	if (is_call)
		syscall_name_print(name, sizeof name, vg_profile_text(frames->profile, frames->profile->header.arch),
				   stack->address);
	else if (module != VG_NONE && frames->by_module)
		return unnamed_number(frames, module, number);
	else if (module != VG_NONE)
		snprintf(name, sizeof name, "%s+0x%" PRIx64, vg_profile_text(frames->profile, module), stack->address);
	else if (jit_name != VG_NONE)
		snprintf(name, sizeof name, "%s", vg_profile_text(frames->profile, jit_name));
	else
		snprintf(name, sizeof name, "0x%" PRIx64, stack->address);
	return named_number(frames, name, (struct vg_frame_key){ .file = VG_NONE, .module = module, .is_synthetic =
		is_call ? VG_SYNTHETIC_SYSTEM_CALL : VG_SYNTHETIC_ADDRESS }, number);
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

static int lines_number(struct vg_frames *frames)
{
	const struct vg_profile *profile = frames->profile;
	int rc = 0;

	frames->by_line = calloc(profile->symbol_lines.count + 1, sizeof *frames->by_line);
	if (frames->by_line == NULL)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < profile->symbol_lines.count; i++) {
		const struct vg_symbol_line *line = &profile->symbol_lines.items[i];

		rc = function_number(frames, &profile->functions.items[line->function], line->line,
				     &frames->by_line[i]);
	}
	return rc;
}

static int functions_number(struct vg_frames *frames)
{
	const struct vg_profile *profile = frames->profile;
	int rc = 0;

	frames->by_function = calloc(profile->functions.count + 1, sizeof *frames->by_function);
	if (frames->by_function == NULL)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < profile->functions.count; i++)
		rc = function_number(frames, &profile->functions.items[i], 0, &frames->by_function[i]);
	return rc;
}

int vg_frames_build_rows(struct vg_frames *frames, const struct vg_profile *profile, enum vg_frames_kind kind,
			 bool by_module)
{
	int rc;

	*frames = (struct vg_frames){ .profile = profile, .kind = kind, .by_module = by_module };
	frames->nodes = calloc(profile->stacks.count + 1, sizeof *frames->nodes);
	if (frames->nodes == NULL)
		return -ENOMEM;
	rc = kind == VG_FRAMES_LINE ? lines_number(frames) : functions_number(frames);
	for (size_t i = 0; rc == 0 && i < profile->stacks.count; i++)
		rc = node_build(frames, &profile->stacks.items[i], &frames->nodes[i]);
	return rc;
}

int vg_frames_build(struct vg_frames *frames, const struct vg_profile *profile)
{
	return vg_frames_build_rows(frames, profile, VG_FRAMES_FUNCTION, false);
}

int vg_frames_build_numbered(struct vg_frames *frames, const struct vg_profile *profile, const uint32_t *number_of,
			     uint32_t count)
{
	char name[16];
	uint32_t number;
	int rc = 0;

	*frames = (struct vg_frames){ .profile = profile };
	frames->nodes = calloc(profile->stacks.count + 1, sizeof *frames->nodes);
	if (frames->nodes == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		snprintf(name, sizeof name, "%" PRIu32, i);
		rc = synthetic_number(frames, name, VG_NONE, &number);
	}
	for (size_t i = 0; rc == 0 && i < profile->stacks.count; i++)
		frames->nodes[i].first = number_of[i];
	return rc;
}

void vg_frames_free(struct vg_frames *frames)
{
	vg_intern_free(&frames->keys);
	vg_intern_free(&frames->names);
	free(frames->nodes);
	free(frames->by_function);
	free(frames->by_line);
	*frames = (struct vg_frames){ 0 };
}

struct vg_function_view vg_frames_function(const struct vg_frames *frames, uint32_t function)
{
	struct vg_function_view view;
	struct vg_frame_key key;

	memcpy(&key, vg_intern_bytes(&frames->keys, function, NULL), sizeof key);
	view.name = key.is_synthetic ? vg_intern_text(&frames->names, key.name) :
		    vg_profile_text(frames->profile, key.name);
	view.is_module = key.is_synthetic == VG_SYNTHETIC_MODULE;
	view.is_system_call = key.is_synthetic == VG_SYNTHETIC_SYSTEM_CALL;
	view.file = vg_profile_text(frames->profile, key.file);
	view.module = vg_profile_text(frames->profile, key.module);
	view.line = key.line;
	return view;
}

const char *vg_incomplete_name(unsigned end, struct vg_incomplete_name *room)
{
	snprintf(room->text, sizeof room->text, "[stack incomplete: %s]", vg_walk_end_name((enum vg_walk_end)end));
	return room->text;
}
