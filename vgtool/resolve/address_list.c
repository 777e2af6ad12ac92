/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/resolve/address_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "vgtool/analysis/tree.h"

size_t vg_addresses_sort(uint64_t *addresses, size_t count)
{
	size_t kept = 0;

	vg_sorted_sort(addresses, count, sizeof *addresses, 0);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || addresses[kept - 1] != addresses[i])
			addresses[kept++] = addresses[i];
	}
	return kept;
}

/* The module whose symbols the frame needs; VG_NONE: none.  A kernel frame has a number in place of an address, and the
 * profile has its name. */
static uint32_t module_of(const struct vg_profile *profile, size_t node)
{
	const struct vg_stack *stack = &profile->stacks.items[node];

	return stack->found_by == VG_FOUND_IN_KERNEL ? VG_NONE : stack->module;
}

/* Counts, for each module, the samples that have a frame in it. */
struct module_counter {
	const struct vg_profile *profile;
	uint64_t *subtree;           /* by node: number of samples whose stack has the node */
	uint64_t *samples;           /* by module: the result */
	uint32_t *open;              /* by module: number of its frames from the root to the current node */
};

static void module_enter(void *context, uint32_t node)
{
	struct module_counter *module_counter = context;
	uint32_t module = module_of(module_counter->profile, node);

	if (module != VG_NONE && module_counter->open[module]++ == 0)
		module_counter->samples[module] += module_counter->subtree[node];
}

static void module_leave(void *context, uint32_t node)
{
	struct module_counter *module_counter = context;
	uint32_t module = module_of(module_counter->profile, node);

	if (module != VG_NONE)
		module_counter->open[module]--;
}

/* *samples is indexed by module.  The caller frees it, also after a failure. */
static int module_samples(const struct vg_profile *profile, uint64_t **samples)
{
	struct module_counter module_counter = { .profile = profile };
	struct vg_tree tree = { 0 };
	int rc = -ENOMEM;

	module_counter.subtree = calloc(profile->stacks.count + 1, sizeof *module_counter.subtree);
	module_counter.samples = calloc(profile->modules.count + 1, sizeof *module_counter.samples);
	module_counter.open = calloc(profile->modules.count + 1, sizeof *module_counter.open);
	*samples = module_counter.samples;
	if (module_counter.subtree == NULL || module_counter.samples == NULL || module_counter.open == NULL)
		goto out;
	for (size_t i = 0; i < profile->samples.count; i++) {
		if (profile->samples.items[i].stack != VG_NONE)
			module_counter.subtree[profile->samples.items[i].stack] +=
				profile->samples.items[i].count;
	}
	/* A callee's number is higher than its caller's: descending order visits callees first. */
	for (size_t node = profile->stacks.count; node-- > 0;) {
		uint32_t parent = profile->stacks.items[node].parent;

		if (parent != VG_NONE)
			module_counter.subtree[parent] += module_counter.subtree[node];
	}
	rc = vg_tree_build(&tree, profile);
	if (rc == 0)
		vg_tree_walk(&tree, module_enter, module_leave, &module_counter);
	vg_tree_free(&tree);
out:
	free(module_counter.subtree);
	free(module_counter.open);
	return rc;
}

/* Reserves a range for each module's addresses.  (*where)[i] is the position of module i's next address. */
static int ranges_make(struct vg_address_list *list, const struct vg_profile *profile, size_t **where)
{
	size_t *next = calloc(profile->modules.count + 1, sizeof *next), total = 0;

	*where = next;
	if (next == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < profile->stacks.count; i++) {
		uint32_t module = module_of(profile, i);

		if (module != VG_NONE)
			next[module]++;
	}
	for (size_t i = 0; i < profile->modules.count; i++) {
		size_t count = next[i];

		next[i] = total;
		total += count;
	}
	return vg_array_reserve(&list->addresses, total);
}

static int module_add(struct vg_address_list *list, const struct vg_profile *profile, uint32_t index,
		      uint64_t samples, size_t first, size_t count)
{
	const struct vg_module *of = &profile->modules.items[index];
	struct vg_address_list_module module = { .id = of->id, .samples = samples, .first = first,
					   .count = count };
	int rc;

	memcpy(module.build_id, of->build_id, of->build_id_bytes);
	module.build_id_bytes = of->build_id_bytes;
	module.name = strdup(vg_profile_text(profile, of->name));
	rc = module.name != NULL ? vg_array_push(&list->modules, &module) : -ENOMEM;
	if (rc != 0)
		free(module.name);
	return rc;
}

int vg_address_list_collect(struct vg_address_list *list, const struct vg_profile *profile)
{
	uint64_t *samples = NULL;
	size_t *where = NULL, begin = 0;
	int rc = ranges_make(list, profile, &where);

	list->samples = profile->samples_total;
	list->duration_ns = profile->duration_ns;
	if (rc == 0)
		rc = module_samples(profile, &samples);
	if (rc != 0)
		goto out;
	for (size_t i = 0; i < profile->stacks.count; i++) {
		uint32_t module = module_of(profile, i);

		if (module != VG_NONE)
			list->addresses.items[where[module]++] = profile->stacks.items[i].address;
	}
	/* Duplicates that were removed from earlier ranges leave a gap.  Move each module's range down to close this
	 * gap, then sort the range. */
	for (uint32_t i = 0; rc == 0 && i < profile->modules.count; i++) {
		size_t end = where[i], first = list->addresses.count;

		if (end == begin)
			continue;
		memmove(list->addresses.items + first, list->addresses.items + begin,
			(end - begin) * sizeof *list->addresses.items);
		list->addresses.count += vg_addresses_sort(list->addresses.items + first,
							   end - begin);
		rc = module_add(list, profile, i, samples[i], first,
				list->addresses.count - first);
		begin = end;
	}
out:
	free(samples);
	free(where);
	return rc;
}

void vg_address_list_free(struct vg_address_list *list)
{
	for (size_t i = 0; i < list->modules.count; i++)
		free(list->modules.items[i].name);
	vg_array_free(&list->modules);
	vg_array_free(&list->addresses);
}
