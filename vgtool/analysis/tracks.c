/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/tracks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sum.h"

static int groups_find(struct vg_tracks *tracks, const struct vg_profile *profile, uint32_t base_processes)
{
	struct vg_intern keys = { 0 };
	int rc = 0;

	for (uint32_t p = 0; rc >= 0 && p < profile->processes.count; p++) {
		const struct vg_process *process = &profile->processes.items[p];
		uint32_t key[] = { process->name, (uint32_t)process->pid, p < base_processes };

		rc = vg_intern(&keys, key, sizeof key, &tracks->group_of[p]);
		if (rc == 1)
			tracks->groups[tracks->group_count++] = (struct vg_track_group){ p, p < base_processes };
	}
	vg_intern_free(&keys);
	return rc < 0 ? rc : 0;
}

static int tracks_find(struct vg_tracks *tracks, const struct vg_profile *profile)
{
	struct vg_intern keys = { 0 };
	int rc = 0;

	for (uint32_t t = 0; rc >= 0 && t < profile->threads.count; t++) {
		const struct vg_thread *thread = &profile->threads.items[t];
		uint32_t group = tracks->group_of[thread->process];
		bool is_named = vg_profile_text(profile, thread->name)[0] != '\0';
		uint32_t key[] = { group, is_named, is_named ? thread->name : (uint32_t)thread->tid, 0 };

		/* Threads of one file stay apart. */
		if (profile->processes.count == 1)
			key[3] = t;
		rc = vg_intern(&keys, key, sizeof key, &tracks->track_of[t]);
		if (rc == 1)
			tracks->items[tracks->count++] = (struct vg_track){ group, t, 0 };
		if (rc >= 0)
			tracks->items[tracks->track_of[t]].thread_count++;
	}
	vg_intern_free(&keys);
	return rc < 0 ? rc : 0;
}

int vg_tracks_build(struct vg_tracks *tracks, const struct vg_profile *profile, uint32_t base_processes)
{
	int rc;

	*tracks = (struct vg_tracks){
		.items = calloc(profile->threads.count + 1, sizeof *tracks->items),
		.groups = calloc(profile->processes.count + 1, sizeof *tracks->groups),
		.track_of = calloc(profile->threads.count + 1, sizeof *tracks->track_of),
		.group_of = calloc(profile->processes.count + 1, sizeof *tracks->group_of),
	};
	if (tracks->items == NULL || tracks->groups == NULL || tracks->track_of == NULL || tracks->group_of == NULL)
		return -ENOMEM;
	rc = groups_find(tracks, profile, base_processes);
	return rc != 0 ? rc : tracks_find(tracks, profile);
}

void vg_tracks_free(struct vg_tracks *tracks)
{
	free(tracks->items);
	free(tracks->groups);
	free(tracks->track_of);
	free(tracks->group_of);
	*tracks = (struct vg_tracks){ 0 };
}

/* ---- the samples of the tracks ---- */

static int by_time(const void *a, const void *b, void *context)
{
	const struct vg_sample *samples = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	if (samples[left].time_ns != samples[right].time_ns)
		return samples[left].time_ns < samples[right].time_ns ? -1 : 1;
	return left < right ? -1 : left > right;
}

int vg_track_samples_build(struct vg_track_samples *samples, const struct vg_tracks *tracks,
			   const struct vg_profile *profile)
{
	uint64_t *first = calloc((size_t)tracks->count + 2, sizeof *first);
	uint32_t *order = malloc((profile->samples.count + 1) * sizeof *order);

	*samples = (struct vg_track_samples){ first, order };
	if (first == NULL || order == NULL || profile->samples.count >= VG_NONE)
		return -ENOMEM;
	/* A counting sort.  At first, first[t + 2] is the number of samples of track t.  Then first[t + 1] is the
	 * position of the track's next sample, until all are placed. */
	for (size_t i = 0; i < profile->samples.count; i++)
		first[tracks->track_of[profile->samples.items[i].thread] + 2]++;
	for (uint32_t t = 0; t <= tracks->count; t++)
		first[t + 1] += first[t];
	for (uint32_t i = 0; i < profile->samples.count; i++)
		order[first[tracks->track_of[profile->samples.items[i].thread] + 1]++] = i;
	/* The samples of one thread are in order of time already. */
	for (uint32_t t = 0; t < tracks->count; t++) {
		if (tracks->items[t].thread_count > 1 && first[t + 1] > first[t] + 1)
			qsort_r(order + first[t], first[t + 1] - first[t], sizeof *order, by_time,
				profile->samples.items);
	}
	return 0;
}

void vg_track_samples_free(struct vg_track_samples *samples)
{
	free(samples->first);
	free(samples->order);
	*samples = (struct vg_track_samples){ 0 };
}

/* A weight may include a little of the neighbours' time, so less than 1 % is no overlap. */
bool vg_track_overlaps(const struct vg_track_samples *samples, uint32_t track, const struct vg_profile *profile)
{
	const struct vg_sample *last = NULL;
	uint64_t wall_ns = 0, overlap_ns = 0;

	for (uint64_t at = samples->first[track]; at < samples->first[track + 1]; at++) {
		const struct vg_sample *sample = &profile->samples.items[samples->order[at]];
		uint64_t begin_ns = sample->time_ns > sample->wall_ns ? sample->time_ns - sample->wall_ns : 0;

		if (last != NULL && last->thread != sample->thread && last->time_ns > begin_ns)
			overlap_ns = vg_sum(overlap_ns, last->time_ns - begin_ns);
		wall_ns = vg_sum(wall_ns, sample->wall_ns);
		last = sample;
	}
	return overlap_ns > wall_ns / 100;
}
