/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/interval_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "vgtool/output/text.h"

struct row_key {
	uint32_t kind, label;
};

static void weight_add(struct vg_interval_weight *weight, uint64_t ns, uint64_t samples)
{
	weight->ns = vg_sum(weight->ns, ns);
	weight->samples += samples;
}

static int row_get(struct vg_interval_table *table, struct vg_intern *keys,
		   const struct vg_interval *interval, struct vg_interval_row **row)
{
	struct row_key key = { interval->kind, interval->label };
	struct vg_interval_row fresh = { .kind = interval->kind, .label = interval->label };
	uint32_t id;
	int rc = vg_intern(keys, &key, sizeof key, &id);

	if (rc > 0)
		rc = vg_array_push(&table->rows, &fresh);
	/* The first row is for the samples in no interval. */
	if (rc == 0)
		*row = &table->rows.items[id + 1];
	return rc < 0 ? rc : 0;
}

static int interval_descending(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? 1 : left > right ? -1 : 0;
}

static uint32_t parent_of(const struct vg_interval *interval)
{
	return interval->detached ? VG_NONE : interval->parent;
}

/* Adds the interval and the intervals around it to reached_list, up to the first interval that is already in the
 * list. */
static int interval_reach(struct vg_interval_table_maker *maker, uint32_t interval)
{
	for (; interval != VG_NONE && !maker->reached[interval];
	     interval = parent_of(&maker->intervals->items.items[interval])) {
		if (vg_array_push(&maker->reached_list, &interval) != 0)
			return -ENOMEM;
		maker->reached[interval] = 1;
	}
	return 0;
}

static int interval_sum(struct vg_interval_table *table, struct vg_interval_table_maker *maker,
			struct vg_intern *keys, uint32_t index)
{
	const struct vg_interval *interval = &maker->intervals->items.items[index];
	struct vg_interval_weight *total = &maker->total[index], self = maker->self[index];
	struct vg_interval_row *row;
	int rc = row_get(table, keys, interval, &row);

	if (rc != 0)
		return rc;
	weight_add(total, self.ns, self.samples);
	if (parent_of(interval) != VG_NONE)
		weight_add(&maker->total[parent_of(interval)], total->ns, total->samples);
	row->self_ns = vg_sum(row->self_ns, self.ns);
	row->self_samples += self.samples;
	if (!interval->is_recursive) {
		row->total_ns = vg_sum(row->total_ns, total->ns);
		row->total_samples += total->samples;
	}
	return 0;
}

/* An inner interval has a higher index than the intervals around it.  So in descending order, each interval gets the
 * weight of its inner intervals before its total is added to its row.  Resets the reached intervals for the next
 * table. */
static int intervals_sum(struct vg_interval_table *table, struct vg_interval_table_maker *maker)
{
	struct vg_intern keys = { 0 };
	int rc = 0;

	if (maker->reached_list.count > 0)
		qsort(maker->reached_list.items, maker->reached_list.count, sizeof *maker->reached_list.items,
		      interval_descending);
	for (size_t i = 0; rc == 0 && i < maker->reached_list.count; i++)
		rc = interval_sum(table, maker, &keys, maker->reached_list.items[i]);
	for (size_t i = 0; i < maker->reached_list.count; i++) {
		uint32_t interval = maker->reached_list.items[i];

		maker->self[interval] = maker->total[interval] = (struct vg_interval_weight){ 0 };
		maker->reached[interval] = 0;
	}
	maker->reached_list.count = 0;
	vg_intern_free(&keys);
	return rc;
}

static int row_compare(const void *a, const void *b, void *context)
{
	const struct vg_interval_row *left = a, *right = b;
	const struct vg_profile *profile = context;
	int order;

	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	order = strcmp(vg_interval_name(profile, left->kind, left->label),
		       vg_interval_name(profile, right->kind, right->label));
	return order != 0 ? order : (left->kind > right->kind) - (left->kind < right->kind);
}

