/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/measures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/analysis/summary.h"
#include "vgtool/analysis/function_table.h"
#include "vgtool/output/text.h"

static int value_add(struct vg_measures *measures, enum vg_measure_type type, const char *name,
		     const char *origin, struct vg_measure value)
{
	size_t name_bytes = strlen(name) + 1, origin_bytes = origin != NULL ? strlen(origin) + 1 : 0;
	char *key = malloc(1 + name_bytes + origin_bytes);
	int rc;

	if (key == NULL)
		return -ENOMEM;
	key[0] = (char)type;
	memcpy(key + 1, name, name_bytes);
	if (origin != NULL)
		memcpy(key + 1 + name_bytes, origin, origin_bytes);
	rc = vg_intern(&measures->keys, key, 1 + name_bytes + origin_bytes, &value.row);
	free(key);
	value.run = measures->runs;
	return rc < 0 ? rc : vg_array_push(&measures->values, &value);
}

static int labels_add(struct vg_measures *measures, const struct vg_profile *profile)
{
	struct vg_summary summary = { 0 };
	struct vg_intervals intervals;
	int rc = vg_intervals_build(&intervals, profile);

	if (rc == 0)
		rc = vg_summary_add(&summary, &intervals);
	if (rc == 0)
		vg_summary_finish(&summary);
	for (size_t i = 0; rc == 0 && i < summary.rows.count; i++) {
		const struct vg_summary_row *row = &summary.rows.items[i];
		struct vg_measure value = { .self_ns = row->self_ns, .total_ns = row->total_ns,
					    .count = row->count };

		if (row->type == VG_SUMMARY_INTERVAL || row->type == VG_SUMMARY_DETACHED)
			rc = value_add(measures, row->type == VG_SUMMARY_INTERVAL ?
				       VG_MEASURE_INTERVAL : VG_MEASURE_DETACHED, row->label, row->kind,
				       value);
	}
	vg_summary_free(&summary);
	vg_intervals_free(&intervals);
	return rc;
}

static int rows_add(struct vg_measures *measures, const struct vg_frames *frames,
		    const struct vg_function_table *table)
{
	struct vg_measure whole = { .self_ns = table->weight_ns, .total_ns = table->weight_ns,
				    .count = table->samples };
	int rc = value_add(measures, VG_MEASURE_WHOLE, "(all samples)", NULL, whole);

	for (size_t i = 0; rc == 0 && i < table->rows.count; i++) {
		const struct vg_function_row *row = &table->rows.items[i];
		struct vg_function_view view = vg_frames_function(frames, row->function);

		rc = value_add(measures, VG_MEASURE_FUNCTION, view.name, view.module,
			       (struct vg_measure){ .self_ns = row->self_ns, .total_ns = row->total_ns,
						    .count = row->total_samples });
	}
	return rc;
}

static int functions_add(struct vg_measures *measures, const struct vg_profile *profile)
{
	struct vg_table_maker maker = { 0 };
	struct vg_thread_samples threads = { 0 };
	struct vg_function_table table = { 0 };
	struct vg_frames frames;
	int rc = vg_frames_build(&frames, profile);

	if (rc == 0)
		rc = vg_thread_samples_build(&threads, profile, -1);
	if (rc == 0)
		rc = vg_table_maker_open(&maker, &frames, measures->weight);
	if (rc == 0)
		rc = vg_function_table_build(&table, &maker, threads.order, profile->samples.count);
	if (rc == 0)
		rc = rows_add(measures, &frames, &table);
	vg_function_table_free(&table);
	vg_table_maker_close(&maker);
	vg_thread_samples_free(&threads);
	vg_frames_free(&frames);
	return rc;
}

