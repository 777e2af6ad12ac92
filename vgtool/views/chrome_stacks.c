/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/chrome_stacks.h"

#include <inttypes.h>

#include "vgtool/views/chrome_nodes.h"
#include "vgtool/views/repeats.h"

/* Writes one node: the key is its number, the value is an object. */
static void frame_write(struct vg_json *json, uint32_t id, uint32_t parent, const char *name,
			const char *module)
{
	char text[16];

	vg_json_line(json);
	snprintf(text, sizeof text, "%" PRIu32, id);
	vg_json_key(json, text);
	vg_json_object_begin(json);
	vg_json_key_string(json, "name", name);
	vg_json_key_string(json, "category", module != NULL ? module : "");
	if (parent != VG_CHROME_ROOT) {
		snprintf(text, sizeof text, "%" PRIu32, parent);
		vg_json_key_string(json, "parent", text);
	}
	vg_json_object_end(json);
}

static void chain_write(struct vg_chrome *chrome, uint32_t chain)
{
	uint32_t node = chrome->chains.nodes.items[chain], id = chrome->chain_node_ids[chain];
	uint32_t parent = vg_chrome_parent_node(chrome, chain);
	uint32_t module = chrome->profile->stacks.items[node].module;
	const char *module_name = module != VG_NONE ?
		vg_profile_text(chrome->profile, chrome->profile->modules.items[module].name) : NULL;

	for (size_t i = 0; i < vg_chrome_functions(chrome, chain); i++) {
		frame_write(&chrome->json, id, parent, vg_chrome_function(chrome, chain, i).name, module_name);
		parent = id++;
	}
}

static void frames_write(struct vg_chrome *chrome)
{
	struct vg_json *json = &chrome->json;
	struct vg_incomplete_name room;

	vg_json_key(json, "stackFrames");
	vg_json_object_begin(json);
	for (size_t end = 0; end <= VG_WALK_END_COUNT; end++) {
		if (chrome->end_node_ids[end] != 0)
			frame_write(json, chrome->end_node_ids[end], VG_CHROME_ROOT,
				    vg_chrome_end_name(end, &room), NULL);
	}
	for (uint32_t chain = 0; chain < chrome->chains.nodes.count && !ferror(json->file); chain++) {
		if (chrome->chain_node_ids[chain] != 0)
			chain_write(chrome, chain);
	}
	vg_json_object_end(json);
}

static void sample_write(struct vg_chrome *chrome, const struct vg_sample *sample)
{
	uint32_t repeats = vg_repeats_of(sample, chrome->repeats_max);
	uint32_t node = vg_chrome_sample_node(chrome, sample);
	struct vg_json *json = &chrome->json;
	char text[16];

	snprintf(text, sizeof text, "%" PRIu32, node);
	for (uint32_t i = 0; i < repeats; i++) {
		vg_json_line(json);
		vg_json_object_begin(json);
		vg_json_key_uint(json, "cpu", 0);
		vg_json_key_uint(json, "tid", (uint64_t)chrome->tids[sample->thread]);
		vg_json_key_uint(json, "ts", vg_repeat_ns(sample, i, repeats) / 1000);
		vg_json_key_string(json, "name", "sample");
		vg_json_key_string(json, "sf", text);
		vg_json_key_uint(json, "weight", 1);
		vg_json_object_end(json);
	}
}

void vg_chrome_stacks_write(struct vg_chrome *chrome)
{
	const struct vg_profile *profile = chrome->profile;

	frames_write(chrome);
	vg_json_key(&chrome->json, "samples");
	vg_json_array_begin(&chrome->json);
	for (size_t i = 0; i < profile->samples.count && !ferror(chrome->json.file); i++)
		sample_write(chrome, &profile->samples.items[i]);
	vg_json_array_end(&chrome->json);
}
