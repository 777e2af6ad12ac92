/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "vgtool/analysis/tree.h"
#include "vgtool/output/text.h"

/* Samples at a node, or at a node and its callees. */
struct sum {
	uint64_t ns, samples;
};

/* One frame of one node.  It stands for samples whose stacks have this frame.  In a tree of callees these are all
 * samples at the node and its callees.  In a tree of callers they are the samples of the root item that led to this
 * item. */
struct item {
	uint32_t function, node, frame;
	struct sum sum;
};

/* A row that was not added yet.  Its items are items[first] to items[first + count - 1]. */
struct group {
	size_t first, count;
	struct vg_call_row row;
};

struct builder {
	struct vg_call_tree *tree;
	const struct vg_frames *frames;
	const struct vg_call_tree_options *options;
	struct vg_tree stacks;
	struct sum *own, *subtree;   /* by node */
	struct items { struct item *items; size_t count, capacity; } pending, next;
	struct groups { struct group *items; size_t count, capacity; } groups, siblings;
	uint64_t least_ns;
	uint64_t steps;
};

static void sum_add(struct sum *sum, const struct sum *more)
{
	sum->ns = vg_sum(sum->ns, more->ns);
	sum->samples = vg_sum(sum->samples, more->samples);
}

/* ---- samples by node ---- */

static void samples_add(struct builder *builder, const uint32_t *samples, size_t count)
{
	const struct vg_profile *profile = builder->frames->profile;
	const uint64_t *values = builder->options->values;

	for (size_t i = 0; i < count; i++) {
		const struct vg_sample *sample = &profile->samples.items[samples[i]];
		struct sum sum = { values != NULL ? values[samples[i]] :
				   vg_weight_of(sample, builder->options->weight), sample->count };

		builder->tree->samples = vg_sum(builder->tree->samples, sum.samples);
		builder->tree->weight_ns = vg_sum(builder->tree->weight_ns, sum.ns);
		if (sample->stack != VG_NONE)
			sum_add(&builder->own[sample->stack], &sum);
	}
	/* A caller's number is lower than its callees'. */
	for (size_t node = profile->stacks.count; node-- > 0;) {
		uint32_t parent = profile->stacks.items[node].parent;

		sum_add(&builder->subtree[node], &builder->own[node]);
		if (parent != VG_NONE)
			sum_add(&builder->subtree[parent], &builder->subtree[node]);
	}
}

/* ---- items ---- */

static int item_add(struct builder *builder, uint32_t node, size_t frame, const struct sum *sum)
{
	struct item item = { vg_frames_at(builder->frames, node, frame).function, node, (uint32_t)frame, *sum };

	builder->steps++;
	return sum->samples > 0 ? vg_array_push(&builder->next, &item) : 0;
}

static int callees_add(struct builder *builder, uint32_t first)
{
	int rc = 0;

	for (uint32_t node = first; rc == 0 && node != VG_NONE; node = builder->stacks.next_sibling[node])
		rc = item_add(builder, node, vg_frames_count(builder->frames, node) - 1, &builder->subtree[node]);
	return rc;
}

/* Adds the frames below the item's frame in the tree: its callees, or in a tree of callers its caller. */
static int item_step(struct builder *builder, const struct item *item)
{
	uint32_t parent = builder->frames->profile->stacks.items[item->node].parent;

	if (!builder->options->to_callers)
		return item->frame > 0 ? item_add(builder, item->node, item->frame - 1, &item->sum) :
		       callees_add(builder, builder->stacks.first_child[item->node]);
	if (item->frame + 1 < vg_frames_count(builder->frames, item->node))
		return item_add(builder, item->node, item->frame + 1, &item->sum);
	return parent != VG_NONE ? item_add(builder, parent, 0, &item->sum) : 0;
}

static int leaves_add(struct builder *builder)
{
	int rc = 0;

	for (uint32_t node = 0; rc == 0 && node < builder->frames->profile->stacks.count; node++)
		rc = item_add(builder, node, 0, &builder->own[node]);
	return rc;
}

