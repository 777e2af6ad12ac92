/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int function_list_find(struct vg_chains *chains, const struct vg_frames *frames, uint32_t node,
			      uint32_t *number)
{
	uint32_t functions[VG_FRAME_INLINES_MAX];
	size_t count = vg_frames_count(frames, node);

	for (size_t i = 0; i < count; i++)
		functions[i] = vg_frames_at(frames, node, i).function;
	return vg_intern(&chains->lists, functions, count * sizeof *functions, number);
}

/* Nodes at one address share a symbol, so the list of its functions is built only once.  known[] is indexed by the
 * symbol's first line and holds the list's number + 1; 0: not built yet. */
static int node_list_find(struct vg_chains *chains, const struct vg_frames *frames, uint32_t node,
			  uint32_t *known, uint32_t *number)
{
	const struct vg_frame_node *at = &frames->nodes[node];
	int rc;

	if (at->line_count > 0 && known[at->first] > 0) {
		*number = known[at->first] - 1;
		return 0;
	}
	rc = function_list_find(chains, frames, node, number);
	if (rc >= 0 && at->line_count > 0)
		known[at->first] = *number + 1;
	return rc;
}

int vg_chains_build(struct vg_chains *chains, const struct vg_frames *frames)
{
	const struct vg_profile *profile = frames->profile;
	uint32_t *known = calloc(profile->symbol_lines.count + 1, sizeof *known);
	int rc = 0;

	*chains = (struct vg_chains){ 0 };
	chains->by_node = calloc(profile->stacks.count + 1, sizeof *chains->by_node);
	if (known == NULL || chains->by_node == NULL)
		rc = -ENOMEM;
	for (uint32_t node = 0; rc >= 0 && node < profile->stacks.count; node++) {
		uint32_t parent = profile->stacks.items[node].parent;
		struct vg_chain key = { VG_CHAIN_ROOTS + profile->stacks.items[node].end, 0 };

		rc = node_list_find(chains, frames, node, known, &key.list);
		if (parent != VG_NONE)
			key.caller = chains->by_node[parent];
		if (rc >= 0)
			rc = vg_intern(&chains->keys, &key, sizeof key, &chains->by_node[node]);
		if (rc > 0)
			rc = vg_array_push(&chains->nodes, &node);
	}
	free(known);
	return rc < 0 ? rc : 0;
}

void vg_chains_free(struct vg_chains *chains)
{
	free(chains->by_node);
	vg_intern_free(&chains->keys);
	vg_intern_free(&chains->lists);
	vg_array_free(&chains->nodes);
	*chains = (struct vg_chains){ 0 };
}

uint32_t vg_chain_caller(const struct vg_chains *chains, uint32_t chain)
{
	struct vg_chain key;

	memcpy(&key, vg_intern_bytes(&chains->keys, chain, NULL), sizeof key);
	return key.caller < VG_CHAIN_ROOTS ? key.caller : VG_NONE;
}
