/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/resolve/resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "vgtool/output/progress.h"
#include "vgtool/output/text.h"

/* The identity of a module in all profiles: its build id, or its name if it has no build id. */
struct key {
	char bytes[VG_BUILD_ID_MAX_BYTES + VG_NAME_MAX_BYTES + 2];
	size_t length;
};

static void key_make(const struct vg_address_list_module *module, struct key *key)
{
	key->bytes[0] = module->build_id_bytes > 0 ? '+' : '-';
	if (module->build_id_bytes > 0) {
		memcpy(key->bytes + 1, module->build_id, module->build_id_bytes);
		key->length = 1 + module->build_id_bytes;
		return;
	}
	key->length = 1 + strnlen(module->name, VG_NAME_MAX_BYTES);
	memcpy(key->bytes + 1, module->name, key->length - 1);
}

bool vg_resolve_module_find(const struct vg_resolve *resolve, const struct vg_address_list_module *module,
			    uint32_t *index)
{
	struct key key;

	key_make(module, &key);
	return vg_intern_find(&resolve->keys, key.bytes, key.length, index);
}

static int module_get(struct vg_resolve *resolve, const struct vg_address_list_module *list,
		      uint32_t *index)
{
	struct vg_resolve_module module = { .build_id_bytes = list->build_id_bytes };
	struct key key;
	int rc;

	key_make(list, &key);
	if (vg_array_reserve(&resolve->modules, 1) != 0)
		return -ENOMEM;
	rc = vg_intern(&resolve->keys, key.bytes, key.length, index);
	if (rc <= 0)
		return rc;
	memcpy(module.build_id, list->build_id, list->build_id_bytes);
	module.name = strdup(list->name);
	resolve->modules.items[resolve->modules.count++] = module;
	return module.name != NULL ? 0 : -ENOMEM;
}

static void module_sort(struct vg_resolve_module *module)
{
	if (module->sorted < module->addresses.count)
		module->addresses.count = module->sorted =
			vg_addresses_sort(module->addresses.items, module->addresses.count);
}

int vg_resolve_add(struct vg_resolve *resolve, const struct vg_address_list *list)
{
	for (size_t i = 0; i < list->modules.count; i++) {
		const struct vg_address_list_module *from = &list->modules.items[i];
		struct vg_resolve_module *module;
		uint32_t index;
		int rc = module_get(resolve, from, &index);

		if (rc != 0)
			return rc;
		module = &resolve->modules.items[index];
		rc = vg_array_reserve(&module->addresses, from->count);
		if (rc != 0)
			return rc;
		memcpy(module->addresses.items + module->addresses.count,
		       list->addresses.items + from->first, from->count * sizeof(uint64_t));
		module->addresses.count += from->count;
		module->samples = vg_sum(module->samples, from->samples);
		/* The first profile's addresses are sorted already.  Later profiles repeat most of them, so
		 * duplicates are removed each time the array has doubled. */
		if (module->sorted == 0)
			module->sorted = module->addresses.count;
		else if (module->addresses.count > 2 * module->sorted)
			module_sort(module);
	}
	resolve->samples = vg_sum(resolve->samples, list->samples);
	return 0;
}

static void symbolized_count(struct vg_resolve *resolve, const struct vg_resolve_module *module)
{
	for (size_t i = 0; i < module->symbolization.count; i++)
		resolve->symbolized += module->symbolization.items[i].function != VG_SYMBOLIZED_NONE;
}

static int module_read(struct vg_resolve *resolve, struct vg_resolve_module *module)
{
	struct vg_symbol_source source = { 0 };
	uint64_t bad;
	struct vg_err err;
	int rc;

	/* Without a build id no symbols are used: a module of the same name could be another build. */
	rc = module->build_id_bytes == 0 ? -ENOENT :
	     vg_symbol_finder_find(resolve->finder, module->name, module->build_id, module->build_id_bytes,
				   &source, &err);
	if (rc == 0)
		rc = vg_symbol_source_lookup(resolve->finder, &source, module->build_id, module->build_id_bytes,
					     module->addresses.items, module->addresses.count,
					     &module->symbolization, &err);
	bad = module->symbolization.bad_records;
	if (rc == -ENOENT && source.path == NULL &&
	    vg_symbol_finder_other_build(resolve->finder, module->name, module->build_id, module->build_id_bytes,
					 &err)) {
		module->missing = true;
		module->problem = strdup(err.text);
	} else if (rc != 0) {
		module->missing = true;
		module->problem = rc != -ENOENT || source.path != NULL ? strdup(err.text) : NULL;
	} else if (bad > 0 && module->symbolization.first_bad_line > 0) {
		if (asprintf(&module->problem, "%s: %" PRIu64 " damaged record%s left out, the first in "
			     "line %" PRIu64, source.path, bad, vg_text_plural(bad),
			     module->symbolization.first_bad_line) < 0)
			module->problem = NULL;
	} else if (bad > 0 && asprintf(&module->problem, "%s: %" PRIu64 " damaged part%s left out",
				       source.path, bad, vg_text_plural(bad)) < 0) {
		module->problem = NULL;
	}
	vg_symbol_source_free(&source);
	return rc == -ENOMEM ? rc : 0;
}

int vg_resolve_read(struct vg_resolve *resolve)
{
	struct vg_progress progress;
	uint64_t total = 0;
	int rc = 0;

	for (size_t i = 0; i < resolve->modules.count; i++) {
		module_sort(&resolve->modules.items[i]);
		total += resolve->modules.items[i].addresses.count;
	}
	vg_progress_begin(&progress, "reading symbols", total);
	for (size_t i = 0; rc == 0 && i < resolve->modules.count; i++) {
		vg_progress_step(&progress, resolve->addresses);
		rc = module_read(resolve, &resolve->modules.items[i]);
		resolve->addresses += resolve->modules.items[i].addresses.count;
		symbolized_count(resolve, &resolve->modules.items[i]);
	}
	vg_progress_end(&progress);
	return rc;
}

static int samples_descending(const void *a, const void *b)
{
	const struct vg_resolve_module *left = *(struct vg_resolve_module *const *)a;
	const struct vg_resolve_module *right = *(struct vg_resolve_module *const *)b;

	if (left->samples != right->samples)
		return left->samples < right->samples ? 1 : -1;
	return left < right ? -1 : left > right;
}

const struct vg_resolve_module **vg_resolve_by_samples(const struct vg_resolve *resolve)
{
	size_t count = resolve->modules.count;
	const struct vg_resolve_module **order = malloc((count + 1) * sizeof *order);

	for (size_t i = 0; order != NULL && i < count; i++)
		order[i] = &resolve->modules.items[i];
	if (order != NULL)
		qsort(order, count, sizeof *order, samples_descending);
	return order;
}

void vg_resolve_free(struct vg_resolve *resolve)
{
	for (size_t i = 0; i < resolve->modules.count; i++) {
		struct vg_resolve_module *module = &resolve->modules.items[i];

		free(module->name);
		free(module->problem);
		vg_missing_file_free(&module->missing_file);
		vg_array_free(&module->addresses);
		vg_symbolization_free(&module->symbolization);
	}
	vg_array_free(&resolve->modules);
	vg_intern_free(&resolve->keys);
}