/* Returns the index of the node's outermost frame whose function is marked, or -1. */
static ptrdiff_t marked_frame(const struct builder *builder, uint32_t node)
{
	for (size_t i = vg_frames_count(builder->frames, node); i-- > 0;) {
		if (builder->options->begin[vg_frames_at(builder->frames, node, i).function])
			return (ptrdiff_t)i;
	}
	return -1;
}

static int marked_add(struct builder *builder)
{
	const struct vg_profile *profile = builder->frames->profile;
	unsigned char *is_inside = calloc(profile->stacks.count + 1, 1);
	int rc = is_inside != NULL ? 0 : -ENOMEM;

	for (uint32_t node = 0; rc == 0 && node < profile->stacks.count; node++) {
		uint32_t parent = profile->stacks.items[node].parent;
		ptrdiff_t frame;

		is_inside[node] = parent != VG_NONE && is_inside[parent];
		if (is_inside[node] || builder->subtree[node].samples == 0)
			continue;
		frame = marked_frame(builder, node);
		is_inside[node] = frame >= 0;
		if (frame >= 0)
			rc = item_add(builder, node, (size_t)frame, &builder->subtree[node]);
	}
	free(is_inside);
	return rc;
}

/* ---- groups ---- */

static int by_function(const void *a, const void *b)
{
	const struct item *left = a, *right = b;

	return left->function < right->function ? -1 : left->function > right->function;
}

/* The lightest first: the last group is the next row. */
static int by_weight(const void *a, const void *b, void *context)
{
	const struct group *left = a, *right = b;
	int by_name;

	if (left->row.total_ns != right->row.total_ns)
		return left->row.total_ns < right->row.total_ns ? -1 : 1;
	by_name = strcmp(vg_frames_function(context, right->row.function).name,
			 vg_frames_function(context, left->row.function).name);
	return by_name != 0 ? by_name : left->row.function > right->row.function ? -1 : 1;
}

static uint64_t self_ns(const struct builder *builder, const struct item *item)
{
	return builder->options->to_callers || item->frame > 0 ? 0 : builder->own[item->node].ns;
}

/* Makes a group of the items next[first] to next[end - 1]. */
static struct group group_make(const struct builder *builder, size_t first, size_t end, uint32_t depth)
{
	struct group group = { first, end - first, { .depth = depth } };

	group.row.function = builder->next.items[first].function;
	for (size_t i = first; i < end; i++) {
		const struct item *item = &builder->next.items[i];

		group.row.total_ns = vg_sum(group.row.total_ns, item->sum.ns);
		group.row.samples = vg_sum(group.row.samples, item->sum.samples);
		group.row.self_ns = vg_sum(group.row.self_ns, self_ns(builder, item));
		if (item->function != group.row.function)
			group.row.function = VG_NONE;
	}
	return group;
}

/* Moves the items of builder->next to builder->pending, and makes one group for each of their functions. */
static int groups_add(struct builder *builder, uint32_t depth, uint32_t branches)
{
	struct items *next = &builder->next;
	int rc = 0;

	builder->siblings.count = 0;
	if (next->count > 1)
		qsort(next->items, next->count, sizeof *next->items, by_function);
	for (size_t first = 0, end; rc == 0 && first < next->count; first = end) {
		struct group group;

		for (end = first + 1; end < next->count && next->items[end].function == next->items[first].function;)
			end++;
		group = group_make(builder, first, end, depth);
		if (group.row.total_ns > 0 && group.row.total_ns >= builder->least_ns)
			rc = vg_array_push(&builder->siblings, &group);
	}
	if (builder->siblings.count > 1)
		qsort_r(builder->siblings.items, builder->siblings.count, sizeof *builder->siblings.items, by_weight,
			(void *)builder->frames);
	for (size_t i = 0; rc == 0 && i < builder->siblings.count; i++) {
		struct group *group = &builder->siblings.items[i];
		size_t from = group->first;

		group->row.is_branch = builder->siblings.count > 1;
		group->row.branches = branches + group->row.is_branch;
		group->first = builder->pending.count;
		rc = vg_array_reserve(&builder->pending, group->count);
		if (rc == 0)
			rc = vg_array_push(&builder->groups, group);
		if (rc != 0)
			break;
		memcpy(builder->pending.items + group->first, next->items + from, group->count * sizeof *next->items);
		builder->pending.count += group->count;
	}
	next->count = 0;
	return rc;
}

