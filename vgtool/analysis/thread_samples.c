/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/thread_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *vg_weight_name(enum vg_weight weight)
{
	return weight == VG_WEIGHT_CPU ? "cpu" : "wall";
}

enum vg_weight vg_weight_default(const struct vg_profile *profile)
{
	const char *mode = vg_profile_text(profile, profile->header.mode_name);

	return strcmp(mode, "cpu") == 0 ? VG_WEIGHT_CPU : VG_WEIGHT_WALL;
}

int vg_thread_samples_build(struct vg_thread_samples *threads, const struct vg_profile *profile,
			    int64_t only_tid)
{
	size_t thread_count = profile->threads.count;
	uint64_t kept = 0;

	*threads = (struct vg_thread_samples){ 0 };
	if (profile->samples.count >= VG_NONE)
		return -ENOMEM;
	/* A counting sort.  At first, first[t + 1] is the number of samples of thread t.  Then it is the position where
	 * they begin, and at the end the position where they end. */
	threads->first = calloc(thread_count + 2, sizeof *threads->first);
	threads->order = malloc((profile->samples.count + 1) * sizeof *threads->order);
	if (threads->first == NULL || threads->order == NULL) {
		vg_thread_samples_free(threads);
		return -ENOMEM;
	}
	for (size_t i = 0; i < profile->samples.count; i++)
		threads->first[profile->samples.items[i].thread + 1]++;
	for (size_t t = 0; t < thread_count; t++) {
		uint64_t count = threads->first[t + 1];

		threads->first[t + 1] = kept;
		if (only_tid < 0 || profile->threads.items[t].tid == only_tid)
			kept += count;
	}
	for (size_t i = 0; i < profile->samples.count; i++) {
		uint32_t t = profile->samples.items[i].thread;

		if (only_tid < 0 || profile->threads.items[t].tid == only_tid)
			threads->order[threads->first[t + 1]++] = (uint32_t)i;
	}
	return 0;
}

void vg_thread_samples_keep(struct vg_thread_samples *threads, const struct vg_profile *profile,
			    const unsigned char *keep)
{
	uint64_t kept = 0, first = 0;

	for (size_t t = 0; t < profile->threads.count; t++) {
		uint64_t end = threads->first[t + 1];

		for (uint64_t at = first; at < end; at++) {
			if (keep[threads->order[at]])
				threads->order[kept++] = threads->order[at];
		}
		first = end;
		threads->first[t + 1] = kept;
	}
}

void vg_thread_samples_free(struct vg_thread_samples *threads)
{
	free(threads->first);
	free(threads->order);
	*threads = (struct vg_thread_samples){ 0 };
}
