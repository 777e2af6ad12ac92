/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/resolve/wanted.h"

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

/* How many samples have a frame in each module. */
struct reach {
	const struct vg_profile *profile;
	uint64_t *subtree;           /* by node: samples whose stack goes through it */
	uint64_t *samples;           /* by module */
	uint32_t *open;              /* by module: its frames on the path from the root */
};

static void reach_enter(void *context, uint32_t node)
{
	struct reach *reach = context;
	uint32_t module = reach->profile->stacks.items[node].module;

	if (module != VG_NONE && reach->open[module]++ == 0)
		reach->samples[module] += reach->subtree[node];
}

static void reach_leave(void *context, uint32_t node)
{
	struct reach *reach = context;
	uint32_t module = reach->profile->stacks.items[node].module;

	if (module != VG_NONE)
		reach->open[module]--;
}

/* *samples is by module, for the caller to free. */
static int module_samples(const struct vg_profile *profile, uint64_t **samples)
{
	struct reach reach = { .profile = profile };
	struct vg_tree tree = { 0 };
	int rc = -ENOMEM;

	reach.subtree = calloc(profile->stacks.count + 1, sizeof *reach.subtree);
	reach.samples = calloc(profile->modules.count + 1, sizeof *reach.samples);
	reach.open = calloc(profile->modules.count + 1, sizeof *reach.open);
	*samples = reach.samples;
	if (reach.subtree == NULL || reach.samples == NULL || reach.open == NULL)
		goto out;
	for (size_t i = 0; i < profile->samples.count; i++) {
		if (profile->samples.items[i].stack != VG_NONE)
			reach.subtree[profile->samples.items[i].stack] +=
				profile->samples.items[i].count;
	}
	/* A callee's number is above its caller's. */
	for (size_t node = profile->stacks.count; node-- > 0;) {
		uint32_t parent = profile->stacks.items[node].parent;

		if (parent != VG_NONE)
			reach.subtree[parent] += reach.subtree[node];
	}
	rc = vg_tree_build(&tree, profile);
	if (rc == 0)
		vg_tree_walk(&tree, reach_enter, reach_leave, &reach);
	vg_tree_free(&tree);
out:
	free(reach.subtree);
	free(reach.open);
	return rc;
}

/* Room for each module's addresses, one after the other: where[i] is where the next one goes. */
static int rooms_make(struct vg_wanted *wanted, const struct vg_profile *profile, size_t **where)
{
	size_t *next = calloc(profile->modules.count + 1, sizeof *next), total = 0;

	*where = next;
	if (next == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < profile->stacks.count; i++) {
		uint32_t module = profile->stacks.items[i].module;

		if (module != VG_NONE)
			next[module]++;
	}
	for (size_t i = 0; i < profile->modules.count; i++) {
		size_t count = next[i];

		next[i] = total;
		total += count;
	}
	return vg_array_reserve(&wanted->addresses, total);
}

static int module_add(struct vg_wanted *wanted, const struct vg_profile *profile, uint32_t index,
		      uint64_t samples, size_t first, size_t count)
{
	const struct vg_module *of = &profile->modules.items[index];
	struct vg_wanted_module module = { .id = of->id, .samples = samples, .first = first,
					   .count = count };
	int rc;

	memcpy(module.build_id, of->build_id, of->build_id_bytes);
	module.build_id_bytes = of->build_id_bytes;
	module.name = strdup(vg_profile_text(profile, of->name));
	rc = module.name != NULL ? vg_array_push(&wanted->modules, &module) : -ENOMEM;
	if (rc != 0)
		free(module.name);
	return rc;
}

int vg_wanted_collect(struct vg_wanted *wanted, const struct vg_profile *profile)
{
	uint64_t *samples = NULL;
	size_t *where = NULL, begin = 0;
	int rc = rooms_make(wanted, profile, &where);

	wanted->samples = profile->samples_total;
	wanted->duration_ns = profile->duration_ns;
	if (rc == 0)
		rc = module_samples(profile, &samples);
	if (rc != 0)
		goto out;
	for (size_t i = 0; i < profile->stacks.count; i++) {
		const struct vg_stack *stack = &profile->stacks.items[i];

		if (stack->module != VG_NONE)
			wanted->addresses.items[where[stack->module]++] = stack->address;
	}
	for (uint32_t i = 0; rc == 0 && i < profile->modules.count; i++) {
		size_t end = where[i], first = wanted->addresses.count;

		if (end == begin)
			continue;
		memmove(wanted->addresses.items + first, wanted->addresses.items + begin,
			(end - begin) * sizeof *wanted->addresses.items);
		wanted->addresses.count += vg_addresses_sort(wanted->addresses.items + first,
							     end - begin);
		rc = module_add(wanted, profile, i, samples[i], first,
				wanted->addresses.count - first);
		begin = end;
	}
out:
	free(samples);
	free(where);
	return rc;
}

void vg_wanted_free(struct vg_wanted *wanted)
{
	for (size_t i = 0; i < wanted->modules.count; i++)
		free(wanted->modules.items[i].name);
	vg_array_free(&wanted->modules);
	vg_array_free(&wanted->addresses);
}