static uint64_t least_ns(uint64_t total_ns, const struct vg_call_tree_options *options)
{
	return (uint64_t)((unsigned __int128)total_ns * options->least_ppm / 1000000);
}

/* All marked frames are one group, whatever their functions. */
static int root_add(struct builder *builder)
{
	struct items *next = &builder->next;
	struct group group;

	if (next->count == 0)
		return 0;
	group = group_make(builder, 0, next->count, 0);
	builder->least_ns = least_ns(group.row.total_ns, builder->options);
	builder->pending = *next;
	*next = (struct items){ 0 };
	return vg_array_push(&builder->groups, &group);
}

static int roots_add(struct builder *builder)
{
	const struct vg_call_tree_options *options = builder->options;
	size_t stacks = builder->frames->profile->stacks.count;
	int rc = options->begin != NULL ? marked_add(builder) : options->to_callers ? leaves_add(builder) :
		 callees_add(builder, builder->stacks.first_child[stacks]);

	if (rc != 0)
		return rc;
	return options->begin != NULL ? root_add(builder) : groups_add(builder, 0, 0);
}

/* The items of the last group are the last of the pending items. */
static int rows_add(struct builder *builder)
{
	int rc = 0;

	while (rc == 0 && builder->groups.count > 0) {
		struct group group = builder->groups.items[--builder->groups.count];

		if (builder->tree->rows.count == VG_CALL_TREE_ROWS_MAX) {
			builder->tree->is_incomplete = true;
			return 0;
		}
		rc = vg_array_push(&builder->tree->rows, &group.row);
		if (builder->steps > VG_CALL_TREE_STEPS_MAX)
			builder->tree->is_incomplete = true;
		for (size_t i = 0; rc == 0 && !builder->tree->is_incomplete && i < group.count; i++)
			rc = item_step(builder, &builder->pending.items[group.first + i]);
		builder->pending.count = group.first;
		if (rc == 0)
			rc = groups_add(builder, group.row.depth + 1, group.row.branches);
	}
	return rc;
}

int vg_call_tree_build(struct vg_call_tree *tree, const struct vg_frames *frames, const uint32_t *samples, size_t count,
		       const struct vg_call_tree_options *options)
{
	struct builder builder = { .tree = tree, .frames = frames, .options = options };
	size_t nodes = frames->profile->stacks.count + 1;
	int rc = vg_tree_build(&builder.stacks, frames->profile);

	*tree = (struct vg_call_tree){ 0 };
	builder.own = calloc(nodes, sizeof *builder.own);
	builder.subtree = calloc(nodes, sizeof *builder.subtree);
	if (builder.own == NULL || builder.subtree == NULL)
		rc = -ENOMEM;
	if (rc == 0) {
		samples_add(&builder, samples, count);
		builder.least_ns = least_ns(tree->weight_ns, options);
		rc = roots_add(&builder);
	}
	if (rc == 0)
		rc = rows_add(&builder);
	vg_array_free(&builder.pending);
	vg_array_free(&builder.next);
	vg_array_free(&builder.groups);
	vg_array_free(&builder.siblings);
	free(builder.own);
	free(builder.subtree);
	vg_tree_free(&builder.stacks);
	return rc;
}

void vg_call_tree_free(struct vg_call_tree *tree)
{
	vg_array_free(&tree->rows);
}
