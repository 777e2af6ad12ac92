/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/names.h"
#include "vgtool/progress.h"
#include "vgtool/recopy.h"
#include "vgtool/text.h"
#include "vgtool/tree.h"

/* An address of a module that some stack goes through. */
struct wanted {
	uint32_t module;
	uint64_t address;
};
typedef VG_ARRAY(struct wanted) wanted_list;

static int wanted_compare(const void *a, const void *b)
{
	const struct wanted *left = a, *right = b;

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	return left->address < right->address ? -1 : left->address > right->address;
}

/* Sorted, each once. */
static int wanted_collect(const struct vg_profile *profile, wanted_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < profile->stacks.count; i++) {
		struct wanted one = { profile->stacks.items[i].module,
				      profile->stacks.items[i].address };

		if (one.module != VG_NONE && vg_array_push(list, &one) != 0)
			return -ENOMEM;
	}
	if (list->count == 0)
		return 0;
	qsort(list->items, list->count, sizeof *list->items, wanted_compare);
	for (size_t i = 0; i < list->count; i++) {
		if (kept == 0 || wanted_compare(&list->items[kept - 1], &list->items[i]) != 0)
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
	return 0;
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

/* The writing of one module's names. */
struct naming {
	struct vg_writer *writer;
	uint32_t module_id;
	uint32_t first_function;     /* id of the module's first */
	struct vg_intern functions;  /* "name\0file" -> id - first_function */
	VG_ARRAY(char) key;
};

static int function_write(struct naming *naming, const struct vg_name *name, uint32_t *id)
{
	const char *file = name->file != NULL ? name->file : "";
	size_t name_bytes = strlen(name->function) + 1, file_bytes = strlen(file) + 1;
	int rc;

	naming->key.count = 0;
	if (vg_array_reserve(&naming->key, name_bytes + file_bytes) != 0)
		return -ENOMEM;
	memcpy(naming->key.items, name->function, name_bytes);
	memcpy(naming->key.items + name_bytes, file, file_bytes);
	rc = vg_intern(&naming->functions, naming->key.items, name_bytes + file_bytes, id);
	*id += naming->first_function;
	if (rc <= 0)
		return rc;
	return vg_writer_function(naming->writer, *id, name->function,
				  file[0] != '\0' ? file : NULL, naming->module_id);
}

/* *named tells whether anything is known of the address. */
static int address_write(struct naming *naming, const struct vg_names *names, uint64_t address,
			 bool *named)
{
	struct vg_symbol_line lines[VG_NAMES_MAX];
	struct vg_name found[VG_NAMES_MAX];
	size_t count = vg_names_at(names, address, found);

	*named = count > 0;
	for (size_t i = 0; i < count; i++) {
		int rc = function_write(naming, &found[i], &lines[i].function);

		if (rc != 0)
			return rc;
		lines[i].line = found[i].line;
	}
	return count > 0 ? vg_writer_symbol(naming->writer, naming->module_id, address, lines,
					    count) : 0;
}

static int addresses_write(struct vg_resolve *resolve, struct vg_resolve_module *module,
			   const struct vg_names *names, const uint64_t *addresses,
			   struct vg_writer *writer, uint32_t *next_function)
{
	struct naming naming = {
		.writer = writer, .first_function = *next_function,
		.module_id = resolve->profile->modules.items[module->module].id,
	};
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < module->addresses; i++) {
		bool named;

		rc = address_write(&naming, names, addresses[i], &named);
		module->named += named;
	}
	*next_function += naming.functions.count;
	vg_intern_free(&naming.functions);
	vg_array_free(&naming.key);
	return rc;
}

static int module_resolve(struct vg_resolve *resolve, struct vg_resolve_module *module,
			  const uint64_t *addresses, struct vg_writer *writer,
			  uint32_t *next_function)
{
	const struct vg_module *of = &resolve->profile->modules.items[module->module];
	struct vg_names_query query = {
		.stores = resolve->stores, .store_count = resolve->store_count,
		.module = vg_profile_text(resolve->profile, of->name),
		.build_id = of->build_id, .build_id_bytes = of->build_id_bytes,
		.addresses = addresses, .address_count = module->addresses,
	};
	struct vg_names *names = NULL;
	uint64_t bad, first_line;
	struct vg_err err;
	int rc;

	/* Without a build id nothing says that symbols of the same name are of the same build. */
	rc = of->build_id_bytes == 0 ? -ENOENT : vg_names_open(&names, &query, &err);
	if (rc == -ENOMEM)
		return rc;
	if (rc != 0) {
		module->missing = true;
		module->text = rc != -ENOENT ? strdup(err.text) : NULL;
		return vg_writer_unresolved(writer, of->id);
	}
	bad = vg_names_bad_records(names, &first_line);
	if (bad > 0 && asprintf(&module->text, "%s: %" PRIu64 " damaged record%s left out, the first in "
				"line %" PRIu64, vg_names_path(names), bad, vg_text_plural(bad),
				first_line) < 0)
		module->text = NULL;
	rc = addresses_write(resolve, module, names, addresses, writer, next_function);
	vg_names_close(names);
	return rc;
}

static int modules_resolve(struct vg_resolve *resolve, const wanted_list *list,
			   const uint64_t *samples, struct vg_writer *writer)
{
	uint64_t *addresses = malloc((list->count + 1) * sizeof *addresses);
	struct vg_progress progress;
	uint32_t next_function = 0;
	int rc = addresses != NULL ? 0 : -ENOMEM;

	vg_progress_begin(&progress, "resolving", list->count);
	for (size_t first = 0, next; rc == 0 && first < list->count; first = next) {
		struct vg_resolve_module module = { .module = list->items[first].module };

		for (next = first; next < list->count &&
		     list->items[next].module == module.module; next++)
			addresses[module.addresses++] = list->items[next].address;
		vg_progress_step(&progress, first);
		module.samples = samples[module.module];
		rc = module_resolve(resolve, &module, addresses, writer, &next_function);
		resolve->addresses += module.addresses;
		resolve->named += module.named;
		if (vg_array_push(&resolve->modules, &module) != 0) {
			free(module.text);
			rc = -ENOMEM;
		}
	}
	vg_progress_end(&progress);
	free(addresses);
	return rc;
}

int vg_resolve_write(struct vg_resolve *resolve, struct vg_writer *writer)
{
	wanted_list list = { 0 };
	struct vg_recopy recopy;
	uint64_t *samples = NULL;
	int rc = wanted_collect(resolve->profile, &list);

	if (rc == 0)
		rc = module_samples(resolve->profile, &samples);
	if (rc == 0)
		rc = vg_recopy_chunks(&recopy, resolve->file, writer);
	/* Of a truncated profile, the time of the last record is all that tells its length. */
	writer->last_us = resolve->profile->duration_ns / 1000;
	if (rc == 0)
		rc = modules_resolve(resolve, &list, samples, writer);
	if (rc == 0)
		rc = vg_recopy_end(&recopy, writer);
	free(samples);
	vg_array_free(&list);
	return rc;
}

void vg_resolve_free(struct vg_resolve *resolve)
{
	for (size_t i = 0; i < resolve->modules.count; i++)
		free(resolve->modules.items[i].text);
	vg_array_free(&resolve->modules);
}
