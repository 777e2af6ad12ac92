/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LANE_H
#define VG_VIGNETTED_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "vignetted/target/tasks.h"

/* The most open intervals of one thread that we follow; further ones are ignored.  libvgctl has the same limit. */
enum { VG_LANE_DEPTH = 64 };

/* At session time time_ns, `interval` became the token of the thread's innermost open interval.  0: none is open. */
struct vg_lane_change {
	uint64_t time_ns, interval;
};

/* The latest timer sample of the thread: its session time, and the token of the interval that it names, or 0. */
struct vg_lane_sampled {
	uint64_t time_ns, interval;
};

/* What we know about one lane of the event ring: which thread has it, and which intervals are open. */
struct vg_events_lane {
	uint32_t number;             /* of the lane in the ring */
	struct vg_lane *shared;      /* the lane in the ring, which the host writes */
	uint64_t tail;               /* records copied so far */
	uint64_t first;              /* number of the session's first record */
	uint64_t first_of[VG_RECORDINGS_MAX]; /* number of each recording's first record */
	uint64_t dropped;            /* the shared lane's `dropped` at the session's begin */
	uint64_t last_ns;            /* session time of its latest event */
	uint32_t claims;             /* the shared lane's `claims` when its thread was looked up */
	uint32_t name;               /* number of the label that is the thread's name, or 0 */
	vg_recording_set thread_written; /* profiles that have the thread, with the id threads[i] */
	vg_recording_set skipped;    /* profiles in thread_written that want neither the thread nor its events */
	vg_recording_set name_written; /* profiles that have the thread's name, or do not need it */
	uint32_t threads[VG_RECORDINGS_MAX];
	pid_t tid;                   /* of the thread */
	uint64_t begin_ns;           /* session time of its first event, if it is not in vg_tasks; 0: not known yet */
	bool has_ended;              /* its end is in the profiles, if it is not in vg_tasks */
	bool known;                  /* the lane's thread is known */
	bool is_no_task;             /* the lane's thread is not in vg_tasks */
	uint32_t drains_waited;      /* calls of vg_events_drain() that have not found the thread in vg_tasks */
	uint32_t depth;              /* number of tokens in `open` */
	uint64_t open[VG_LANE_DEPTH]; /* tokens of the open intervals, the innermost last */
	uint64_t interval_before;    /* token of the innermost open interval before the first of `changes`, or 0 */
	uint64_t known_since_ns;     /* session time of the latest change that was dropped */
	struct vg_lane_sampled sampled;
	VG_ARRAY(struct vg_lane_change) changes; /* in order of time */
};

/* Call it when another thread has taken the lane. */
void vg_lane_reset(struct vg_events_lane *lane);

/* Call it when records of the lane were lost.  Forgets all open intervals: their ends may be among the lost records. */
void vg_lane_skip(struct vg_events_lane *lane);

/* An interval begins or ends.  The calls must be in order of time. */
void vg_lane_open(struct vg_events_lane *lane, uint64_t time_ns, uint64_t token);
void vg_lane_close(struct vg_events_lane *lane, uint64_t time_ns, uint64_t token);

/* Returns the token of the innermost open interval at session time time_ns.  0 if there is none, or if the history
 * begins later. */
uint64_t vg_lane_interval_at(const struct vg_events_lane *lane, uint64_t time_ns);

/* Returns the session time at which the interval ended.  `time_ns` is the time in its end record.  libvgctl reads the
 * clock first and publishes the end record after that.  A sample between these two moments still names the interval.
 * If there is such a sample, the interval ended at the time of the sample, else at time_ns. */
uint64_t vg_lane_end_ns(const struct vg_events_lane *lane, uint64_t token, uint64_t time_ns);

/* Drops the history before session time before_ns. */
void vg_lane_history_drop(struct vg_events_lane *lane, uint64_t before_ns);

#endif
