/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/pprof_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/build_id.h"
#include "vgtool/analysis/frame_class.h"

/* ---- mappings ---- */

/* pprof does not adjust the addresses of a mapping of all addresses.  It then takes them for the addresses of
 * the file, which are those that we have.  (An address in memory would need the file's segments: pprof computes with
 * offsets in the file, and with lld's and mold's files they differ from our addresses.) */
#define MAPPING_LIMIT UINT64_MAX

/* No position-independent file is loaded so low, so this is an executable with fixed addresses, whose addresses in the
 * file are those in memory. */
#define FIXED_BELOW (UINT64_C(1) << 32)

static uint64_t file_address(const struct vg_module *module, uint64_t address)
{
	return module->base < FIXED_BELOW ? module->base + address : address;
}

static void mapping_write(const struct vg_pprof_stacks *stacks, struct vg_pprof_file *file, uint32_t index, bool named)
{
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT, *mappings = &mapping;
	const struct vg_module *module = &stacks->profile->modules.items[index];
	char build_id[2 * VG_BUILD_ID_MAX_BYTES + 1];

	mapping.id = (uint64_t)index + 1;
	mapping.memory_limit = MAPPING_LIMIT;
	mapping.filename = vg_pprof_text(file, vg_profile_text(stacks->profile, module->name));
	mapping.build_id = vg_pprof_text(file, vg_build_id_hex(build_id, sizeof build_id, module->build_id,
							       module->build_id_bytes));
	mapping.has_functions = mapping.has_filenames = named;
	mapping.has_line_numbers = mapping.has_inline_frames = named;
	piece.mapping = &mappings;
	piece.n_mapping = 1;
	vg_pprof_put(file, &piece);
}

/* Writes the main executable first.  Of a merged profile, that of the first process. */
static void mappings_write(const struct vg_pprof_stacks *stacks, struct vg_pprof_file *file)
{
	const struct vg_profile *profile = stacks->profile;
	uint32_t count = (uint32_t)profile->modules.count;
	uint32_t program = profile->processes.count > 0 ? vg_program_module(profile, 0) : VG_NONE;
	bool *named = calloc(count + 1, sizeof *named);

	if (named == NULL) {
		file->failed = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < stacks->nodes.count; i++) {
		const struct vg_stack *stack = &profile->stacks.items[stacks->nodes.items[i]];

		if (stack->module != VG_NONE && stacks->frames.nodes[stacks->nodes.items[i]].line_count > 0)
			named[stack->module] = true;
	}
	if (program != VG_NONE)
		mapping_write(stacks, file, program, named[program]);
	for (uint32_t m = 0; m < count; m++) {
		if (m != program)
			mapping_write(stacks, file, m, named[m]);
	}
	free(named);
}

/* ---- locations and functions ---- */

static void location_put(struct vg_pprof_file *file, Perftools__Profiles__Location *location)
{
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;

	piece.location = &location;
	piece.n_location = 1;
	vg_pprof_put(file, &piece);
}

static Perftools__Profiles__Line line_of(uint64_t function, uint32_t line)
{
	Perftools__Profiles__Line message = PERFTOOLS__PROFILES__LINE__INIT;

	message.function_id = function + 1;
	message.line = line;
	return message;
}

static void location_write(const struct vg_pprof_stacks *stacks, struct vg_pprof_file *file, uint32_t number)
{
	Perftools__Profiles__Line lines[VG_FRAME_INLINES_MAX], *line_list[VG_FRAME_INLINES_MAX];
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;
	uint32_t node = stacks->nodes.items[number];
	struct vg_pprof_location key;

	memcpy(&key, vg_intern_bytes(&stacks->locations, number, NULL), sizeof key);
	location.id = (uint64_t)number + 1;
	location.mapping_id = key.module != VG_NONE ? (uint64_t)key.module + 1 : 0;
	/* The address of a kernel frame is the number of a symbol. */
	if (stacks->profile->stacks.items[node].found_by != VG_FOUND_IN_KERNEL)
		location.address = key.module != VG_NONE ?
			file_address(&stacks->profile->modules.items[key.module], key.address) : key.address;
	location.n_line = vg_frames_count(&stacks->frames, node);
	location.line = line_list;
	for (size_t i = 0; i < location.n_line; i++) {
		struct vg_frame_view frame = vg_frames_at(&stacks->frames, node, i);

		lines[i] = line_of(frame.function, frame.line);
		line_list[i] = &lines[i];
	}
	location_put(file, &location);
}

static void function_write(struct vg_pprof_file *file, uint64_t number, const char *name, const char *source)
{
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT, *functions = &function;

	function.id = number + 1;
	function.name = vg_pprof_text(file, name);
	function.filename = vg_pprof_text(file, source);
	piece.function = &functions;
	piece.n_function = 1;
	vg_pprof_put(file, &piece);
}

static void synthetic_write(const struct vg_pprof_stacks *stacks, struct vg_pprof_file *file, uint32_t number)
{
	uint64_t function = (uint64_t)stacks->frames.count + number;
	Perftools__Profiles__Line line = line_of(function, 0), *lines = &line;
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;

	location.id = (uint64_t)stacks->locations.count + number + 1;
	location.line = &lines;
	location.n_line = 1;
	location_put(file, &location);
	function_write(file, function, vg_intern_text(&stacks->synthetic, number), NULL);
}

void vg_pprof_tables_write(const struct vg_pprof_stacks *stacks, struct vg_pprof_file *file)
{
	mappings_write(stacks, file);
	for (uint32_t i = 0; vg_pprof_works(file) && i < stacks->locations.count; i++)
		location_write(stacks, file, i);
	for (uint32_t i = 0; vg_pprof_works(file) && i < stacks->frames.count; i++) {
		struct vg_function_view view = vg_frames_function(&stacks->frames, i);

		function_write(file, i, view.name, view.file);
	}
	for (uint32_t i = 0; vg_pprof_works(file) && i < stacks->synthetic.count; i++)
		synthetic_write(stacks, file, i);
}
