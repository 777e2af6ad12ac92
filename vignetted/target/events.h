/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_EVENTS_H
#define VG_VIGNETTED_EVENTS_H

#include "libvgctl/ring.h"
#include "profile/writer.h"
#include "vignetted/target/lane.h"
#include "vignetted/target/tasks.h"

/* A label of the host's; where it stands was checked, what it says was not read. */
struct vg_events_label {
	uint32_t offset, length;
	vg_recording_set written;    /* the profiles that have it */
};

/* A profile that the events go to. */
struct vg_events_out {
	struct vg_writer *writer;
	uint32_t *threads;           /* the next id of a thread that is not among the tasks */
	uint64_t since_ns;           /* session time when it began: older events are not its */
	uint64_t until_ns;           /* when it ended: nor are later ones; UINT64_MAX: it goes on */
	uint64_t recorded;           /* written to it */
	uint64_t cut;                /* not written: the file is full */
	uint64_t dropped;            /* vg_events_dropped() when it began */
};

/*
 * The program's own events: fetched from the ring that libvgctl shares with us (ring.h), checked,
 * and written into the profile.  Whatever a host writes there costs it events at most, which are
 * counted.  There is one ring, and whatever comes goes to each profile that is being recorded.
 */
struct vg_events {
	struct vg_lanes *shared;     /* mapped; NULL: the session has no ring */
	struct vg_events_lane *lanes; /* owned; VG_LANES of them */
	VG_ARRAY(struct vg_events_label) labels; /* by the host's number - 1 */
	uint64_t labels_bytes;       /* of the shared area, gone through */
	uint64_t begin_ns;           /* CLOCK_MONOTONIC when the session began */
	uint64_t refused;            /* shared->refused when it began */
	uint64_t bad;                /* records that made no sense */
	uint64_t overrun;            /* overwritten before they were fetched */
	uint64_t cpu_ns;             /* our processor time that this took */
	uint64_t drained_ns;         /* session time: all events before it are fetched */
	uint64_t came_ns, due_ns;    /* session time: when events came last; the next drain */
	bool overwrite;
	vg_recording_set live;       /* which of `outs` are */
	struct vg_events_out outs[VG_RECORDINGS];
};

/*
 * Maps the ring behind fd, which stays the caller's.  0; -EPROTO if it is none of ours, or could be
 * cut short under us; another negative errno.  Closing is due only after success.
 */
int vg_events_open(struct vg_events *events, int fd, bool overwrite);
void vg_events_close(struct vg_events *events);

/* The session begins, at that CLOCK_MONOTONIC: what is in the ring is of an earlier one. */
void vg_events_begin(struct vg_events *events, uint64_t begin_ns);

/* A recording begins, or has ended.  What the former is to be told of is drained behind this, what
 * the latter is to be told of before. */
void vg_events_join(struct vg_events *events, uint32_t index, struct vg_writer *writer,
		    uint32_t *threads, uint64_t now_ns);
void vg_events_leave(struct vg_events *events, uint32_t index);

/* What a drain needs of the session. */
struct vg_events_sink {
	struct vg_tasks *tasks;      /* in which threads are looked up, and told their lane */
	uint64_t now_ns;             /* session time */
	bool last;                   /* there will be no other drain */
};

/*
 * Fetches what came since.  The events of a thread that is not among the tasks wait for the next
 * drain, if it may yet turn up there; else it becomes a thread of its own.  A writer that fails
 * remembers that.
 */
void vg_events_drain(struct vg_events *events, const struct vg_events_sink *sink);

/* Whether there are events at present, or the session has just begun: they are fetched often then. */
bool vg_events_come(const struct vg_events *events, uint64_t now_ns);

/* Whether it is time to drain, if nothing else occasions one. */
bool vg_events_due(const struct vg_events *events, uint64_t now_ns);

/*
 * Where the token of the task's innermost open interval stands, to be read while the thread does not
 * run; NULL: nowhere.  And what was read there, checked: 0 for none.
 */
const _Atomic uint64_t *vg_events_slot(const struct vg_events *events, const struct vg_task *task);
uint64_t vg_events_token(const struct vg_events *events, const struct vg_task *task,
			 uint64_t token);

/* A token that was checked, for a profile: 0 for an interval that began before it. */
uint64_t vg_events_token_in(const struct vg_events *events, const struct vg_task *task,
			    uint32_t index, uint64_t token);

/* The same as of a session time since vg_events_forget() and before the latest drain. */
uint64_t vg_events_interval_at(const struct vg_events *events, const struct vg_task *task,
			       uint64_t time_ns);

/* All samples of the time before the latest drain are taken. */
void vg_events_forget(struct vg_events *events);

/* No other drain follows: what was not fetched is dropped. */
void vg_events_finish(struct vg_events *events);

uint64_t vg_events_dropped(const struct vg_events *events);

#endif
