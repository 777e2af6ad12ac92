/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SESSION_H
#define VG_VIGNETTED_SESSION_H

#include "base/clock.h"
#include "vignetted/capture/activity.h"
#include "vignetted/capture/timers.h"
#include "vignetted/capture/tracer.h"
#include "vignetted/capture/walker.h"
#include "vignetted/policy/pace.h"
#include "vignetted/session/budget.h"
#include "vignetted/session/recording.h"
#include "vignetted/session/ticks.h"
#include "vignetted/target/events.h"
#include "vignetted/target/memory.h"
#include "vignetted/target/modules.h"
#include "vignetted/target/target.h"
#include "vignetted/target/tasks.h"

/*
 * The process that is sampled, and its recordings.  There is one stream of ticks, as fast as the
 * fastest recording needs.  A slower one takes the first tick at or after the time when it is due, and of timer samples
 * the nearest, so that one reading of a thread, one stop or one timer sample serves all.
 *
 * A session is used from the top down: session, dumps; round, schedule; thread_sample, timer_samples;
 * threads; recordings; recording, account, counting, dumping.
 */
struct vg_session {
	/* The process. */
	struct vg_target target;
	struct vg_memory memory;
	struct vg_modules modules;
	struct vg_tasks tasks;
	struct vg_events events;
	uint64_t begin_ns;           /* CLOCK_MONOTONIC: session time 0 */
	uint64_t scan_ns;            /* session time when it was last seen which threads there are */
	uint64_t modules_due_ns;     /* session time when all modules' marks are read again */
	bool gone;                   /* the process has ended */

	/* Options, and what was asked of the machine before the helper was confined. */
	char machine[32];            /* its architecture's name, as uname(2) has it */
	uint64_t max_memory_bytes;   /* of the helper */
	uint32_t max_name_bytes;
	bool stop_always;            /* timers never sample */
	bool unconfined;             /* the helper has no filter of system calls; profiles say so */

	/* How threads are sampled. */
	struct vg_activity activity;
	struct vg_timers timers;
	struct vg_tracer tracer;
	struct vg_walker walker;
	struct vg_pauses pauses;

	/* When. */
	struct vg_ticks ticks;
	uint32_t periods_per_tick;      /* a tick every so many sampling periods (policy/pace.h) */
	struct {                     /* when that was decided: CLOCK_MONOTONIC, and what had been counted by then */
		uint64_t at_ns, stops, found;
		struct vg_pace_load load; /* what threads did since */
	} pace;
	uint64_t scheduler_tick_ns;  /* the scheduler's tick */
	uint64_t skipped;            /* ticks.skipped at the latest tick */
	struct vg_budget budget;

	/* The recordings. */
	struct vg_recording recordings[VG_RECORDINGS];
	uint32_t begun;              /* in all */
	vg_recording_set live;       /* those that have not stopped */
	vg_recording_set counting;   /* those of them that have counters */
	bool changed;                /* `live` has, and the schedule has not followed */
	uint64_t maps_told;          /* walker.maps_reads when the profiles were told which modules are gone */

	/* The round in progress. */
	struct {
		uint64_t count;      /* rounds so far */
		vg_recording_set due; /* those that it is for */
		bool all_now;        /* a sample of each thread, running or not */
		size_t at, looked;   /* the thread that it begins with; how many were looked at */
	} round;
};

static inline uint64_t vg_session_now_ns(const struct vg_session *session)
{
	return vg_now_ns() - session->begin_ns;
}

/* From one sample of a thread to the next, by the ticks. */
static inline uint64_t vg_session_period_ns(const struct vg_session *session)
{
	return session->ticks.period_ns / session->periods_per_tick;
}

/*
 * Takes process `pid`, of whose recordings the options give the process's bounds.  `command` says that the
 * process is our own child.  Reads nothing that the process could have written, so that the caller can confine
 * the helper before vg_session_start().  The session must be at a place that does not move.
 * 0; -ESRCH; another negative errno.  vg_session_close() is due after a failure too.
 */
int vg_session_open(struct vg_session *session, const struct vg_session_options *options,
		    pid_t pid, bool command, struct vg_err *err);

/*
 * Reads the process for the first time: whether it may be traced, its modules, and its ring of events if the
 * options have one.  0; -EPERM with what forbids tracing; another negative errno.
 */
int vg_session_start(struct vg_session *session, const struct vg_session_options *options,
		     struct vg_err *err);

/*
 * Starts a recording into fd, which stays the caller's, with a first sample of every thread.
 * 0 with *recording, which is the session's; -EUSERS if there are as many as can be; another
 * negative errno.
 */
int vg_session_begin(struct vg_session *session, const struct vg_session_options *options, int fd,
		     struct vg_recording **recording, struct vg_err *err);

/* One sample of every thread for the recordings that are due, and what else is due.  Stops those
 * that reach a limit or cannot write, and all when the process is gone. */
void vg_session_tick(struct vg_session *session);

/* Finds which threads there are, between two ticks.  0 or a negative errno. */
int vg_session_scan(struct vg_session *session);

/* One sample of every thread for this recording, now. */
void vg_session_sample(struct vg_session *session, struct vg_recording *recording);

/* Stops the recording for that reason (static text), unless it has stopped, and completes the
 * file, unless it is complete.  0 or the failure. */
int vg_session_end(struct vg_session *session, struct vg_recording *recording, const char *reason);

/* The same of all, and completes the files of those that have stopped by themselves. */
void vg_session_end_all(struct vg_session *session, const char *reason);
void vg_session_end_stopped(struct vg_session *session);

/* Its place can be taken by another. */
void vg_session_release(struct vg_session *session, struct vg_recording *recording);

void vg_session_close(struct vg_session *session);

#endif
