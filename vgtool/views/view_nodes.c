/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/view_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table of nodes ---- */

/* vg_intern would need three times this memory. */
static uint32_t slot_find(const struct vg_view_nodes *nodes, uint32_t parent, uint32_t frame)
{
	const uint32_t key[] = { parent, frame };
	uint32_t at = (uint32_t)vg_hash(&nodes->hash_key, key, sizeof key) & (nodes->slot_count - 1);

	for (;; at = (at + 1) & (nodes->slot_count - 1)) {
		uint32_t node = nodes->slots[at];

		if (node == 0 || (nodes->parents.items[node - 1] == parent && nodes->frame_of.items[node - 1] == frame))
			return at;
	}
}

/* Makes room for one node for each frame of the profile.  Equal frames of several stacks need fewer. */
static int slots_make(struct vg_view_nodes *nodes, uint32_t nodes_max)
{
	uint64_t most = VG_WALK_END_COUNT;

	for (uint32_t stack = 0; most < nodes_max && stack < nodes->frames->profile->stacks.count; stack++)
		most += vg_frames_count(nodes->frames, stack);
	nodes->nodes_max = nodes_max;
	nodes->slot_count = 1 << 4;
	while (nodes->slot_count / 2 < most)
		nodes->slot_count *= 2;
	nodes->slots = calloc(nodes->slot_count, sizeof *nodes->slots);
	return nodes->slots != NULL ? 0 : -ENOMEM;
}

/* Sets *node to the node of that caller and frame, and adds the node if it is new. */
static int node_find(struct vg_view_nodes *nodes, uint32_t parent, uint32_t frame, uint32_t *node)
{
	uint32_t slot = slot_find(nodes, parent, frame);
	int rc;

	*node = nodes->slots[slot] - 1;
	if (nodes->slots[slot] != 0)
		return 0;
	*node = (uint32_t)nodes->parents.count;
	if (*node >= nodes->nodes_max)
		return -EFBIG;
	rc = vg_array_push(&nodes->parents, &parent);
	if (rc == 0)
		rc = vg_array_push(&nodes->frame_of, &frame);
	if (rc == 0)
		nodes->slots[slot] = *node + 1;
	return rc;
}

/* ---- the stacks of the profile ---- */

static int frame_number(struct vg_view_nodes *nodes, struct vg_frame_view view, uint32_t *number)
{
	const struct vg_view_frame frame = { view.function, view.line, view.is_inline };
	int rc = vg_intern(&nodes->list, &frame, sizeof frame, number);

	return rc < 0 ? rc : 0;
}

/* A frame of a symbol line is looked up once: known[] has its number + 1. */
static int node_frame_number(struct vg_view_nodes *nodes, uint32_t node, size_t i, uint32_t *known, uint32_t *number)
{
	const struct vg_frame_node *at = &nodes->frames->nodes[node];
	int rc;

	if (at->line_count > 0 && known[at->first + i] > 0) {
		*number = known[at->first + i] - 1;
		return 0;
	}
	rc = frame_number(nodes, vg_frames_at(nodes->frames, node, i), number);
	if (rc == 0 && at->line_count > 0)
		known[at->first + i] = *number + 1;
	return rc;
}

static int incomplete_add(struct vg_view_nodes *nodes)
{
	uint32_t frame;
	int rc = 0;

	for (uint32_t end = VG_WALK_ROOT + 1; rc == 0 && end <= VG_WALK_END_COUNT; end++) {
		rc = frame_number(nodes, (struct vg_frame_view){ .function = nodes->frames->count + end - 1 }, &frame);
		if (rc == 0)
			rc = node_find(nodes, VG_NONE, frame, &nodes->incomplete[end]);
	}
	nodes->incomplete[VG_WALK_ROOT] = VG_NONE;
	return rc;
}

static uint32_t incomplete_node(const struct vg_view_nodes *nodes, uint8_t end)
{
	return nodes->incomplete[end < VG_WALK_END_COUNT ? end : VG_WALK_END_COUNT];
}

