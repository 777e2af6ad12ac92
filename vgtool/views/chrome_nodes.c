/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/chrome_nodes.h"

#include <errno.h>
#include <stdlib.h>

size_t vg_chrome_end_index(uint8_t end)
{
	return end < VG_WALK_END_COUNT ? end : VG_WALK_END_COUNT;
}

const char *vg_chrome_end_name(size_t end, struct vg_incomplete_name *room)
{
	return end == VG_WALK_ROOT ? "(idle)" : vg_incomplete_name((unsigned)end, room);
}

static uint32_t chain_frames(const struct vg_chrome *chrome, uint32_t chain)
{
	return (uint32_t)vg_frames_count(&chrome->frames, chrome->chains.nodes.items[chain]);
}

size_t vg_chrome_functions(const struct vg_chrome *chrome, uint32_t chain)
{
	return chain_frames(chrome, chain) + chrome->has_cut_node[chain];
}

static uint8_t chain_end(const struct vg_chrome *chrome, uint32_t chain)
{
	return chrome->profile->stacks.items[chrome->chains.nodes.items[chain]].end;
}

uint32_t vg_chrome_sample_chain(const struct vg_chrome *chrome, const struct vg_sample *sample)
{
	return sample->stack != VG_NONE ? chrome->shown_chain[chrome->chains.by_node[sample->stack]] : VG_NONE;
}

/* For each chain, finds the chain that is shown in its place.  A caller has a lower number than its callees, so the
 * caller's entry is already set. */
static int depths_cut(struct vg_chrome *chrome)
{
	size_t count = chrome->chains.nodes.count;
	uint32_t *depths = calloc(count + 1, sizeof *depths);

	chrome->shown_chain = calloc(count + 1, sizeof *chrome->shown_chain);
	chrome->has_cut_node = calloc(count + 1, 1);
	if (depths == NULL || chrome->shown_chain == NULL || chrome->has_cut_node == NULL) {
		free(depths);
		return -ENOMEM;
	}
	for (uint32_t chain = 0; chain < count; chain++) {
		uint32_t caller = vg_chain_caller(&chrome->chains, chain);

		depths[chain] = chain_frames(chrome, chain) + (caller != VG_NONE ? depths[caller] : 0);
		chrome->shown_chain[chain] = chain;
		if (caller == VG_NONE || depths[chain] <= VG_CHROME_DEPTH_MAX)
			continue;
		depths[chain] = VG_CHROME_DEPTH_MAX;
		chrome->shown_chain[chain] = chrome->shown_chain[caller];
		chrome->has_cut_node[chrome->shown_chain[caller]] = 1;
	}
	free(depths);
	return 0;
}

int vg_chrome_nodes_number(struct vg_chrome *chrome)
{
	const struct vg_profile *profile = chrome->profile;
	uint32_t next = VG_CHROME_ROOT + 1;

	chrome->chain_node_ids = calloc(chrome->chains.nodes.count + 1, sizeof(uint32_t));
	chrome->chain_written_by = calloc(chrome->chains.nodes.count + 1, sizeof(uint32_t));
	if (chrome->chain_node_ids == NULL || chrome->chain_written_by == NULL)
		return -ENOMEM;
	if (depths_cut(chrome) != 0)
		return -ENOMEM;
	/* Set to 1 the entry of each chain or end that a sample needs.  Then replace each 1 by the number of a node. */
	for (size_t i = 0; i < profile->samples.count; i++) {
		const struct vg_sample *sample = &profile->samples.items[i];
		uint32_t chain = vg_chrome_sample_chain(chrome, sample);

		if (chain == VG_NONE || sample->end != VG_WALK_ROOT)
			chrome->end_node_ids[vg_chrome_end_index(sample->end)] = 1;
		for (; chain != VG_NONE && chrome->chain_node_ids[chain] == 0;
		     chain = vg_chain_caller(&chrome->chains, chain))
			chrome->chain_node_ids[chain] = 1;
	}
	/* The time between two threads of a track. */
	for (size_t t = 0; t < profile->threads.count; t++) {
		if (chrome->next_in_track[t] != VG_NONE)
			chrome->end_node_ids[VG_WALK_ROOT] = 1;
	}
	for (size_t end = 0; end <= VG_WALK_END_COUNT; end++) {
		if (chrome->end_node_ids[end] != 0)
			chrome->end_node_ids[end] = next++;
	}
	for (uint32_t chain = 0; chain < chrome->chains.nodes.count; chain++) {
		size_t functions = vg_chrome_functions(chrome, chain);

		if (chrome->chain_node_ids[chain] == 0)
			continue;
		if (functions >= VG_NONE - next)
			return -ENOMEM;
		chrome->chain_node_ids[chain] = next;
		next += (uint32_t)functions;
	}
	return 0;
}

uint32_t vg_chrome_sample_node(const struct vg_chrome *chrome, const struct vg_sample *sample)
{
	uint32_t chain = vg_chrome_sample_chain(chrome, sample);

	if (chain == VG_NONE)
		return chrome->end_node_ids[vg_chrome_end_index(sample->end)];
	if (chain != chrome->chains.by_node[sample->stack])
		return chrome->chain_node_ids[chain] + chain_frames(chrome, chain);
	return chrome->chain_node_ids[chain] + chain_frames(chrome, chain) - 1;
}

uint32_t vg_chrome_sample_line(const struct vg_chrome *chrome, const struct vg_sample *sample)
{
	uint32_t chain = vg_chrome_sample_chain(chrome, sample);

	return chain != VG_NONE && chain == chrome->chains.by_node[sample->stack] ?
	       vg_frames_at(&chrome->frames, sample->stack, 0).line : 0;
}

uint32_t vg_chrome_parent_node(const struct vg_chrome *chrome, uint32_t chain)
{
	uint32_t caller = vg_chain_caller(&chrome->chains, chain);

	if (caller != VG_NONE)
		return chrome->chain_node_ids[caller] + chain_frames(chrome, caller) - 1;
	return chain_end(chrome, chain) == VG_WALK_ROOT ? VG_CHROME_ROOT :
	       chrome->end_node_ids[vg_chrome_end_index(chain_end(chrome, chain))];
}

struct vg_chrome_function vg_chrome_function(const struct vg_chrome *chrome, uint32_t chain, size_t i)
{
	uint32_t node = chrome->chains.nodes.items[chain], function;
	size_t count = chain_frames(chrome, chain);
	struct vg_function_view view;

	if (i == count)
		return (struct vg_chrome_function){ .name = "[deeper frames cut]" };
	function = vg_frames_at(&chrome->frames, node, count - 1 - i).function;
	view = vg_frames_function(&chrome->frames, function);
	return (struct vg_chrome_function){ view.name, view.file, chrome->lines.by_function[function] };
}