/* Finds a module without symbols whose build id differs between profiles: its addresses cannot be compared. */
static int module_check(struct vg_measures *measures, const struct vg_profile *profile,
			const struct vg_module *module)
{
	const char *name = vg_profile_text(profile, module->name);
	unsigned char key[VG_BUILD_ID_MAX_BYTES + sizeof(uint32_t)] = { 0 };
	uint32_t id, build;
	int known, rc;

	if (module->build_id_bytes == 0 || (profile->resolved && !module->unresolved))
		return 0;
	known = vg_intern_string(&measures->modules, name, &id);
	if (known < 0)
		return known;
	memcpy(key, &id, sizeof id);
	memcpy(key + sizeof id, module->build_id, module->build_id_bytes);
	rc = vg_intern(&measures->builds, key, sizeof key, &build);
	if (rc > 0 && known == 0 && measures->changed_module_id == 0)
		measures->changed_module_id = id + 1;
	return rc < 0 ? rc : 0;
}

static const char *mode_text(enum vg_weight weight)
{
	return weight == VG_WEIGHT_CPU ? "CPU time" : "wall time";
}

/* Wall time and CPU time cannot be added or compared. */
static int weight_check(struct vg_measures *measures, const struct vg_profile *profile, const char *path,
			struct vg_err *err)
{
	enum vg_weight weight = vg_weight_default(profile);

	if (measures->weight_given)
		return 0;
	if (measures->first_path == NULL)
		measures->weight = weight;
	if (weight == measures->weight)
		return 0;
	return vg_err_set(err, -EINVAL, "%s: recorded by %s, but %s by %s; use --weight wall or --weight cpu",
			  path, mode_text(weight), measures->first_path, mode_text(measures->weight));
}

/* True if the profile shows functions by name.  The program's own module decides, if it is in a stack: the names of a
 * system library can be found on many machines.  *addresses: some frame is in a module. */
static bool has_names(const struct vg_profile *profile, bool *addresses)
{
	bool program = false, program_named = false, named = false;

	*addresses = false;
	for (size_t i = 0; i < profile->stacks.count; i++) {
		uint32_t index = profile->stacks.items[i].module;
		const struct vg_module *module = index != VG_NONE ? &profile->modules.items[index] : NULL;

		if (module == NULL)
			continue;
		*addresses = true;
		named = named || (profile->resolved && !module->unresolved);
		if (module->name != profile->header.program)
			continue;
		program = true;
		program_named = program_named || (profile->resolved && !module->unresolved);
	}
	return program ? program_named : named;
}

/* If a function is a name in one profile and an address in another, it would have two rows: removed and new. */
static int symbols_check(struct vg_measures *measures, const struct vg_profile *profile, const char *path,
			 struct vg_err *err)
{
	bool addresses, names = has_names(profile, &addresses);

	if (names && measures->symbolized_path == NULL)
		measures->symbolized_path = path;
	if (addresses && !names && measures->unsymbolized_path == NULL)
		measures->unsymbolized_path = path;
	if (measures->symbolized_path == NULL || measures->unsymbolized_path == NULL)
		return 0;
	return vg_err_set(err, -EINVAL, "%s: not resolved, but %s is; resolve both with vgtool resolve",
			  measures->unsymbolized_path, measures->symbolized_path);
}

int vg_measures_add(struct vg_measures *measures, const struct vg_profile *profile, const char *path,
		    struct vg_err *err)
{
	int rc = weight_check(measures, profile, path, err);

	if (rc == 0)
		rc = symbols_check(measures, profile, path, err);
	measures->incomparable = measures->incomparable || rc != 0;
	if (measures->first_path == NULL)
		measures->first_path = path;
	if (rc == 0)
		rc = functions_add(measures, profile);
	if (rc == 0)
		rc = labels_add(measures, profile);
	for (size_t i = 0; rc == 0 && i < profile->modules.count; i++)
		rc = module_check(measures, profile, &profile->modules.items[i]);
	measures->runs++;
	return rc;
}

static int value_compare(const void *a, const void *b)
{
	const struct vg_measure *left = a, *right = b;

	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	return left->run < right->run ? -1 : left->run > right->run;
}

/* Two functions can have the same name and module: static functions of two files.  Their values are added in one
 * row. */
