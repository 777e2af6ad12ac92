/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/function_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "vgtool/output/text.h"

/* State of the search for repeats: frames whose function is also the function of an outer frame.  The repeats are the
 * same for every table. */
struct repeat_search {
	struct vg_table_maker *maker;
	uint32_t *open;              /* by function: number of its frames on the path from the root */
};

static bool is_repeat(const struct vg_table_maker *maker, uint32_t node, size_t i)
{
	uint64_t bit = maker->first_bit[node] + i;

	return maker->repeats[bit / 8] >> (bit % 8) & 1;
}

static void repeat_enter(void *context, uint32_t node)
{
	struct repeat_search *search = context;
	struct vg_table_maker *maker = search->maker;

	for (size_t i = vg_frames_count(maker->frames, node); i-- > 0;) {
		uint32_t function = vg_frames_at(maker->frames, node, i).function;
		uint64_t bit = maker->first_bit[node] + i;

		if (search->open[function]++ > 0)
			maker->repeats[bit / 8] |= (unsigned char)(1 << bit % 8);
	}
}

static void repeat_leave(void *context, uint32_t node)
{
	struct repeat_search *search = context;
	const struct vg_frames *frames = search->maker->frames;

	for (size_t i = vg_frames_count(frames, node); i-- > 0;)
		search->open[vg_frames_at(frames, node, i).function]--;
}

static bool is_all_repeats(const struct vg_table_maker *maker, uint32_t node)
{
	for (size_t i = 0; i < vg_frames_count(maker->frames, node); i++) {
		if (!is_repeat(maker, node, i))
			return false;
	}
	return true;
}

/* Returns the nearest caller that has a frame that is no repeat, or VG_NONE if there is none.  A caller that has only
 * repeats is skipped, because the weight of its callees is added to none of its functions. */
static uint32_t caller_of(const struct vg_table_maker *maker, uint32_t node)
{
	uint32_t parent = maker->profile->stacks.items[node].parent;

	return parent != VG_NONE ? maker->non_repeat[parent] : VG_NONE;
}

/* A caller's number is lower than its callees', so its entry is ready.  The outermost frame of a stack is never a
 * repeat, so a root node always has a frame that is no repeat. */
static void non_repeat_find(struct vg_table_maker *maker)
{
	for (uint32_t node = 0; node < maker->profile->stacks.count; node++)
		maker->non_repeat[node] = is_all_repeats(maker, node) ? caller_of(maker, node) : node;
}

static int repeats_find(struct vg_table_maker *maker)
{
	struct repeat_search search = { .maker = maker };
	struct vg_tree tree;
	uint64_t bits = 0;
	int rc = vg_tree_build(&tree, maker->profile);

	if (rc != 0)
		return rc;
	for (size_t node = 0; node < maker->profile->stacks.count; node++) {
		maker->first_bit[node] = bits;
		bits += vg_frames_count(maker->frames, (uint32_t)node);
	}
	maker->repeats = calloc(bits / 8 + 1, 1);
	search.open = calloc((size_t)maker->frames->count + 1, sizeof *search.open);
	if (maker->repeats == NULL || search.open == NULL) {
		rc = -ENOMEM;
	} else {
		vg_tree_walk(&tree, repeat_enter, repeat_leave, &search);
		non_repeat_find(maker);
	}
	free(search.open);
	vg_tree_free(&tree);
	return rc;
}

int vg_table_maker_open(struct vg_table_maker *maker, const struct vg_frames *frames,
			enum vg_weight weight)
{
	size_t nodes = frames->profile->stacks.count + 1;

	*maker = (struct vg_table_maker){ .profile = frames->profile, .frames = frames,
				      .weight = weight };
	maker->first_bit = calloc(nodes, sizeof *maker->first_bit);
	maker->non_repeat = calloc(nodes, sizeof *maker->non_repeat);
	maker->subtrees = calloc(nodes, sizeof *maker->subtrees);
	maker->reached = calloc(nodes, 1);
	maker->row_of = calloc((size_t)frames->count + 1, sizeof *maker->row_of);
	if (maker->first_bit == NULL || maker->non_repeat == NULL || maker->subtrees == NULL ||
	    maker->reached == NULL || maker->row_of == NULL)
		return -ENOMEM;
	return repeats_find(maker);
}

void vg_table_maker_close(struct vg_table_maker *maker)
{
	free(maker->first_bit);
	free(maker->repeats);
	free(maker->non_repeat);
	free(maker->subtrees);
	free(maker->reached);
	free(maker->row_of);
	vg_array_free(&maker->nodes);
	*maker = (struct vg_table_maker){ 0 };
}

