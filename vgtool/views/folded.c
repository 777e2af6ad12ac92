/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "vgtool/analysis/chains.h"
#include "vgtool/analysis/thread_names.h"
#include "vgtool/output/text.h"
#include "vgtool/views/trimmed_stack.h"

struct folded {
	const struct vg_profile *profile;
	const struct vg_folded_options *options;
	struct vg_frames frames;
	struct vg_chains chains;
	struct vg_trimmed_stack trimmed;
	struct vg_thread_names threads;
	struct vg_intern keys;       /* struct line_key -> index in sums */
	VG_ARRAY(uint64_t) sums;
	FILE *file;
};

struct line_key {
	uint32_t thread;             /* index; VG_NONE unless by_thread */
	uint32_t chain;              /* VG_NONE: no frames */
	uint32_t end;                /* enum vg_walk_end */
};

static bool thread_selected(const struct folded *folded, uint32_t thread)
{
	const struct vg_thread *of = &folded->profile->threads.items[thread];

	return folded->options->thread == NULL ||
	       vg_thread_matches(folded->options->thread, of->tid,
				 vg_profile_text(folded->profile, of->name));
}

static int sample_add(struct folded *folded, const struct vg_sample *sample)
{
	struct line_key key = { VG_NONE, VG_NONE, sample->end };
	uint64_t none = 0;
	uint32_t line;
	int rc;

	if (folded->options->by_thread)
		key.thread = sample->thread;
	if (sample->stack != VG_NONE)
		key.chain = folded->chains.by_node[sample->stack];
	rc = vg_intern(&folded->keys, &key, sizeof key, &line);
	if (rc > 0)
		rc = vg_array_push(&folded->sums, &none);
	if (rc < 0)
		return rc;
	folded->sums.items[line] = vg_sum(folded->sums.items[line], folded->options->in_samples ?
		sample->count : vg_weight_of(sample, folded->options->weight));
	return 0;
}

static int samples_add(struct folded *folded)
{
	const struct vg_profile *profile = folded->profile;
	bool *selected = calloc(profile->threads.count + 1, sizeof *selected), any = false;
	int rc = selected != NULL ? 0 : -ENOMEM;

	for (uint32_t t = 0; rc == 0 && t < profile->threads.count; t++)
		any |= selected[t] = thread_selected(folded, t);
	if (rc == 0 && !any && folded->options->thread != NULL)
		rc = -ESRCH;
	for (size_t i = 0; rc == 0 && i < profile->samples.count; i++) {
		if (selected[profile->samples.items[i].thread])
			rc = sample_add(folded, &profile->samples.items[i]);
	}
	free(selected);
	return rc;
}

/* Writes one frame of a line.  A semicolon in the name becomes a colon. */
static void frame_put(struct folded *folded, const char *name, bool *first)
{
	if (!*first)
		putc_unlocked(';', folded->file);
	*first = false;
	for (;;) {
		size_t length = strcspn(name, ";");

		fwrite_unlocked(name, 1, length, folded->file);
		if (name[length] == '\0')
			break;
		putc_unlocked(':', folded->file);
		name += length + 1;
	}
}

static void line_write(struct folded *folded, const struct line_key *key, uint64_t sum)
{
	struct vg_trimmed_stack *trimmed = &folded->trimmed;
	struct vg_incomplete_name incomplete;
	struct vg_thread_name room;
	char name[32];
	bool first = true;

	if (key->thread != VG_NONE)
		frame_put(folded, vg_thread_name(&folded->threads, key->thread, &room), &first);
	if (key->end != VG_WALK_ROOT)
		frame_put(folded, vg_incomplete_name(key->end, &incomplete), &first);
	else if (key->chain == VG_NONE)
		frame_put(folded, "[idle]", &first);
	/* Use the first node of the chain: all nodes of a chain show the same functions. */
	vg_trimmed_stack_fill(trimmed, key->chain != VG_NONE ? folded->chains.nodes.items[key->chain] : VG_NONE,
			      VG_TRIMMED_STACK_MAX);
	snprintf(name, sizeof name, "[%" PRIu32 " frames cut]", trimmed->cut);
	for (size_t i = trimmed->count; i-- > 0;)
		frame_put(folded, trimmed->functions[i] == VG_TRIMMED_STACK_GAP ? name :
			  vg_frames_function(&folded->frames, trimmed->functions[i]).name, &first);
	fprintf(folded->file, " %" PRIu64 "\n", sum);
}

static void lines_write(struct folded *folded)
{
	for (uint32_t i = 0; i < folded->sums.count && !ferror(folded->file); i++) {
		uint64_t sum = folded->sums.items[i];
		struct line_key key;

		if (!folded->options->in_samples)
			sum = sum / 1000 + (sum % 1000 >= 500);
		memcpy(&key, vg_intern_bytes(&folded->keys, i, NULL), sizeof key);
		if (sum > 0)
			line_write(folded, &key, sum);
	}
}

int vg_folded_write(const struct vg_profile *profile, const struct vg_folded_options *options, FILE *file)
{
	struct folded folded = { .profile = profile, .options = options, .file = file };
	int rc = vg_frames_build(&folded.frames, profile);

	if (rc == 0)
		rc = vg_chains_build(&folded.chains, &folded.frames);
	if (rc == 0)
		rc = vg_trimmed_stack_build(&folded.trimmed, &folded.frames);
	if (rc == 0)
		rc = vg_thread_names_build(&folded.threads, profile);
	if (rc == 0)
		rc = samples_add(&folded);
	if (rc == 0)
		lines_write(&folded);
	vg_intern_free(&folded.keys);
	vg_array_free(&folded.sums);
	vg_thread_names_free(&folded.threads);
	vg_trimmed_stack_free(&folded.trimmed);
	vg_chains_free(&folded.chains);
	vg_frames_free(&folded.frames);
	return rc;
}
