/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/output/text.h"

/* Which frames repeat an outer one is a property of the tree: found once, used by every table. */
struct repeat_search {
	struct vg_tables *tables;
	uint32_t *open;              /* by function: frames of it on the path from the root */
};

static bool is_repeat(const struct vg_tables *tables, uint32_t node, size_t i)
{
	uint64_t bit = tables->repeat_at[node] + i;

	return tables->repeats[bit / 8] >> (bit % 8) & 1;
}

static void repeat_enter(void *context, uint32_t node)
{
	struct repeat_search *search = context;
	struct vg_tables *tables = search->tables;

	for (size_t i = vg_frames_count(tables->frames, node); i-- > 0;) {
		uint32_t function = vg_frames_at(tables->frames, node, i).function;
		uint64_t bit = tables->repeat_at[node] + i;

		if (search->open[function]++ > 0)
			tables->repeats[bit / 8] |= (unsigned char)(1 << bit % 8);
	}
}

static void repeat_leave(void *context, uint32_t node)
{
	struct repeat_search *search = context;
	const struct vg_frames *frames = search->tables->frames;

	for (size_t i = vg_frames_count(frames, node); i-- > 0;)
		search->open[vg_frames_at(frames, node, i).function]--;
}

static bool is_all_repeats(const struct vg_tables *tables, uint32_t node)
{
	for (size_t i = 0; i < vg_frames_count(tables->frames, node); i++) {
		if (!is_repeat(tables, node, i))
			return false;
	}
	return true;
}

/* VG_NONE of a node that starts a thread.  A caller of repeats alone is passed over: it adds nothing to
 * its functions for what is below it. */
static uint32_t caller_of(const struct vg_tables *tables, uint32_t node)
{
	uint32_t parent = tables->profile->stacks.items[node].parent;

	return parent != VG_NONE ? tables->counted[parent] : VG_NONE;
}

/* Callers have lower numbers, and the outermost frame is no repeat. */
static void counted_find(struct vg_tables *tables)
{
	for (uint32_t node = 0; node < tables->profile->stacks.count; node++)
		tables->counted[node] = is_all_repeats(tables, node) ? caller_of(tables, node) : node;
}

static int repeats_find(struct vg_tables *tables)
{
	struct repeat_search search = { .tables = tables };
	struct vg_tree tree;
	uint64_t bits = 0;
	int rc = vg_tree_build(&tree, tables->profile);

	if (rc != 0)
		return rc;
	for (size_t node = 0; node < tables->profile->stacks.count; node++) {
		tables->repeat_at[node] = bits;
		bits += vg_frames_count(tables->frames, (uint32_t)node);
	}
	tables->repeats = calloc(bits / 8 + 1, 1);
	search.open = calloc((size_t)tables->frames->count + 1, sizeof *search.open);
	if (tables->repeats == NULL || search.open == NULL) {
		rc = -ENOMEM;
	} else {
		vg_tree_walk(&tree, repeat_enter, repeat_leave, &search);
		counted_find(tables);
	}
	free(search.open);
	vg_tree_free(&tree);
	return rc;
}

int vg_tables_open(struct vg_tables *tables, const struct vg_frames *frames,
		   enum vg_weight weight)
{
	size_t nodes = frames->profile->stacks.count + 1;

	*tables = (struct vg_tables){ .profile = frames->profile, .frames = frames,
				      .weight = weight };
	tables->repeat_at = calloc(nodes, sizeof *tables->repeat_at);
	tables->counted = calloc(nodes, sizeof *tables->counted);
	tables->subtrees = calloc(nodes, sizeof *tables->subtrees);
	tables->reached = calloc(nodes, 1);
	tables->row_of = calloc((size_t)frames->count + 1, sizeof *tables->row_of);
	if (tables->repeat_at == NULL || tables->counted == NULL || tables->subtrees == NULL ||
	    tables->reached == NULL || tables->row_of == NULL)
		return -ENOMEM;
	return repeats_find(tables);
}

void vg_tables_close(struct vg_tables *tables)
{
	free(tables->repeat_at);
	free(tables->repeats);
	free(tables->counted);
	free(tables->subtrees);
	free(tables->reached);
	free(tables->row_of);
	vg_array_free(&tables->nodes);
	*tables = (struct vg_tables){ 0 };
}

static int row_get(struct vg_table *table, struct vg_tables *tables, uint32_t function,
		   struct vg_row **row)
{
	if (tables->row_of[function] == 0) {
		struct vg_row fresh = { .function = function };
		int rc = vg_array_push(&table->rows, &fresh);

		if (rc != 0)
			return rc;
		tables->row_of[function] = (uint32_t)table->rows.count;
	}
	*row = &table->rows.items[tables->row_of[function] - 1];
	return 0;
}