static void values_merge(struct vg_measures *measures)
{
	struct vg_measure *values = measures->values.items;
	size_t kept = 0;

	for (size_t i = 0; i < measures->values.count; i++) {
		if (kept > 0 && value_compare(&values[kept - 1], &values[i]) == 0) {
			values[kept - 1].self_ns = vg_sum(values[kept - 1].self_ns, values[i].self_ns);
			values[kept - 1].total_ns = vg_sum(values[kept - 1].total_ns, values[i].total_ns);
			values[kept - 1].count += values[i].count;
		} else {
			values[kept++] = values[i];
		}
	}
	measures->values.count = kept;
}

int vg_measures_finish(struct vg_measures *measures)
{
	int rc = 0;

	if (measures->values.count > 1)
		qsort(measures->values.items, measures->values.count, sizeof *measures->values.items,
		      value_compare);
	values_merge(measures);
	for (size_t i = 0; rc == 0 && i < measures->values.count; i++) {
		const struct vg_measure *value = &measures->values.items[i];

		if (value->row == measures->rows.count) {
			size_t length;
			const char *key = vg_intern_bytes(&measures->keys, value->row, &length);
			size_t name_bytes = strlen(key + 1) + 1;
			struct vg_measure_row row = {
				.type = (enum vg_measure_type)key[0], .name = key + 1, .first = i,
				.origin = length > 1 + name_bytes ? key + 1 + name_bytes : NULL,
			};

			rc = vg_array_push(&measures->rows, &row);
		}
		if (rc == 0)
			measures->rows.items[value->row].count++;
	}
	if (measures->changed_module_id > 0)
		measures->changed_module = vg_intern_text(&measures->modules, measures->changed_module_id - 1);
	return rc;
}

void vg_measures_free(struct vg_measures *measures)
{
	vg_array_free(&measures->rows);
	vg_array_free(&measures->values);
	vg_intern_free(&measures->keys);
	vg_intern_free(&measures->modules);
	vg_intern_free(&measures->builds);
}

enum vg_measure_group vg_measure_group(const struct vg_measure_row *row)
{
	switch (row->type) {
	case VG_MEASURE_WHOLE: return VG_MEASURE_ALL;
	case VG_MEASURE_INTERVAL:
	case VG_MEASURE_DETACHED: return VG_MEASURE_LABELS;
	case VG_MEASURE_FUNCTION: return VG_MEASURE_FUNCTIONS;
	}
	return VG_MEASURE_FUNCTIONS;
}

bool vg_measure_shown(struct vg_measure_limit *limit, const struct vg_measure_row *row)
{
	return limit->seen[vg_measure_group(row)]++ < limit->limit || limit->limit == 0;
}

static double value_of(const struct vg_measure *value, enum vg_measure_field field)
{
	switch (field) {
	case VG_MEASURE_SELF: return (double)value->self_ns;
	case VG_MEASURE_TOTAL: return (double)value->total_ns;
	case VG_MEASURE_COUNT: return (double)value->count;
	}
	return 0;
}

struct vg_spread vg_measures_spread(const struct vg_measures *measures,
				    const struct vg_measure_row *row, enum vg_measure_field field,
				    uint32_t first, uint32_t end)
{
	struct vg_spread spread = { 0 };

	for (size_t i = row->first; i < row->first + row->count; i++) {
		const struct vg_measure *value = &measures->values.items[i];

		if (value->run >= first && value->run < end)
			vg_spread_add(&spread, value_of(value, field));
	}
	vg_spread_add_zeros(&spread, end - first - spread.count);
	return spread;
}

size_t vg_measures_run_count(const struct vg_measures *measures, const struct vg_measure_row *row,
			     uint32_t first, uint32_t end)
{
	size_t runs = 0;

	for (size_t i = row->first; i < row->first + row->count; i++)
		runs += measures->values.items[i].run >= first && measures->values.items[i].run < end;
	return runs;
}