static int row_get(struct vg_function_table *table, struct vg_table_maker *maker, uint32_t function,
		   struct vg_function_row **row)
{
	if (maker->row_of[function] == 0) {
		struct vg_function_row fresh = { .function = function };
		int rc = vg_array_push(&table->rows, &fresh);

		if (rc != 0)
			return rc;
		maker->row_of[function] = (uint32_t)table->rows.count;
	}
	*row = &table->rows.items[maker->row_of[function] - 1];
	return 0;
}

/* Adds the node and its callers to maker->nodes, up to the first caller that is already in maker->nodes. */
static int node_mark_reached(struct vg_table_maker *maker, uint32_t node)
{
	for (; node != VG_NONE && !maker->reached[node]; node = caller_of(maker, node)) {
		int rc = vg_array_push(&maker->nodes, &node);

		if (rc != 0)
			return rc;
		maker->reached[node] = 1;
	}
	return 0;
}

static int sample_add(struct vg_function_table *table, struct vg_table_maker *maker, uint32_t index)
{
	const struct vg_sample *sample = &maker->profile->samples.items[index];
	uint64_t weight_ns = maker->values != NULL ? maker->values[index] :
			     vg_weight_of(sample, maker->weight);
	struct vg_subtree *subtree;
	struct vg_function_row *row;
	int rc;

	table->samples += sample->count;
	table->weight_ns = vg_sum(table->weight_ns, weight_ns);
	table->wall_ns = vg_sum(table->wall_ns, sample->wall_ns);
	table->cpu_ns = vg_sum(table->cpu_ns, sample->cpu_ns);
	if (sample->stack == VG_NONE)
		return 0;
	rc = node_mark_reached(maker, sample->stack);
	if (rc == 0)
		rc = row_get(table, maker,
			     vg_frames_at(maker->frames, sample->stack, 0).function, &row);
	if (rc != 0)
		return rc;
	row->self_ns = vg_sum(row->self_ns, weight_ns);
	row->self_samples += sample->count;
	subtree = &maker->subtrees[sample->stack];
	subtree->ns = vg_sum(subtree->ns, weight_ns);
	subtree->samples += sample->count;
	return 0;
}

/* Adds the weight of the node's subtree to the node's functions and to the subtree of its caller.  Call it for the
 * node's callees first. */
static int node_total(struct vg_function_table *table, struct vg_table_maker *maker, uint32_t node)
{
	struct vg_subtree subtree = maker->subtrees[node];
	uint32_t caller_node = caller_of(maker, node);

	for (size_t i = 0; i < vg_frames_count(maker->frames, node); i++) {
		struct vg_function_row *row;
		int rc;

		if (is_repeat(maker, node, i))
			continue;
		rc = row_get(table, maker, vg_frames_at(maker->frames, node, i).function, &row);
		if (rc != 0)
			return rc;
		row->total_ns = vg_sum(row->total_ns, subtree.ns);
		row->total_samples += subtree.samples;
	}
	if (caller_node != VG_NONE) {
		struct vg_subtree *caller = &maker->subtrees[caller_node];

		caller->ns = vg_sum(caller->ns, subtree.ns);
		caller->samples += subtree.samples;
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
	const struct vg_function_row *left = a, *right = b;
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

int vg_function_table_build(struct vg_function_table *table, struct vg_table_maker *maker, const uint32_t *samples,
			    size_t count)
{
	int rc = 0;

	*table = (struct vg_function_table){ 0 };
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = sample_add(table, maker, samples[i]);
	/* A caller's number is lower than its callees': descending order visits callees first. */
	if (maker->nodes.count > 0)
		qsort(maker->nodes.items, maker->nodes.count, sizeof *maker->nodes.items,
		      node_descending);
	for (size_t i = 0; rc == 0 && i < maker->nodes.count; i++)
		rc = node_total(table, maker, maker->nodes.items[i]);
	/* Thousands of threads can share one large tree, so only the reached nodes are reset. */
	for (size_t i = 0; i < maker->nodes.count; i++) {
		maker->reached[maker->nodes.items[i]] = 0;
		maker->subtrees[maker->nodes.items[i]] = (struct vg_subtree){ 0 };
	}
	maker->nodes.count = 0;
	for (size_t i = 0; i < table->rows.count; i++)
		maker->row_of[table->rows.items[i].function] = 0;
	if (rc != 0)
		vg_function_table_free(table);
	else if (table->rows.count > 0)
		qsort_r(table->rows.items, table->rows.count, sizeof *table->rows.items,
			row_compare, (void *)maker->frames);
	return rc;
}

void vg_function_table_free(struct vg_function_table *table)
{
	vg_array_free(&table->rows);
}
