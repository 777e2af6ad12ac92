/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/measures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "vgtool/analysis/address_groups.h"
#include "vgtool/analysis/function_table.h"
#include "vgtool/analysis/summary.h"
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

		if ((row->type != VG_SUMMARY_INTERVAL && row->type != VG_SUMMARY_DETACHED) ||
		    vg_exclusion_matches(&measures->exclusion, row->label))
			continue;
		measures->by_run.items[measures->runs].labels_ns += (double)row->self_ns;
		rc = value_add(measures, row->type == VG_SUMMARY_INTERVAL ?
			       VG_MEASURE_INTERVAL : VG_MEASURE_DETACHED, row->label, row->kind, value);
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
	struct vg_measure_run *run = &measures->by_run.items[measures->runs];
	int rc = value_add(measures, VG_MEASURE_WHOLE, "(all samples)", NULL, whole);

	run->all_ns = (double)table->weight_ns;
	run->samples = (double)table->samples;
	for (size_t i = 0; rc == 0 && i < table->rows.count; i++) {
		const struct vg_function_row *row = &table->rows.items[i];
		struct vg_function_view view = vg_frames_function(frames, row->function);

		rc = value_add(measures, VG_MEASURE_FUNCTION, view.name, view.module,
			       (struct vg_measure){ .self_ns = row->self_ns, .total_ns = row->total_ns,
						    .count = row->total_samples });
	}
	return rc;
}

/* Builds a table for each block, and writes the table's times to the blocks of the values.  `first` is the index of the
 * value of all samples.  The values of the rows follow in the order of the whole profile's table.  row_of: by function,
 * the number of the function's row, from 1. */
static int blocks_fill(struct vg_measures *measures, struct vg_table_maker *maker, const uint32_t *row_of,
		       const struct vg_block_order *order, size_t first)
{
	for (size_t b = 0; b < VG_BLOCKS; b++) {
		struct vg_measure_blocks *all = &measures->blocks.items[measures->values.items[first].blocks - 1];
		struct vg_function_table table;
		int rc = vg_function_table_build(&table, maker, order->order + order->first[b],
						 order->first[b + 1] - order->first[b]);

		if (rc != 0)
			return rc;
		all->self[b] = all->total[b] = (float)table.weight_ns;
		for (size_t i = 0; i < table.rows.count; i++) {
			all[row_of[table.rows.items[i].function]].self[b] = (float)table.rows.items[i].self_ns;
			all[row_of[table.rows.items[i].function]].total[b] = (float)table.rows.items[i].total_ns;
		}
		vg_function_table_free(&table);
	}
	return 0;
}

static int blocks_add(struct vg_measures *measures, struct vg_table_maker *maker,
		      const struct vg_function_table *table, size_t first)
{
	uint32_t *row_of = calloc((size_t)maker->frames->count + 1, sizeof *row_of);
	struct vg_block_order order = { 0 };
	int rc = row_of == NULL ? -ENOMEM : vg_block_order_build(&order, maker->profile);

	for (size_t i = 0; rc == 0 && i <= table->rows.count; i++) {
		rc = vg_array_push(&measures->blocks, &(struct vg_measure_blocks){ 0 });
		measures->values.items[first + i].blocks = measures->blocks.count;
		if (i > 0)
			row_of[table->rows.items[i - 1].function] = (uint32_t)i;
	}
	if (rc == 0) {
		measures->by_run.items[measures->runs].blocks = measures->values.items[first].blocks;
		rc = blocks_fill(measures, maker, row_of, &order, first);
	}
	vg_block_order_free(&order);
	free(row_of);
	return rc;
}

