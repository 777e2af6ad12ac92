/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/merging.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile_symbols.h"

int vg_merging_strings(struct vg_merging *part)
{
	int rc = 0;

	part->strings = calloc(part->from->strings.count + (size_t)1, sizeof *part->strings);
	if (part->strings == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; rc >= 0 && i < part->from->strings.count; i++)
		rc = vg_intern_string(&part->to->strings, vg_intern_text(&part->from->strings, i), &part->strings[i]);
	return rc < 0 ? rc : 0;
}

/* Without a build id, two modules of one name can be different files.  So such a module gets a key that is unique: the
 * number of the process and its own number. */
struct module_key {
	uint32_t name, bytes;        /* name: string, or the process */
	uint32_t index;              /* of a module without build id in its own profile; else 0 */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
};

static int module_add(struct vg_merging *part, uint32_t index)
{
	struct vg_module module = part->from->modules.items[index], *known;
	struct module_key key;
	uint32_t id;
	int rc;

	memset(&key, 0, sizeof key);
	module.name = vg_merging_map(part->strings, module.name);
	key.bytes = module.build_id_bytes;
	key.name = key.bytes > 0 ? module.name : part->process;
	key.index = key.bytes > 0 ? 0 : index;
	memcpy(key.build_id, module.build_id, module.build_id_bytes);
	rc = vg_intern(&part->merge->modules, &key, sizeof key, &part->modules[index]);
	if (rc < 0)
		return rc;
	if (rc > 0) {
		module.id = part->modules[index];
		rc = vg_intern(&part->to->module_ids, &module.id, sizeof module.id, &id);
		return rc < 0 ? rc : vg_array_push(&part->to->modules, &module);
	}
	known = &part->to->modules.items[part->modules[index]];
	known->unresolved = known->unresolved && module.unresolved;
	if (module.unload_ns == UINT64_MAX)
		known->unload_ns = UINT64_MAX;
	return 0;
}

int vg_merging_modules(struct vg_merging *part)
{
	int rc = 0;

	part->modules = calloc(part->from->modules.count + 1, sizeof *part->modules);
	if (part->modules == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < part->from->modules.count; i++)
		rc = module_add(part, i);
	return rc;
}

int vg_merging_functions(struct vg_merging *part)
{
	struct vg_profile *to = part->to;
	int rc = 0;

	part->functions = calloc(part->from->functions.count + 1, sizeof *part->functions);
	if (part->functions == NULL)
		return -ENOMEM;
	for (size_t i = 0; rc >= 0 && i < part->from->functions.count; i++) {
		struct vg_function function = part->from->functions.items[i];
		uint32_t key[] = { vg_merging_map(part->strings, function.name),
				   vg_merging_map(part->strings, function.file),
				   vg_merging_map(part->modules, function.module) };

		rc = vg_intern(&part->merge->functions, key, sizeof key, &part->functions[i]);
		function = (struct vg_function){ part->functions[i], key[0], key[1], key[2] };
		if (rc > 0)
			rc = vg_array_push(&to->functions, &function);
	}
	return rc < 0 ? rc : 0;
}

/* An address without a module means something else in each process, so its symbols are left out.  No writer of ours
 * writes such a symbol. */
int vg_merging_symbols(struct vg_merging *part)
{
	const struct vg_profile *from = part->from;
	VG_ARRAY(struct vg_symbol_line) lines = { 0 };
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < from->symbols.count; i++) {
		const struct vg_symbol *symbol = &from->symbols.items[i];
		struct vg_symbol_key key;

		memcpy(&key, vg_intern_bytes(&from->symbol_keys, i, NULL), sizeof key);
		if (key.module == VG_NONE)
			continue;
		lines.count = 0;
		rc = vg_array_reserve(&lines, symbol->count);
		for (uint32_t line = 0; rc == 0 && line < symbol->count; line++) {
			const struct vg_symbol_line *of = &from->symbol_lines.items[symbol->first + line];

			lines.items[lines.count++] = (struct vg_symbol_line){ part->functions[of->function], of->line };
		}
		if (rc == 0)
			rc = vg_profile_add_symbol(part->to, part->modules[key.module], key.address, lines.items,
						   lines.count);
	}
	vg_array_free(&lines);
	return rc;
}

int vg_merging_threads(struct vg_merging *part)
{
	const struct vg_profile *from = part->from;
	int rc = vg_array_reserve(&part->to->threads, from->threads.count);

	for (size_t i = 0; rc == 0 && i < from->threads.count; i++) {
		struct vg_thread thread = from->threads.items[i];

		thread.id = (uint32_t)part->to->threads.count;
		thread.name = vg_merging_map(part->strings, thread.name);
		thread.process = part->process;
		part->to->threads.items[part->to->threads.count++] = thread;
	}
	return rc;
}

int vg_merging_stacks(struct vg_merging *part)
{
	const struct vg_profile *from = part->from;
	int rc = vg_array_reserve(&part->to->stacks, from->stacks.count);

	for (size_t i = 0; rc == 0 && i < from->stacks.count; i++) {
		struct vg_stack stack = from->stacks.items[i];

		stack.parent = vg_merging_shift(stack.parent, part->first_stack);
		stack.module = vg_merging_map(part->modules, stack.module);
		part->to->stacks.items[part->to->stacks.count++] = stack;
	}
	return rc;
}

int vg_merging_jit_code(struct vg_merging *part)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < part->from->jit_code.count; i++) {
		struct vg_jit_code code = part->from->jit_code.items[i];

		code.name = vg_merging_map(part->strings, code.name);
		rc = vg_array_push(&part->to->jit_code, &code);
	}
	return rc;
}
