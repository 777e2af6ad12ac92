/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TRACKS_H
#define VG_VGTOOL_TRACKS_H

#include "profile/model.h"

/*
 * The tracks of a picture, in groups.  A profile of one file has one group, and a track for each thread.  In a merged
 * profile (profile/merge.h):
 *  - Processes with the same name and id are one group.  So the profiles of a service that is recorded every minute
 *    make one group.
 *  - Threads of one group with the same name are one track.  Threads without a name are one track if they have the
 *    same id.
 *
 *	vg_tracks_build(&tracks, profile, 0);
 *	track = &tracks.items[tracks.track_of[sample->thread]];
 *	vg_tracks_free(&tracks);
 */
struct vg_track {
	uint32_t group;              /* index in `groups` */
	uint32_t thread;             /* index of its first thread, whose name it has */
	uint32_t thread_count;
};

struct vg_track_group {
	uint32_t process;            /* index of its first process */
	bool is_base;                /* its processes belong to the base of a comparison */
};

struct vg_tracks {
	struct vg_track *items;      /* in order of their first threads */
	uint32_t count;
	struct vg_track_group *groups; /* in order of their first processes */
	uint32_t group_count;
	uint32_t *track_of;          /* by thread */
	uint32_t *group_of;          /* by process */
};

/* base_processes: the first processes of the profile, which are the base of a comparison.  They share no group with
 * other processes.  Returns 0 or -ENOMEM; call vg_tracks_free() in either case.  Takes time in proportion to the
 * numbers of threads and processes. */
int vg_tracks_build(struct vg_tracks *tracks, const struct vg_profile *profile, uint32_t base_processes);
void vg_tracks_free(struct vg_tracks *tracks);

/* The samples of a profile, sorted by track and, within a track, by time.  Track t has order[first[t]] to
 * order[first[t + 1] - 1]. */
struct vg_track_samples {
	uint64_t *first;
	uint32_t *order;             /* indices into the profile's samples */
};

/* Returns 0 or -ENOMEM; call vg_track_samples_free() in either case. */
int vg_track_samples_build(struct vg_track_samples *samples, const struct vg_tracks *tracks,
			   const struct vg_profile *profile);
void vg_track_samples_free(struct vg_track_samples *samples);

/* True if the track has threads that ran at the same time.  Its samples are then no sequence. */
bool vg_track_overlaps(const struct vg_track_samples *samples, uint32_t track, const struct vg_profile *profile);

#endif