static int functions_add(struct vg_measures *measures, const struct vg_profile *profile)
{
	struct vg_table_maker maker = { 0 };
	struct vg_thread_samples threads = { 0 };
	struct vg_function_table table = { 0 };
	struct vg_frames frames;
	size_t first = measures->values.count;
	int rc = vg_frames_build(&frames, profile);

	if (rc == 0 && measures->for_diff)
		rc = vg_address_groups_merge(&frames);
	if (rc == 0)
		rc = vg_thread_samples_build(&threads, profile, -1);
	if (rc == 0)
		rc = vg_table_maker_open(&maker, &frames, measures->weight);
	if (rc == 0)
		rc = vg_function_table_build(&table, &maker, threads.order, profile->samples.count);
	if (rc == 0)
		rc = rows_add(measures, &frames, &table);
	if (rc == 0 && measures->for_diff && vg_blocks_suffice(profile))
		rc = blocks_add(measures, &maker, &table, first);
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

static int comparable_check(struct vg_measures *measures, const struct vg_profile *profile, const char *path,
			    struct vg_err *err)
{
	int rc = vg_comparable_weight(&measures->comparable, profile, path, err);

	if (measures->weight_given)
		rc = 0;
	else
		measures->weight = measures->comparable.weight;
	if (rc == 0)
		rc = vg_comparable_symbols(&measures->comparable, profile, path, err);
	if (rc == 0 && measures->for_diff)
		rc = vg_comparable_sampling(&measures->comparable, profile, path, err);
	return rc;
}

int vg_measures_add(struct vg_measures *measures, const struct vg_profile *profile, const char *path,
		    struct vg_err *err)
{
	size_t values = measures->values.count, blocks = measures->blocks.count;
	struct vg_measure_run run = { 0 };
	struct vg_profile kept = *profile;
	int rc = comparable_check(measures, profile, path, err);

	measures->incomparable = measures->incomparable || rc != 0;
	if (rc == 0)
		rc = vg_array_push(&measures->by_run, &run);
	if (rc != 0)
		return rc;
	rc = vg_exclusion_samples(&measures->exclusion, &kept);
	if (rc == 0)
		rc = functions_add(measures, &kept);
	if (kept.samples.items != profile->samples.items)
		vg_array_free(&kept.samples);
	if (rc == 0)
		rc = labels_add(measures, profile);
	for (size_t i = 0; rc == 0 && i < profile->modules.count; i++)
		rc = module_check(measures, profile, &profile->modules.items[i]);
	if (rc == 0) {
		measures->runs++;
		return 0;
	}
	measures->values.count = values;
	measures->blocks.count = blocks;
	measures->by_run.count = measures->runs;
	return rc;
}

static int value_compare(const void *a, const void *b)
{
	const struct vg_measure *left = a, *right = b;

	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	return left->run < right->run ? -1 : left->run > right->run;
}

/* Either all values of a run have blocks, or none. */
static void value_sum(struct vg_measures *measures, struct vg_measure *sum, const struct vg_measure *more)
{
	sum->self_ns = vg_sum(sum->self_ns, more->self_ns);
	sum->total_ns = vg_sum(sum->total_ns, more->total_ns);
	sum->count += more->count;
	for (size_t b = 0; sum->blocks > 0 && more->blocks > 0 && b < VG_BLOCKS; b++) {
		measures->blocks.items[sum->blocks - 1].self[b] += measures->blocks.items[more->blocks - 1].self[b];
		measures->blocks.items[sum->blocks - 1].total[b] += measures->blocks.items[more->blocks - 1].total[b];
	}
}

/* Two functions can have the same name and module: static functions of two files.  Their values are added in one
 * row. */
static void values_merge(struct vg_measures *measures)
{
	struct vg_measure *values = measures->values.items;
	size_t kept = 0;

	for (size_t i = 0; i < measures->values.count; i++) {
		if (kept > 0 && value_compare(&values[kept - 1], &values[i]) == 0) {
			value_sum(measures, &values[kept - 1], &values[i]);
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

		/* A profile that could not be added can leave rows without values. */
		while (rc == 0 && measures->rows.count <= value->row) {
			size_t length;
			const char *key = vg_intern_bytes(&measures->keys, (uint32_t)measures->rows.count, &length);
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
	for (uint32_t run = 0; run < measures->runs; run++) {
		measures->mean_run.all_ns += measures->by_run.items[run].all_ns / measures->runs;
		measures->mean_run.labels_ns += measures->by_run.items[run].labels_ns / measures->runs;
	}
	if (measures->changed_module_id > 0)
		measures->changed_module = vg_intern_text(&measures->modules, measures->changed_module_id - 1);
	return rc;
}

void vg_measures_free(struct vg_measures *measures)
{
	vg_array_free(&measures->rows);
	vg_array_free(&measures->values);
	vg_array_free(&measures->blocks);
	vg_array_free(&measures->by_run);
	vg_intern_free(&measures->keys);
	vg_intern_free(&measures->modules);
	vg_intern_free(&measures->builds);
	vg_exclusion_free(&measures->exclusion);
}

enum vg_measure_group vg_measure_group(const struct vg_measure_row *row)
{
	switch (row->type) {
	case VG_MEASURE_WHOLE: return VG_MEASURE_ALL;
	case VG_MEASURE_INTERVAL:
	case VG_MEASURE_DETACHED: return VG_MEASURE_LABELS;
	case VG_MEASURE_FUNCTION:
	case VG_MEASURE_OTHERS: return VG_MEASURE_FUNCTIONS;
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

static double whole_of(const struct vg_measure_run *run, const struct vg_measure_row *row)
{
	return vg_measure_group(row) == VG_MEASURE_LABELS ? run->labels_ns : run->all_ns;
}

/* The factor for the row's times in this run.  With it all runs have the same whole time, that of the mean run. */
static double scale_of(const struct vg_measures *measures, const struct vg_measure_row *row, uint32_t run,
		       enum vg_measure_field field)
{
	double whole = whole_of(&measures->by_run.items[run], row);

	if (!measures->by_share || field == VG_MEASURE_COUNT || whole <= 0)
		return 1;
	return whole_of(&measures->mean_run, row) / whole;
}

struct vg_spread vg_measures_spread(const struct vg_measures *measures,
				    const struct vg_measure_row *row, enum vg_measure_field field,
				    uint32_t first, uint32_t end)
{
	struct vg_spread spread = { 0 };

	for (size_t i = row->first; i < row->first + row->count; i++) {
		const struct vg_measure *value = &measures->values.items[i];

		if (value->run >= first && value->run < end)
			vg_spread_add(&spread, value_of(value, field) * scale_of(measures, row, value->run, field));
	}
	vg_spread_add_zeros(&spread, end - first - spread.count);
	return spread;
}

/* value: NULL: the run does not have the row.  deviation: between runs, relative to the time.  Returns -1 if the
 * variance is unknown. */
static double run_variance(const struct vg_measures *measures, const struct vg_measure_row *row,
			   enum vg_measure_field field, const struct vg_measure *value, uint32_t run, double deviation)
{
	const struct vg_measure_run *info = &measures->by_run.items[run];
	const struct vg_measure_blocks *part;
	double scale = scale_of(measures, row, run, field), whole = info->all_ns * scale, between = 0, share = 0;

	if (info->blocks == 0 || vg_measure_group(row) == VG_MEASURE_LABELS)
		return -1;
	if (value == NULL)
		return vg_blocks_variance_of_none(info->samples) * whole * whole;
	between = value_of(value, field) * scale * deviation;
	if (row->type != VG_MEASURE_WHOLE) {
		part = &measures->blocks.items[value->blocks - 1];
		share = vg_blocks_variance(field == VG_MEASURE_SELF ? part->self : part->total,
					   measures->blocks.items[info->blocks - 1].self, info->samples);
	}
	return share * whole * whole + between * between;
}

double vg_measures_variance(const struct vg_measures *measures, const struct vg_measure_row *row,
			    enum vg_measure_field field, uint32_t first, uint32_t end)
{
	const struct vg_measure *value = &measures->values.items[row->first];
	const struct vg_measure *behind = value + row->count;
	double deviation = end - first > 1 ? VG_RUN_DEVIATION : VG_RUN_DEVIATION_ALONE;
	double sum = 0;

	for (uint32_t run = first; run < end; run++) {
		double variance;

		while (value < behind && value->run < run)
			value++;
		variance = run_variance(measures, row, field, value < behind && value->run == run ? value : NULL, run,
					deviation);
		if (variance < 0)
			return -1;
		sum += variance;
	}
	return sum / (end - first);
}

int vg_measures_sum(struct vg_measures *measures, const bool *parts)
{
	struct vg_measure_row row = { .type = VG_MEASURE_OTHERS, .name = "[others]",
				      .first = measures->values.count, .count = measures->runs };
	int rc = 0;

	for (uint32_t run = 0; rc == 0 && run < measures->runs; run++) {
		struct vg_measure value = { .row = (uint32_t)measures->rows.count, .run = run };

		if (measures->by_run.items[run].blocks > 0) {
			rc = vg_array_push(&measures->blocks, &(struct vg_measure_blocks){ 0 });
			value.blocks = measures->blocks.count;
		}
		if (rc == 0)
			rc = vg_array_push(&measures->values, &value);
	}
	for (size_t i = 0; rc == 0 && i < row.first; i++) {
		const struct vg_measure *part = &measures->values.items[i];

		if (parts[part->row])
			value_sum(measures, &measures->values.items[row.first + part->run], part);
	}
	return rc != 0 ? rc : vg_array_push(&measures->rows, &row);
}

size_t vg_measures_run_count(const struct vg_measures *measures, const struct vg_measure_row *row,
			     uint32_t first, uint32_t end)
{
	size_t runs = 0;

	for (size_t i = row->first; i < row->first + row->count; i++)
		runs += measures->values.items[i].run >= first && measures->values.items[i].run < end;
	return runs;
}
