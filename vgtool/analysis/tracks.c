/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/tracks.h"

#include <errno.h>
#include <stdlib.h>

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