static int sample_add(struct vg_interval_table *table, struct vg_interval_table_maker *maker,
		      uint32_t index)
{
	const struct vg_sample *sample = &maker->intervals->profile->samples.items[index];
	uint64_t ns = maker->values != NULL ? maker->values[index] :
		      vg_weight_of(sample, maker->weight);
	uint32_t interval = vg_sample_interval(maker->intervals, sample);
	struct vg_interval_row *no_interval = &table->rows.items[0];

	table->samples += sample->count;
	table->weight_ns = vg_sum(table->weight_ns, ns);
	table->wall_ns = vg_sum(table->wall_ns, sample->wall_ns);
	table->cpu_ns = vg_sum(table->cpu_ns, sample->cpu_ns);
	if (interval != VG_NONE) {
		weight_add(&maker->self[interval], ns, sample->count);
		return interval_reach(maker, interval);
	}
	no_interval->self_ns = no_interval->total_ns = vg_sum(no_interval->self_ns, ns);
	no_interval->self_samples += sample->count;
	no_interval->total_samples = no_interval->self_samples;
	return 0;
}

int vg_interval_table_maker_open(struct vg_interval_table_maker *maker, const struct vg_intervals *intervals,
				 enum vg_weight weight)
{
	size_t count = intervals->items.count + 1;

	*maker = (struct vg_interval_table_maker){ .intervals = intervals, .weight = weight };
	maker->self = calloc(count, sizeof *maker->self);
	maker->total = calloc(count, sizeof *maker->total);
	maker->reached = calloc(count, 1);
	return maker->self != NULL && maker->total != NULL && maker->reached != NULL ? 0 : -ENOMEM;
}

void vg_interval_table_maker_close(struct vg_interval_table_maker *maker)
{
	free(maker->self);
	free(maker->total);
	free(maker->reached);
	vg_array_free(&maker->reached_list);
}

int vg_interval_table_build(struct vg_interval_table *table, struct vg_interval_table_maker *maker,
			    const uint32_t *samples, size_t count)
{
	const struct vg_profile *profile = maker->intervals->profile;
	struct vg_interval_row no_interval = { .kind = VG_NONE, .label = VG_NONE, .is_none = true };
	int rc;

	*table = (struct vg_interval_table){ 0 };
	rc = vg_array_push(&table->rows, &no_interval);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = sample_add(table, maker, samples[i]);
	if (rc != 0)
		return rc;
	rc = intervals_sum(table, maker);
	if (rc == 0 && table->rows.items[0].self_samples == 0)
		table->rows.items[0] = table->rows.items[--table->rows.count];
	if (rc == 0 && table->rows.count > 1)
		qsort_r(table->rows.items, table->rows.count, sizeof *table->rows.items, row_compare,
			(void *)profile);
	return rc;
}

void vg_interval_table_free(struct vg_interval_table *table)
{
	vg_array_free(&table->rows);
}

int vg_samples_in_interval(const struct vg_intervals *intervals, const char *label, unsigned char **keep)
{
	const struct vg_profile *profile = intervals->profile;
	unsigned char *within = calloc(intervals->items.count + 1, 1);
	bool any = false;

	*keep = calloc(profile->samples.count + 1, 1);
	if (within == NULL || *keep == NULL) {
		free(within);
		return -ENOMEM;
	}
	for (size_t i = 0; i < intervals->items.count; i++) {
		const struct vg_interval *interval = &intervals->items.items[i];

		within[i] = strcmp(vg_interval_name(profile, interval->kind, interval->label), label) == 0;
		any = any || within[i];
		if (!interval->detached && interval->parent != VG_NONE)
			within[i] |= within[interval->parent];
	}
	for (size_t i = 0; i < profile->samples.count; i++) {
		uint32_t interval = vg_sample_interval(intervals, &profile->samples.items[i]);

		(*keep)[i] = interval != VG_NONE && within[interval];
	}
	free(within);
	return any ? 0 : -ESRCH;
}