/* Notes the node and its callers, as far as they are not noted yet. */
static int node_reach(struct vg_tables *tables, uint32_t node)
{
	for (; node != VG_NONE && !tables->reached[node]; node = caller_of(tables, node)) {
		int rc = vg_array_push(&tables->nodes, &node);

		if (rc != 0)
			return rc;
		tables->reached[node] = 1;
	}
	return 0;
}

static int sample_add(struct vg_table *table, struct vg_tables *tables, uint32_t index)
{
	const struct vg_sample *sample = &tables->profile->samples.items[index];
	uint64_t weight_ns = tables->values != NULL ? tables->values[index] :
			     vg_weight_of(sample, tables->weight);
	struct vg_subtree *subtree;
	struct vg_row *row;
	int rc;

	table->samples += sample->count;
	table->weight_ns = vg_sum(table->weight_ns, weight_ns);
	table->wall_ns = vg_sum(table->wall_ns, sample->wall_ns);
	table->cpu_ns = vg_sum(table->cpu_ns, sample->cpu_ns);
	if (sample->stack == VG_NONE)
		return 0;
	rc = node_reach(tables, sample->stack);
	if (rc == 0)
		rc = row_get(table, tables,
			     vg_frames_at(tables->frames, sample->stack, 0).function, &row);
	if (rc != 0)
		return rc;
	row->self_ns = vg_sum(row->self_ns, weight_ns);
	row->self_samples += sample->count;
	subtree = &tables->subtrees[sample->stack];
	subtree->ns = vg_sum(subtree->ns, weight_ns);
	subtree->samples += sample->count;
	return 0;
}

/* Hands a node's weight to its functions and to its caller.  Its callees were before it. */
static int node_total(struct vg_table *table, struct vg_tables *tables, uint32_t node)
{
	struct vg_subtree own = tables->subtrees[node];
	uint32_t caller_node = caller_of(tables, node);

	for (size_t i = 0; i < vg_frames_count(tables->frames, node); i++) {
		struct vg_row *row;
		int rc;

		if (is_repeat(tables, node, i))
			continue;
		rc = row_get(table, tables, vg_frames_at(tables->frames, node, i).function, &row);
		if (rc != 0)
			return rc;
		row->total_ns = vg_sum(row->total_ns, own.ns);
		row->total_samples += own.samples;
	}
	if (caller_node != VG_NONE) {
		struct vg_subtree *caller = &tables->subtrees[caller_node];

		caller->ns = vg_sum(caller->ns, own.ns);
		caller->samples += own.samples;
	}
	return 0;
}

static int node_descending(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? 1 : left > right ? -1 : 0;
}

static int row_compare(const void *a, const void *b, void *context)
{
	const struct vg_frames *frames = context;
	const struct vg_row *left = a, *right = b;
	int by_name;

	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	by_name = strcmp(vg_frames_function(frames, left->function).name,
			 vg_frames_function(frames, right->function).name);
	if (by_name != 0)
		return by_name;
	return left->function < right->function ? -1 : left->function > right->function;
}

int vg_table_build(struct vg_table *table, struct vg_tables *tables, const uint32_t *samples,
		   size_t count)
{
	int rc = 0;

	*table = (struct vg_table){ 0 };
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = sample_add(table, tables, samples[i]);
	/* A caller's number is below its callees' numbers. */
	if (tables->nodes.count > 0)
		qsort(tables->nodes.items, tables->nodes.count, sizeof *tables->nodes.items,
		      node_descending);
	for (size_t i = 0; rc == 0 && i < tables->nodes.count; i++)
		rc = node_total(table, tables, tables->nodes.items[i]);
	/* Only what was touched is wiped: thousands of threads share one large tree. */
	for (size_t i = 0; i < tables->nodes.count; i++) {
		tables->reached[tables->nodes.items[i]] = 0;
		tables->subtrees[tables->nodes.items[i]] = (struct vg_subtree){ 0 };
	}
	tables->nodes.count = 0;
	for (size_t i = 0; i < table->rows.count; i++)
		tables->row_of[table->rows.items[i].function] = 0;
	if (rc != 0)
		vg_table_free(table);
	else if (table->rows.count > 0)
		qsort_r(table->rows.items, table->rows.count, sizeof *table->rows.items,
			row_compare, (void *)tables->frames);
	return rc;
}

void vg_table_free(struct vg_table *table)
{
	vg_array_free(&table->rows);
}
