/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/pprof_labels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- intervals ---- */

static struct vg_pprof_path path_at(const struct vg_pprof_labels *labels, uint32_t number)
{
	struct vg_pprof_path path;

	memcpy(&path, vg_intern_bytes(&labels->path_keys, number, NULL), sizeof path);
	return path;
}

static bool path_has(const struct vg_pprof_labels *labels, uint32_t path, int64_t label)
{
	for (struct vg_pprof_path at; path != VG_NONE; path = at.outer) {
		at = path_at(labels, path);
		if (at.label == label)
			return true;
	}
	return false;
}

/* Finds the path of an interval whose outer interval has its path already.  A label that is in the path is not added
 * again: pprof would count the sample twice for it. */
static int path_find(struct vg_pprof_labels *labels, struct vg_pprof_file *file, size_t index)
{
	const struct vg_interval *interval = &labels->intervals.items.items[index];
	struct vg_pprof_path key = { VG_NONE, 1, 0 };
	int rc;

	if (interval->parent != VG_NONE) {
		key.outer = labels->paths[interval->parent];
		key.depth = path_at(labels, key.outer).depth + 1;
	}
	key.label = vg_pprof_text(file, key.depth >= VG_PPROF_PATH_MAX ? "[deeper intervals]" :
				  vg_interval_name(labels->profile, interval->kind, interval->label));
	labels->paths[index] = key.outer;
	if (path_has(labels, key.outer, key.label))
		return 0;
	rc = vg_intern(&labels->path_keys, &key, sizeof key, &labels->paths[index]);
	return rc < 0 ? rc : 0;
}

static int paths_build(struct vg_pprof_labels *labels, struct vg_pprof_file *file)
{
	int rc = vg_intervals_build(&labels->intervals, labels->profile);

	labels->paths = calloc(labels->intervals.items.count + 1, sizeof *labels->paths);
	if (labels->paths == NULL)
		rc = -ENOMEM;
	/* An interval begins after the one around it, so it has a higher index. */
	for (size_t i = 0; rc == 0 && i < labels->intervals.items.count; i++)
		rc = path_find(labels, file, i);
	return rc;
}

uint32_t vg_pprof_interval_path(const struct vg_pprof_labels *labels, const struct vg_sample *sample)
{
	uint32_t interval = vg_sample_interval(&labels->intervals, sample);

	return interval != VG_NONE ? labels->paths[interval] : VG_NONE;
}

/* ---- threads and processes ---- */

static void threads_name(struct vg_pprof_labels *labels, struct vg_pprof_file *file)
{
	char room[32];

	for (uint32_t t = 0; t < labels->tracks.count; t++) {
		const struct vg_thread *thread = &labels->profile->threads.items[labels->tracks.items[t].thread];
		const char *name = vg_profile_text(labels->profile, thread->name);

		snprintf(room, sizeof room, "thread %" PRId32, thread->tid);
		labels->threads[t] = vg_pprof_text(file, name[0] != '\0' ? name : room);
	}
}

static void processes_name(struct vg_pprof_labels *labels, struct vg_pprof_file *file)
{
	char room[VG_NAME_MAX_BYTES + 32];

	for (uint32_t g = 0; g < labels->tracks.group_count; g++) {
		const struct vg_process *process =
			&labels->profile->processes.items[labels->tracks.groups[g].process];

		const char *name = vg_profile_text(labels->profile, process->name);

		snprintf(room, sizeof room, "%s %" PRId32, name != NULL ? name : "", process->pid);
		labels->processes[g] = vg_pprof_text(file, room);
	}
}

int vg_pprof_labels_build(struct vg_pprof_labels *labels, const struct vg_profile *profile, uint32_t base_processes,
			  struct vg_pprof_file *file)
{
	int rc;

	*labels = (struct vg_pprof_labels){ .profile = profile };
	labels->keys.thread = vg_pprof_text(file, "thread");
	labels->keys.thread_id = vg_pprof_text(file, "thread_id");
	labels->keys.process = vg_pprof_text(file, "process");
	labels->keys.interval = vg_pprof_text(file, "interval");
	labels->keys.base = vg_pprof_text(file, "pprof::base");
	labels->keys.is_true = vg_pprof_text(file, "true");
	rc = vg_tracks_build(&labels->tracks, profile, base_processes);
	if (rc != 0)
		return rc;
	labels->threads = calloc(labels->tracks.count + 1, sizeof *labels->threads);
	labels->processes = calloc(labels->tracks.group_count + 1, sizeof *labels->processes);
	if (labels->threads == NULL || labels->processes == NULL)
		return -ENOMEM;
	threads_name(labels, file);
	processes_name(labels, file);
	return paths_build(labels, file);
}

void vg_pprof_labels_free(struct vg_pprof_labels *labels)
{
	vg_tracks_free(&labels->tracks);
	free(labels->threads);
	free(labels->processes);
	vg_intervals_free(&labels->intervals);
	free(labels->paths);
	vg_intern_free(&labels->path_keys);
	*labels = (struct vg_pprof_labels){ 0 };
}

/* ---- the labels of a sample ---- */

static Perftools__Profiles__Label label_of(int64_t key, int64_t text, int64_t number)
{
	Perftools__Profiles__Label label = PERFTOOLS__PROFILES__LABEL__INIT;

	label.key = key;
	label.str = text;
	label.num = number;
	return label;
}

size_t vg_pprof_labels_of(const struct vg_pprof_labels *labels, uint32_t track, uint32_t path,
			  Perftools__Profiles__Label *room)
{
	const struct vg_track *of = &labels->tracks.items[track];
	uint32_t depth = path != VG_NONE ? path_at(labels, path).depth : 0;
	struct vg_pprof_path at;
	size_t count = 0;

	room[count++] = label_of(labels->keys.thread, labels->threads[track], 0);
	if (of->thread_count == 1)
		room[count++] = label_of(labels->keys.thread_id, 0, labels->profile->threads.items[of->thread].tid);
	if (labels->tracks.group_count > 1)
		room[count++] = label_of(labels->keys.process, labels->processes[of->group], 0);
	if (labels->tracks.groups[of->group].is_base)
		room[count++] = label_of(labels->keys.base, labels->keys.is_true, 0);
	for (uint32_t i = depth; path != VG_NONE && i-- > 0; path = at.outer) {
		at = path_at(labels, path);
		room[count + i] = label_of(labels->keys.interval, at.label, 0);
	}
	return count + depth;
}
