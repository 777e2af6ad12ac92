/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/model.h"

#include <string.h>

#include "base/sorted.h"
#include "base/sum.h"
#include "base/utf8.h"

enum { DAMAGE_LISTED_MAX = 1000 };

void vg_profile_free(struct vg_profile *profile)
{
	if (profile == NULL)
		return;
	vg_intern_free(&profile->strings);
	vg_array_free(&profile->processes);
	vg_array_free(&profile->modules);
	vg_array_free(&profile->threads);
	vg_array_free(&profile->stacks);
	vg_array_free(&profile->samples);
	vg_array_free(&profile->events);
	vg_array_free(&profile->counter_readings);
	vg_array_free(&profile->functions);
	vg_array_free(&profile->symbols);
	vg_array_free(&profile->symbol_lines);
	vg_array_free(&profile->jit_code);
	vg_array_free(&profile->lost);
	vg_array_free(&profile->stats);
	vg_array_free(&profile->damage);
	vg_intern_free(&profile->module_ids);
	vg_intern_free(&profile->thread_ids);
	vg_intern_free(&profile->stack_ids);
	vg_intern_free(&profile->function_ids);
	vg_intern_free(&profile->label_ids);
	vg_array_free(&profile->labels);
	vg_intern_free(&profile->symbol_keys);
	memset(profile, 0, sizeof *profile);
}

const char *vg_profile_text(const struct vg_profile *profile, uint32_t string)
{
	return string == VG_NONE ? NULL : vg_intern_text(&profile->strings, string);
}

const struct vg_count *vg_profile_count(const struct vg_profile *profile,
					const struct vg_counts *counts, const char *name)
{
	for (size_t i = 0; i < counts->count; i++) {
		if (strcmp(vg_profile_text(profile, counts->items[i].name), name) == 0)
			return &counts->items[i];
	}
	return NULL;
}

const struct vg_symbol_line *vg_profile_symbol(const struct vg_profile *profile, uint32_t module,
					       uint64_t address, size_t *count)
{
	struct vg_symbol_key key = { address, module, 0 };
	const struct vg_symbol *symbol;
	uint32_t index;

	*count = 0;
	if (!vg_intern_find(&profile->symbol_keys, &key, sizeof key, &index))
		return NULL;
	symbol = &profile->symbols.items[index];
	*count = symbol->count;
	return symbol->count > 0 ? &profile->symbol_lines.items[symbol->first] : NULL;
}

/* Several processes can have different JIT code at one address, so only the code of the node's process counts. */
const struct vg_jit_code *vg_profile_jit_code(const struct vg_profile *profile, const struct vg_stack *stack)
{
	uint64_t first = 0, end = profile->jit_code.count, node = (uint64_t)(stack - profile->stacks.items);
	const struct vg_process *processes = profile->processes.items;
	const struct vg_jit_code *code;
	size_t count;

	if (profile->processes.count > 1) {
		size_t process = vg_count_at_most(processes, profile->processes.count, first_stack, node) - 1;

		first = processes[process].first_jit_code;
		if (process + 1 < profile->processes.count)
			end = processes[process + 1].first_jit_code;
	}
	code = end > first ? profile->jit_code.items + first : NULL;
	count = vg_count_at_most(code, end - first, address, stack->address);
	if (count == 0 || stack->address - code[count - 1].address >= code[count - 1].size_bytes)
		return NULL;
	return &code[count - 1];
}

uint32_t vg_profile_jit_name(const struct vg_profile *profile, const struct vg_stack *stack)
{
	const struct vg_jit_code *code = vg_profile_jit_code(profile, stack);

	return code != NULL ? code->name : VG_NONE;
}

const char *vg_walk_end_name(enum vg_walk_end end)
{
	switch (end) {
	case VG_WALK_ROOT: return "complete";
	case VG_WALK_TRUNCATED: return "stack truncated";
	case VG_WALK_NO_INFO: return "no unwind information";
	case VG_WALK_BAD_INFO: return "bad unwind information";
	case VG_WALK_FRAME_LIMIT: return "frame limit";
	case VG_WALK_UNREADABLE: return "unreadable";
	case VG_WALK_NO_REGISTER: return "register unknown";
	case VG_WALK_MODULE_UNLOADED: return "module unloaded";
	case VG_WALK_WORK_LIMIT: return "work limit";
	case VG_WALK_END_COUNT: break;
	}
	return "unknown";
}

int vg_profile_begin(struct vg_profile *profile)
{
	struct vg_header *header = &profile->header;
	int rc = vg_profile_add_string(profile, "", 0, &header->writer);

	header->arch = header->program = header->mode_name = header->writer;
	profile->end_reason = VG_NONE;
	return rc;
}

/* Replaces control characters here, so that no view can contain them: people print even JSON in terminals. */
int vg_profile_add_string(struct vg_profile *profile, const char *text, size_t length, uint32_t *string)
{
	char clean[VG_NAME_MAX_BYTES + 1];

	if (length > VG_NAME_MAX_BYTES)
		length = VG_NAME_MAX_BYTES;
	memcpy(clean, text, length);
	vg_utf8_make_printable(clean, length);
	clean[length] = '\0';
	return vg_intern_string(&profile->strings, clean, string) < 0 ? -ENOMEM : 0;
}

int vg_profile_add_damage(struct vg_profile *profile, const struct vg_damage *damage)
{
	/* A gap record of a hostile file can contain any number. */
	profile->damaged_bytes = vg_sum(profile->damaged_bytes, damage->bytes);
	return profile->damage.count < DAMAGE_LISTED_MAX ? vg_array_push(&profile->damage, damage) : 0;
}

int vg_profile_add_function(struct vg_profile *profile, const char *name, const char *file, uint32_t module,
			    uint32_t *function)
{
	struct vg_function added = { .id = (uint32_t)profile->functions.count, .file = VG_NONE, .module = module };
	int rc = vg_profile_add_string(profile, name, strlen(name), &added.name);

	if (rc == 0 && file != NULL)
		rc = vg_profile_add_string(profile, file, strlen(file), &added.file);
	*function = added.id;
	return rc != 0 ? rc : vg_array_push(&profile->functions, &added);
}

int vg_profile_add_symbol(struct vg_profile *profile, uint32_t module, uint64_t address,
			  const struct vg_symbol_line *lines, size_t count)
{
	struct vg_symbol_key key = { address, module, 0 };
	struct vg_symbol symbol = { (uint32_t)profile->symbol_lines.count, (uint32_t)count };
	uint32_t index;
	int rc = vg_array_reserve(&profile->symbol_lines, count);

	if (rc == 0)
		rc = vg_array_reserve(&profile->symbols, 1);
	if (rc == 0)
		rc = vg_intern(&profile->symbol_keys, &key, sizeof key, &index);
	if (rc <= 0)
		return rc;
	/* memcpy(3) may not get a null pointer, not even with a count of 0. */
	if (count > 0)
		memcpy(profile->symbol_lines.items + profile->symbol_lines.count, lines, count * sizeof *lines);
	profile->symbol_lines.count += count;
	profile->symbols.items[profile->symbols.count++] = symbol;
	return 0;
}
