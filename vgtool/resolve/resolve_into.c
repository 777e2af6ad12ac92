/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* vg_resolve_into(): symbolizes a profile in memory. */
#include "vgtool/resolve/resolve_emit.h"

/* functions_before is the number of functions that the profile had before vg_resolve_into() added any.  An unresolved
 * file may contain functions, too, although no symbol refers to them. */
struct target {
	struct vg_profile *profile;
	uint32_t functions_before;
};

/* The list was collected from this profile, so the id is known. */
static uint32_t module_index(const struct target *target, uint32_t id)
{
	uint32_t index = VG_NONE;

	vg_intern_find(&target->profile->module_ids, &id, sizeof id, &index);
	return index;
}

static int function_add(void *context, uint32_t id, const char *name, const char *file, uint32_t module)
{
	const struct target *target = context;
	uint32_t index;

	(void)id;                    /* the function's index is functions_before + id */
	return vg_profile_add_function(target->profile, name, file, module_index(target, module), &index);
}

static int symbol_add(void *context, uint32_t module, uint64_t address, const struct vg_symbol_line *lines,
		      size_t count)
{
	const struct target *target = context;
	struct vg_symbol_line added[VG_SYMBOLIZED_FRAMES_MAX];

	for (size_t i = 0; i < count; i++)
		added[i] = (struct vg_symbol_line){ target->functions_before + lines[i].function, lines[i].line };
	return vg_profile_add_symbol(target->profile, module_index(target, module), address, added, count);
}

static int unresolved_mark(void *context, uint32_t module)
{
	const struct target *target = context;

	target->profile->modules.items[module_index(target, module)].unresolved = true;
	return 0;
}

int vg_resolve_into(const struct vg_resolve *resolve, const struct vg_address_list *list, struct vg_profile *profile)
{
	struct target target = { profile, (uint32_t)profile->functions.count };
	const struct vg_resolve_sink sink = { function_add, symbol_add, unresolved_mark, &target };
	size_t before = profile->symbols.count; /* of the kernel */
	int rc = vg_resolve_emit(resolve, list, &sink);

	profile->resolved = profile->resolved || profile->symbols.count > before;
	return rc;
}
