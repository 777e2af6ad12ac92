/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FIREFOX_PROFILE_H
#define VG_VGTOOL_FIREFOX_PROFILE_H

#include "vgtool/analysis/frames.h"
#include "vgtool/analysis/thread_names.h"
#include "vgtool/analysis/thread_samples.h"
#include "vgtool/analysis/tracks.h"
#include "vgtool/output/json.h"

/* State of one profile of the Firefox Profiler, shared by the files that write its parts (firefox*.c). */
struct vg_firefox {
	const struct vg_profile *profile;
	struct vg_json json;
	struct vg_frames frames;
	struct vg_tracks tracks;
	struct vg_thread_names names;
	unsigned char *classes;      /* by node: enum vg_frame_class */
	enum vg_weight weight;
	struct vg_track_samples samples; /* the track after the last one is the difference */
	uint32_t base_processes;     /* 0: there is no difference */
	uint64_t origin_ns[2];       /* [1]: time 0 of the base; [0]: of other processes */
	uint32_t repeats_max;        /* how often one record may be repeated */
	unsigned char *pid_taken;    /* by group: 1: an earlier group has the same id */
	unsigned char *tid_taken;    /* by track: 1: an earlier track has the same id */
	uint32_t *main_track;        /* by group: its first track */
};

/* True if the thread (an index) belongs to the base of a comparison. */
static inline bool vg_firefox_is_base(const struct vg_firefox *firefox, uint32_t thread)
{
	return firefox->profile->threads.items[thread].process < firefox->base_processes;
}

/* A time of a thread, since time 0 of the picture; at most INT64_MAX. */
static inline uint64_t vg_firefox_time(const struct vg_firefox *firefox, uint32_t thread, uint64_t time_ns)
{
	uint64_t origin_ns = firefox->origin_ns[vg_firefox_is_base(firefox, thread)];

	time_ns = time_ns > origin_ns ? time_ns - origin_ns : 0;
	return time_ns < INT64_MAX ? time_ns : INT64_MAX;
}

/* The id of a group's process.  If an earlier group has the same id, the number of the group is added. */
static inline void vg_firefox_pid_write(struct vg_firefox *firefox, uint32_t group)
{
	char text[32];
	int pid = firefox->profile->processes.items[firefox->tracks.groups[group].process].pid;

	if (firefox->pid_taken[group])
		snprintf(text, sizeof text, "%d (%u)", pid, group + 1);
	else
		snprintf(text, sizeof text, "%d", pid);
	vg_json_key_string(&firefox->json, "pid", text);
}

#endif