/* A hostile profile can have many stacks at one address with 1000 inlined functions. */
struct inlined {
	struct vg_intern keys;       /* the caller's node, and the symbol lines */
	VG_ARRAY(uint32_t) nodes;    /* by number of the key: the innermost node */
};

/* Returns 1 if the stack's frames are new.  Otherwise *at is their innermost node. */
static int inlined_find(struct inlined *inlined, const struct vg_frame_node *of, uint32_t *at)
{
	const uint32_t key[] = { *at, of->first, of->line_count };
	uint32_t number;
	int rc = vg_intern(&inlined->keys, key, sizeof key, &number);

	if (rc == 1)
		return vg_array_push(&inlined->nodes, at) == 0 ? 1 : -ENOMEM;
	if (rc == 0)
		*at = inlined->nodes.items[number];
	return rc;
}

static int stack_add(struct vg_view_nodes *nodes, uint32_t stack, uint32_t *known, struct inlined *inlined)
{
	const struct vg_stack *of = &nodes->frames->profile->stacks.items[stack];
	uint32_t at = of->parent != VG_NONE ? nodes->by_node[of->parent] : incomplete_node(nodes, of->end);
	size_t count = vg_frames_count(nodes->frames, stack);
	int found = count > 1 ? inlined_find(inlined, &nodes->frames->nodes[stack], &at) : 1, rc = found < 0 ? found : 0;

	for (size_t i = found == 1 ? count : 0; rc == 0 && i-- > 0;) {
		uint32_t frame;

		rc = node_frame_number(nodes, stack, i, known, &frame);
		if (rc == 0)
			rc = node_find(nodes, at, frame, &at);
	}
	if (count > 1 && found == 1)
		inlined->nodes.items[inlined->nodes.count - 1] = at;
	nodes->by_node[stack] = at;
	return rc;
}

int vg_view_nodes_build(struct vg_view_nodes *nodes, const struct vg_frames *frames, uint32_t nodes_max)
{
	size_t count = frames->profile->stacks.count;
	uint32_t *known = calloc(frames->profile->symbol_lines.count + 1, sizeof *known);
	struct inlined inlined = { 0 };
	int rc;

	*nodes = (struct vg_view_nodes){ .frames = frames };
	vg_hash_key(&nodes->hash_key);
	rc = vg_function_classes_build(&nodes->classes, frames);
	nodes->by_node = calloc(count + 1, sizeof *nodes->by_node);
	if (known == NULL || nodes->by_node == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = slots_make(nodes, nodes_max);
	if (rc == 0)
		rc = incomplete_add(nodes);
	for (uint32_t stack = 0; rc == 0 && stack < count; stack++)
		rc = stack_add(nodes, stack, known, &inlined);
	vg_array_free(&inlined.nodes);
	vg_intern_free(&inlined.keys);
	free(known);
	free(nodes->slots);
	nodes->slots = NULL;
	return rc;
}

void vg_view_nodes_free(struct vg_view_nodes *nodes)
{
	vg_array_free(&nodes->parents);
	vg_array_free(&nodes->frame_of);
	vg_intern_free(&nodes->list);
	free(nodes->classes);
	free(nodes->by_node);
	free(nodes->slots);
	*nodes = (struct vg_view_nodes){ 0 };
}

uint32_t vg_view_node(const struct vg_view_nodes *nodes, const struct vg_sample *sample)
{
	return sample->stack != VG_NONE ? nodes->by_node[sample->stack] : incomplete_node(nodes, sample->end);
}

enum vg_frame_class vg_view_class(const struct vg_view_nodes *nodes, uint32_t function)
{
	return function < nodes->frames->count ? (enum vg_frame_class)nodes->classes[function] : VG_CLASS_UNKNOWN;
}

uint32_t vg_view_functions(const struct vg_view_nodes *nodes)
{
	return nodes->frames->count + VG_WALK_END_COUNT;
}

struct vg_function_view vg_view_function(const struct vg_view_nodes *nodes, uint32_t function,
					 struct vg_incomplete_name *room)
{
	if (function < nodes->frames->count)
		return vg_frames_function(nodes->frames, function);
	return (struct vg_function_view){ .name = vg_incomplete_name(function - nodes->frames->count + 1, room) };
}
