/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/sample_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/analysis/function_match.h"
#include "vgtool/analysis/thread_names.h"

/* Parses a number of seconds at *text and moves *text behind it. */
static bool seconds_parse(const char **text, uint64_t *ns)
{
	uint64_t unit = 1000000000, value = 0;
	const char *at = *text;

	for (; isdigit((unsigned char)*at); at++) {
		if (value > UINT64_MAX / unit / 100)
			return false;
		value = value * 10 + (uint64_t)(*at - '0');
	}
	if (at == *text)
		return false;
	value *= unit;
	/* In "1..2" no decimals follow the 1. */
	if (*at == '.' && isdigit((unsigned char)at[1])) {
		for (at++; isdigit((unsigned char)*at) && unit > 1; at++)
			value += (uint64_t)(*at - '0') * (unit /= 10);
	}
	*text = at;
	*ns = value;
	return true;
}

bool vg_time_range_parse(const char *text, uint64_t *begin_ns, uint64_t *end_ns)
{
	bool has_begin = *text != '.';

	*begin_ns = 0;
	*end_ns = UINT64_MAX;
	if (has_begin && !seconds_parse(&text, begin_ns))
		return false;
	if (strncmp(text, "..", 2) != 0)
		return false;
	text += 2;
	if (*text != '\0' && !seconds_parse(&text, end_ns))
		return false;
	return *text == '\0' && *begin_ns < *end_ns && (has_begin || *end_ns != UINT64_MAX);
}

bool vg_sample_filter_is_set(const struct vg_sample_filter *filter)
{
	return filter->thread != NULL || filter->function != NULL || filter->begin_ns > 0 ||
	       filter->end_ns != UINT64_MAX || filter->state != VG_SAMPLE_ANY;
}

/* Marks the nodes whose stacks have a function that matches. */
static void nodes_mark(const struct vg_frames *frames, const unsigned char *marked, unsigned char *nodes)
{
	const struct vg_profile *profile = frames->profile;

	for (uint32_t node = 0; node < profile->stacks.count; node++) {
		uint32_t parent = profile->stacks.items[node].parent;

		nodes[node] = parent != VG_NONE && nodes[parent];
		for (size_t i = 0; !nodes[node] && i < vg_frames_count(frames, node); i++)
			nodes[node] = marked[vg_frames_at(frames, node, i).function];
	}
}

static int functions_filter(const struct vg_sample_filter *filter, const struct vg_profile *profile, bool by_module,
			    unsigned char *keep)
{
	unsigned char *nodes = calloc(profile->stacks.count + 1, 1);
	struct vg_function_match match = { 0 };
	struct vg_frames frames;
	int rc = vg_frames_build_rows(&frames, profile, VG_FRAMES_FUNCTION, by_module);

	if (nodes == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = vg_function_match_regex(&match, &frames, &filter->regex);
	if (rc == 0)
		nodes_mark(&frames, match.marked, nodes);
	for (size_t i = 0; rc == 0 && i < profile->samples.count; i++) {
		uint32_t stack = profile->samples.items[i].stack;

		if (stack == VG_NONE || !nodes[stack])
			keep[i] = 0;
	}
	vg_function_match_free(&match);
	vg_frames_free(&frames);
	free(nodes);
	return rc;
}

static bool state_matches(enum vg_sample_state state, const struct vg_sample *sample)
{
	return state == VG_SAMPLE_ANY || (sample->cpu_ns > 0) == (state == VG_SAMPLE_ON_CPU);
}

int vg_sample_filter_apply(const struct vg_sample_filter *filter, const struct vg_profile *profile, bool by_module,
			   unsigned char *keep)
{
	bool *selected = calloc(profile->threads.count + 1, sizeof *selected);

	if (selected == NULL)
		return -ENOMEM;
	for (size_t t = 0; t < profile->threads.count; t++) {
		const struct vg_thread *thread = &profile->threads.items[t];

		selected[t] = filter->thread == NULL ||
			      vg_thread_matches(filter->thread, thread->tid, vg_profile_text(profile, thread->name));
	}
	for (size_t i = 0; i < profile->samples.count; i++) {
		const struct vg_sample *sample = &profile->samples.items[i];

		if (!selected[sample->thread] || sample->time_ns < filter->begin_ns ||
		    sample->time_ns >= filter->end_ns || !state_matches(filter->state, sample))
			keep[i] = 0;
	}
	free(selected);
	return filter->function != NULL ? functions_filter(filter, profile, by_module, keep) : 0;
}
