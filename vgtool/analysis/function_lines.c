/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/function_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "vgtool/analysis/tree.h"

struct times {
	uint64_t ns, samples;
};

struct line_key {
	uint32_t function;           /* number */
	uint32_t line;
};

struct search {
	const struct vg_frames *frames;
	struct vg_intern keys;       /* struct line_key -> number of the line */
	uint32_t *line_of;           /* by symbol line: number of the line */
	struct times *nodes;         /* by node: samples at the node and its callees */
	struct times *lines;         /* by line */
	uint32_t *open;              /* by line: number of its frames on the path from the root */
};

static void times_add(struct times *times, uint64_t ns, uint64_t samples)
{
	times->ns = vg_sum(times->ns, ns);
	times->samples = vg_sum(times->samples, samples);
}

static int lines_number(struct search *search)
{
	const struct vg_profile *profile = search->frames->profile;
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < profile->symbol_lines.count; i++) {
		const struct vg_symbol_line *at = &profile->symbol_lines.items[i];
		struct line_key key = { search->frames->by_function[at->function], at->line };

		rc = vg_intern(&search->keys, &key, sizeof key, &search->line_of[i]);
	}
	return rc < 0 ? rc : 0;
}

/* A caller has a lower number than its callees, so the sum of a node is complete when it is added to its caller. */
static void nodes_sum(struct search *search, enum vg_weight weight)
{
	const struct vg_profile *profile = search->frames->profile;

	for (size_t i = 0; i < profile->samples.count; i++) {
		const struct vg_sample *sample = &profile->samples.items[i];

		if (sample->stack != VG_NONE)
			times_add(&search->nodes[sample->stack], vg_weight_of(sample, weight), sample->count);
	}
	for (size_t node = profile->stacks.count; node-- > 0;) {
		uint32_t parent = profile->stacks.items[node].parent;

		if (parent != VG_NONE)
			times_add(&search->nodes[parent], search->nodes[node].ns, search->nodes[node].samples);
	}
}

static void node_enter(void *context, uint32_t node)
{
	struct search *search = context;
	const struct vg_frame_node *at = &search->frames->nodes[node];

	for (uint32_t i = 0; i < at->line_count; i++) {
		uint32_t line = search->line_of[at->first + i];

		if (search->open[line]++ == 0)
			times_add(&search->lines[line], search->nodes[node].ns, search->nodes[node].samples);
	}
}

static void node_leave(void *context, uint32_t node)
{
	struct search *search = context;
	const struct vg_frame_node *at = &search->frames->nodes[node];

	for (uint32_t i = 0; i < at->line_count; i++)
		search->open[search->line_of[at->first + i]]--;
}

static bool is_hotter(const struct times *times, const struct times *than, uint32_t line, uint32_t than_line)
{
	if (times->ns != than->ns)
		return times->ns > than->ns;
	return times->samples != than->samples ? times->samples > than->samples : line < than_line;
}

static int hottest_find(const struct search *search, uint32_t *by_function)
{
	struct times *hottest = calloc((size_t)search->frames->count + 1, sizeof *hottest);

	if (hottest == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < search->keys.count; i++) {
		struct line_key key;

		memcpy(&key, vg_intern_bytes(&search->keys, i, NULL), sizeof key);
		if (key.line > 0 && search->lines[i].samples > 0 &&
		    is_hotter(&search->lines[i], &hottest[key.function], key.line, by_function[key.function])) {
			hottest[key.function] = search->lines[i];
			by_function[key.function] = key.line;
		}
	}
	free(hottest);
	return 0;
}

static int search_run(struct search *search, enum vg_weight weight, uint32_t *by_function)
{
	const struct vg_profile *profile = search->frames->profile;
	struct vg_tree tree;
	int rc = lines_number(search);

	search->nodes = calloc(profile->stacks.count + 1, sizeof *search->nodes);
	search->lines = calloc((size_t)search->keys.count + 1, sizeof *search->lines);
	search->open = calloc((size_t)search->keys.count + 1, sizeof *search->open);
	if (search->nodes == NULL || search->lines == NULL || search->open == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = vg_tree_build(&tree, profile);
	if (rc != 0)
		return rc;
	nodes_sum(search, weight);
	vg_tree_walk(&tree, node_enter, node_leave, search);
	vg_tree_free(&tree);
	return hottest_find(search, by_function);
}

int vg_function_lines_build(struct vg_function_lines *lines, const struct vg_frames *frames, enum vg_weight weight)
{
	struct search search = { .frames = frames };
	int rc = -ENOMEM;

	lines->by_function = calloc((size_t)frames->count + 1, sizeof *lines->by_function);
	search.line_of = calloc(frames->profile->symbol_lines.count + 1, sizeof *search.line_of);
	if (lines->by_function != NULL && search.line_of != NULL)
		rc = search_run(&search, weight, lines->by_function);
	vg_intern_free(&search.keys);
	free(search.line_of);
	free(search.nodes);
	free(search.lines);
	free(search.open);
	return rc;
}

void vg_function_lines_free(struct vg_function_lines *lines)
{
	free(lines->by_function);
	lines->by_function = NULL;
}
