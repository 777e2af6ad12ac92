/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_EVENTS_H
#define VG_VIGNETTED_EVENTS_H

#include "libvgctl/ring.h"
#include "profile/writer.h"
#include "vignetted/target/lane.h"
#include "vignetted/target/open_intervals.h"
#include "vignetted/target/tasks.h"

/* A label that the host has added.  Its offset and length were checked; its text was not. */
struct vg_events_label {
	uint32_t offset, length;     /* of its text in shared->labels */
	vg_recording_set written;    /* profiles that have the label */
};

/* A profile that gets the events. */
struct vg_events_profile {
	struct vg_writer *writer;
	pid_t only;                  /* only events of the thread with this tid are written; 0: of all threads.  The
					caller sets it after vg_events_recording_begin(). */
	uint32_t *threads;           /* the caller's number of threads in the profile.  vg_events_drain() adds those
					that are not in vg_tasks. */
	struct vg_open_intervals open; /* for vg_events_state_write(), if open.max is not 0.  The caller sets that after
					vg_events_recording_begin(). */
	uint64_t labels_written;     /* labels that count as written to the profile */
	uint64_t since_ns;           /* session time of the recording's begin: earlier events are not written */
	uint64_t until_ns;           /* session time of the recording's end: later events are not written.
					UINT64_MAX while the recording goes on. */
	uint64_t recorded;           /* events written */
	uint64_t file_full;          /* events not written because the file is full */
	uint64_t dropped;            /* vg_events_dropped() at the recording's begin */
};

/*
 * The host's events.  They are copied from the ring that libvgctl shares with us (libvgctl/ring.h), checked, and
 * written to each profile that is being recorded.  A drain is one call of vg_events_drain().  The ring is untrusted.
 * Whatever a host writes there, it can only lose events, and lost events are counted.
 *
 * 	vg_events_begin(&events, begin_ns);              // the session begins
 * 	vg_events_recording_begin(&events, index, writer, &threads, now_ns);
 * 	while (recording)
 * 		if (vg_events_due(&events, vg_now_ns()))
 * 			vg_events_drain(&events, &(struct vg_drain_context){ .tasks = &tasks, .now_ns = now_ns });
 * 	vg_events_recording_end(&events, index);
 */
struct vg_events {
	struct vg_lanes *shared;     /* mapped; NULL: the session has no ring */
	struct vg_events_lane *lanes; /* owned; VG_LANES of them */
	VG_ARRAY(struct vg_events_label) labels; /* index: the label's number in the ring - 1 */
	uint64_t labels_bytes;       /* bytes of shared->labels that were read */
	uint64_t begin_ns;           /* CLOCK_MONOTONIC at the session's begin */
	uint64_t refused;            /* shared->refused at the session's begin */
	uint64_t malformed;          /* invalid records */
	uint64_t overrun;            /* records overwritten before they were copied */
	uint64_t cpu_ns;             /* our CPU time for draining */
	uint64_t drained_ns;         /* session time: all earlier events were drained */
	uint64_t last_event_ns, due_ns; /* session times of the latest drain that found events, and of the next drain */
	bool overwrite;              /* new records may overwrite records that were not drained */
	vg_recording_set live;       /* bit i: profiles[i] is being recorded */
	struct vg_events_profile profiles[VG_RECORDINGS_MAX];
};

/* Maps the ring from `fd`, which stays the caller's.  Returns 0, -EPROTO if the file is not an event ring or the host
 * could shrink it, or another negative errno.  Call vg_events_close() only after success. */
int vg_events_open(struct vg_events *events, int fd, bool overwrite);
void vg_events_close(struct vg_events *events);

/* Begins the session at begin_ns (CLOCK_MONOTONIC).  Skips the records that are already in the ring.  Call it before
 * the functions below. */
void vg_events_begin(struct vg_events *events, uint64_t begin_ns);

/* A recording begins or ends.  Events that are drained between the two calls go to its profile. */
void vg_events_recording_begin(struct vg_events *events, uint32_t index, struct vg_writer *writer,
			       uint32_t *threads, uint64_t now_ns);
void vg_events_recording_end(struct vg_events *events, uint32_t index);

/*
 * For a recording whose profile can be read from here on (a segment of a flight recorder).  Times are session times.
 *
 * vg_events_state_write() writes the intervals that are open, with their labels and threads.  vg_events_restart() is
 * called after it: labels are written again when they occur again, and threads that are not in vg_tasks are written
 * again now.  vg_events_task_restart() writes the name that the host has given to a task, after the task's thread.
 */
void vg_events_state_write(struct vg_events *events, uint32_t index);
void vg_events_restart(struct vg_events *events, uint32_t index, uint64_t now_ns);
void vg_events_task_restart(const struct vg_events *events, uint32_t index, const struct vg_task *task,
			    uint64_t now_ns);

/* What a drain needs to know about the session. */
struct vg_drain_context {
	struct vg_tasks *tasks;      /* the drain looks up the thread of each lane here, and sets vg_task.lane */
	uint64_t now_ns;             /* session time */
	bool last;                   /* no drain will follow */
	void (*on_batch)(void *session); /* called after every 256 records of a lane; or NULL */
	void *session;
};

/* Copies new events from the ring and writes them.  Events of a thread that is not in context->tasks wait for the next
 * drain, if vg_tasks_scan() may still find the thread.  Otherwise the drain adds the thread to the profiles, so that
 * the thread's events can name it.  The result of writing stays in each writer (vg_writer.failed). */
void vg_events_drain(struct vg_events *events, const struct vg_drain_context *context);

/* Call it when a scan has found the task.  Sets ids[i] to the id that a drain has given to the thread in recording i,
 * or to VG_NONE.  The lane then belongs to the task. */
void vg_events_task_found(struct vg_events *events, struct vg_task *task, uint32_t ids[VG_RECORDINGS_MAX]);

/* Whether an event came within the last second, or the session is younger than one second.  As long as
 * this is true, the ring is drained every 10 ms.  now_ns: session time. */
bool vg_events_are_frequent(const struct vg_events *events, uint64_t now_ns);

/* Whether it is time for a drain.  now_ns: CLOCK_MONOTONIC. */
bool vg_events_due(const struct vg_events *events, uint64_t now_ns);

/* Returns the address of the token of the task's innermost open interval, or NULL if the task has no lane.  Read the
 * token while the thread does not run.  Pass the token to vg_events_token_check(), which returns 0 for an invalid
 * token. */
const _Atomic uint64_t *vg_events_token_address(const struct vg_events *events, const struct vg_task *task);
uint64_t vg_events_token_check(const struct vg_events *events, const struct vg_task *task, uint64_t token);

/* Returns `token`, or 0 if its interval began before the recording `index` began.  `token` must be 0, or come from
 * vg_events_token_check() or vg_events_interval_at(). */
uint64_t vg_events_token_for(const struct vg_events *events, const struct vg_task *task,
			     uint32_t index, uint64_t token);

/* Returns the token of the innermost interval that was open at session time time_ns; 0: none.  A sample of that time
 * gets this token.  time_ns must be before the latest drain. */
uint64_t vg_events_interval_at(struct vg_events *events, const struct vg_task *task, uint64_t time_ns);

/* Drops the history of intervals before session time before_ns.  Call it when all samples before that time are
 * written. */
void vg_events_history_drop(struct vg_events *events, uint64_t before_ns);

/* Drops the records that were not drained, and counts those up to session time until_ns.  No drain may follow. */
void vg_events_finish(struct vg_events *events, uint64_t until_ns);

/* Returns how many events of the session were lost. */
uint64_t vg_events_dropped(const struct vg_events *events);

#endif
