/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/interval_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/output/text.h"

struct row_key {
	uint32_t kind, label;
};

static uint32_t sample_span(const struct vg_spans *spans, const struct vg_sample *sample)
{
	uint32_t span = sample->interval != 0 ? vg_spans_find(spans, sample->interval) : VG_NONE;

	/* One of another thread would be a lie, and could make many threads walk through its spans. */
	return span != VG_NONE && spans->items.items[span].thread == sample->thread ? span : VG_NONE;
}

static void weight_add(struct vg_interval_weight *weight, uint64_t ns, uint64_t samples)
{
	weight->ns = vg_sum(weight->ns, ns);
	weight->samples += samples;
}

static int row_get(struct vg_interval_table *table, struct vg_intern *keys,
		   const struct vg_span *span, struct vg_interval_row **row)
{
	struct row_key key = { span->kind, span->label };
	struct vg_interval_row fresh = { .kind = span->kind, .label = span->label };
	uint32_t id;
	int rc = vg_intern(keys, &key, sizeof key, &id);

	if (rc > 0)
		rc = vg_array_push(&table->rows, &fresh);
	/* The first row is that of no interval. */
	if (rc == 0)
		*row = &table->rows.items[id + 1];
	return rc < 0 ? rc : 0;
}

static int span_descending(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? 1 : left > right ? -1 : 0;
}

static uint32_t parent_of(const struct vg_span *span)
{
	return span->detached ? VG_NONE : span->parent;
}

/* Notes the span and those that it is in, as far as they are not noted yet. */
static int span_reach(struct vg_interval_tables *tables, uint32_t span)
{
	for (; span != VG_NONE && !tables->reached[span];
	     span = parent_of(&tables->spans->items.items[span])) {
		if (vg_array_push(&tables->touched, &span) != 0)
			return -ENOMEM;
		tables->reached[span] = 1;
	}
	return 0;
}

static int span_sum(struct vg_interval_table *table, struct vg_interval_tables *tables,
		    struct vg_intern *keys, uint32_t index)
{
	const struct vg_span *span = &tables->spans->items.items[index];
	struct vg_interval_weight *all = &tables->all[index], own = tables->own[index];
	struct vg_interval_row *row;
	int rc = row_get(table, keys, span, &row);

	if (rc != 0)
		return rc;
	weight_add(all, own.ns, own.samples);
	if (parent_of(span) != VG_NONE)
		weight_add(&tables->all[parent_of(span)], all->ns, all->samples);
	row->self_ns = vg_sum(row->self_ns, own.ns);
	row->self_samples += own.samples;
	if (!span->repeats) {
		row->total_ns = vg_sum(row->total_ns, all->ns);
		row->total_samples += all->samples;
	}
	return 0;
}

/* Spans come after those that they are in: backwards, all that is within one was added to it before
 * its turn comes.  What was touched is wiped for the next table. */
static int spans_sum(struct vg_interval_table *table, struct vg_interval_tables *tables)
{
	struct vg_intern keys = { 0 };
	int rc = 0;

	if (tables->touched.count > 0)
		qsort(tables->touched.items, tables->touched.count, sizeof *tables->touched.items,
		      span_descending);
	for (size_t i = 0; rc == 0 && i < tables->touched.count; i++)
		rc = span_sum(table, tables, &keys, tables->touched.items[i]);
	for (size_t i = 0; i < tables->touched.count; i++) {
		uint32_t span = tables->touched.items[i];

		tables->own[span] = tables->all[span] = (struct vg_interval_weight){ 0 };
		tables->reached[span] = 0;
	}
	tables->touched.count = 0;
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
	order = strcmp(vg_span_name(profile, left->kind, left->label),
		       vg_span_name(profile, right->kind, right->label));
	return order != 0 ? order : (left->kind > right->kind) - (left->kind < right->kind);
}

static int sample_add(struct vg_interval_table *table, struct vg_interval_tables *tables,
		      uint32_t index)
{
	const struct vg_sample *sample = &tables->spans->profile->samples.items[index];
	uint64_t ns = tables->values != NULL ? tables->values[index] :
		      vg_weight_of(sample, tables->weight);
	uint32_t span = sample_span(tables->spans, sample);
	struct vg_interval_row *outside = &table->rows.items[0];

	table->samples += sample->count;
	table->weight_ns = vg_sum(table->weight_ns, ns);
	table->wall_ns = vg_sum(table->wall_ns, sample->wall_ns);
	table->cpu_ns = vg_sum(table->cpu_ns, sample->cpu_ns);
	if (span != VG_NONE) {
		weight_add(&tables->own[span], ns, sample->count);
		return span_reach(tables, span);
	}
	outside->self_ns = outside->total_ns = vg_sum(outside->self_ns, ns);
	outside->self_samples += sample->count;
	outside->total_samples = outside->self_samples;
	return 0;
}

int vg_interval_tables_open(struct vg_interval_tables *tables, const struct vg_spans *spans,
			    enum vg_weight weight)
{
	size_t count = spans->items.count + 1;

	*tables = (struct vg_interval_tables){ .spans = spans, .weight = weight };
	tables->own = calloc(count, sizeof *tables->own);
	tables->all = calloc(count, sizeof *tables->all);
	tables->reached = calloc(count, 1);
	return tables->own != NULL && tables->all != NULL && tables->reached != NULL ? 0 : -ENOMEM;
}

void vg_interval_tables_close(struct vg_interval_tables *tables)
{
	free(tables->own);
	free(tables->all);
	free(tables->reached);
	vg_array_free(&tables->touched);
}

int vg_interval_table_build(struct vg_interval_table *table, struct vg_interval_tables *tables,
			    const uint32_t *samples, size_t count)
{
	const struct vg_profile *profile = tables->spans->profile;
	struct vg_interval_row outside = { .kind = VG_NONE, .label = VG_NONE, .outside = true };
	int rc;

	*table = (struct vg_interval_table){ 0 };
	rc = vg_array_push(&table->rows, &outside);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = sample_add(table, tables, samples[i]);
	if (rc != 0)
		return rc;
	rc = spans_sum(table, tables);
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

int vg_interval_samples(const struct vg_spans *spans, const char *label, unsigned char **keep)
{
	const struct vg_profile *profile = spans->profile;
	unsigned char *within = calloc(spans->items.count + 1, 1);
	bool any = false;

	*keep = calloc(profile->samples.count + 1, 1);
	if (within == NULL || *keep == NULL) {
		free(within);
		return -ENOMEM;
	}
	for (size_t i = 0; i < spans->items.count; i++) {
		const struct vg_span *span = &spans->items.items[i];

		within[i] = strcmp(vg_span_name(profile, span->kind, span->label), label) == 0;
		any = any || within[i];
		if (!span->detached && span->parent != VG_NONE)
			within[i] |= within[span->parent];
	}
	for (size_t i = 0; i < profile->samples.count; i++) {
		uint32_t span = sample_span(spans, &profile->samples.items[i]);

		(*keep)[i] = span != VG_NONE && within[span];
	}
	free(within);
	return any ? 0 : -ESRCH;
}
