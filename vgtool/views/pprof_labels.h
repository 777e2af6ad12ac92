/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PPROF_LABELS_H
#define VG_VGTOOL_PPROF_LABELS_H

#include "vgtool/analysis/intervals.h"
#include "vgtool/analysis/tracks.h"
#include "vgtool/views/pprof_file.h"

/*
 * The labels of samples in a pprof file:
 *  - thread: the thread's name.  Threads of several processes are one if they are one track (analysis/tracks.h).
 *  - thread_id, a number, unless the track has several threads.
 *  - process: its name and id, if the profile has several processes.
 *  - interval: once for each label of the intervals around the sample, outermost first.
 *  - pprof::base=true: the sample belongs to the base of a comparison.  `go tool pprof -diff_base` adds the same label.
 *
 *	vg_pprof_labels_build(&labels, profile, base_processes, &file);
 *	path = vg_pprof_interval_path(&labels, sample);
 *	count = vg_pprof_labels_of(&labels, track, path, room);
 *	vg_pprof_labels_free(&labels);
 */
struct vg_pprof_labels {
	const struct vg_profile *profile; /* the caller's; must outlive this */
	struct vg_tracks tracks;
	int64_t *threads;            /* by track: the text of its name */
	int64_t *processes;          /* by group: the text of its name */
	struct vg_intervals intervals;
	uint32_t *paths;             /* by interval: the number of its path */
	struct vg_intern path_keys;  /* struct vg_pprof_path -> number */
	struct { int64_t thread, thread_id, process, interval, base, is_true; } keys; /* texts */
};

struct vg_pprof_path {
	uint32_t outer;              /* number of a path, or VG_NONE */
	uint32_t depth;              /* labels, from 1 */
	int64_t label;               /* text */
};

/* Intervals that are nested deeper have the label "[deeper intervals]". */
enum { VG_PPROF_PATH_MAX = 50, VG_PPROF_LABELS_MAX = VG_PPROF_PATH_MAX + 4 };

/* Returns 0 or -ENOMEM; call vg_pprof_labels_free() in either case. */
int vg_pprof_labels_build(struct vg_pprof_labels *labels, const struct vg_profile *profile, uint32_t base_processes,
			  struct vg_pprof_file *file);
void vg_pprof_labels_free(struct vg_pprof_labels *labels);

/* Returns the number of the path of the sample's interval, or VG_NONE. */
uint32_t vg_pprof_interval_path(const struct vg_pprof_labels *labels, const struct vg_sample *sample);

/* Writes the labels to `room`, which has room for VG_PPROF_LABELS_MAX, and returns their number. */
size_t vg_pprof_labels_of(const struct vg_pprof_labels *labels, uint32_t track, uint32_t path,
			  Perftools__Profiles__Label *room);

#endif
