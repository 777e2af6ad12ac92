/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SESSION_H
#define VG_VIGNETTED_SESSION_H

#include "vignetted/capture/idle.h"
#include "vignetted/capture/interrupts.h"
#include "vignetted/capture/tracee.h"
#include "vignetted/session/budget.h"
#include "vignetted/session/recording.h"
#include "vignetted/session/ticks.h"
#include "vignetted/target/events.h"
#include "vignetted/target/memory.h"
#include "vignetted/target/modules.h"
#include "vignetted/target/target.h"
#include "vignetted/target/tasks.h"
#include "vignetted/unwind/snapshot.h"
#include "vignetted/unwind/unwind.h"

/*
 * The process that is watched, and its recordings.  There is one stream of ticks, as fast as the
 * fastest recording needs; a slower one takes the tick that is nearest to when it is due, so that
 * one look at a thread, one stop or one interrupt serves all.
 */
struct vg_session {
	struct vg_recording recordings[VG_RECORDINGS];
	vg_recording_set live;       /* those that have not stopped */
	vg_recording_set counting;   /* those of them that have counters */
	vg_recording_set due;        /* those that the tick in progress is of */
	vg_recording_set still;      /* of these: no thread has run since their latest */
	bool changed;                /* `live` has, and rates have not followed */
	struct vg_target target;
	struct vg_memory memory;
	char machine[32];            /* its architecture's name, as uname(2) has it */
	uint64_t max_memory_bytes;   /* of the helper */
	bool unconfined;             /* the helper has no filter of system calls; profiles say so */
	uint32_t max_name_bytes;
	uint32_t max_frames;         /* the most that a live recording wants */
	struct vg_modules modules;
	struct vg_unwinder *unwinder;
	struct vg_tasks tasks;
	struct vg_tracer tracer;
	bool stop_always;            /* never have running threads sampled by interrupts */
	struct vg_interrupts interrupts;
	uint64_t timers_ns;          /* the period asked of them, also while they are shut; 0: there are to be none */
	bool timers_shut;            /* closed, because stops cost less; these are weighed on */
	bool wide_denied;            /* timers of CPUs are */
	uint64_t varied_ns;          /* session time when the period of these was set */
	uint32_t fetch_periods;      /* a tick every so many sampling periods */
	bool meagre_seen;            /* a thread has to be stopped although interrupts sample */
	bool stops_seen;             /* one had to be, since they were weighed */
	bool crowd_only;             /* of threads that are not new, interrupts told of all that ran */
	bool busy;                   /* threads that run at all run nearly all the time: pacing.h */
	uint64_t switches;           /* times that threads got a CPU, since they were */
	uint64_t looked_cpu_ns;      /* what was used between looks at them, since they were */
	uint64_t weighed_ns;         /* when interrupts and stops were weighed */
	uint64_t weigh_every_ns;     /* and how long after that they are again */
	uint64_t weighed_cpu_ns;     /* the process's CPU time when they were */
	uint64_t weighed_found;      /* tasks.found when they were */
	uint64_t weighed_made;       /* interrupts.told.made */
	uint64_t weighed_count;      /* threads that were there */
	uint64_t weighed_stops;      /* and threads that had been stopped */
	struct vg_idle idle;         /* of the thread that switches most */
	uint32_t dear_windows;       /* how often in a row stops cost less */
	uint32_t making_windows;     /* the same because threads are made */
	struct vg_snapshot snapshot;
	struct vg_walk walk;
	struct vg_events events;
	uint64_t interval;           /* that the thread which is being sampled was in, or 0 */
	struct vg_ticks ticks;
	uint64_t skipped_before;     /* ticks.skipped at the latest tick */
	uint64_t skipped_now;        /* ticks that passed between that and this one */
	struct vg_budget budget;
	struct vg_ledger pauses;
	uint64_t begin_ns;           /* CLOCK_MONOTONIC: session time 0 */
	uint32_t begun;              /* recordings, in all */
	uint64_t round_count;        /* of all threads */
	uint64_t round_ns;           /* session time when the latest began */
	size_t round_at, round_looked; /* the thread that one begins with; how many were looked at */
	bool rest_still;             /* no thread that is asleep has run since it was looked at */
	bool looks_fresh;            /* those that are awake have just been looked at */
	bool rest_known;             /* `rest_ns` is set */
	uint64_t rest_ns;            /* the process's processor time less all threads' at their looks:
	                                those that have ended used it */
	uint32_t crowd;              /* of threads that are gone at once: looks.c */
	uint32_t vain, vain_left;    /* rounds in a row in which sleepers had run; to pass over */
	uint64_t scan_ns;            /* when it was last seen which threads there are */
	uint64_t target_cpu_ns;      /* the process's processor time when the latest round began */
	bool all_now;                /* a sample of each thread in this round, running or not */
	bool gone;                   /* the process has ended */
	bool maps_fresh;             /* /proc/PID/maps was read in this round */
	uint64_t maps_reads;
	uint64_t modules_due_ns;     /* session time when all modules' marks are read again */
	uint64_t maps_again_ns;      /* not before, for a walk that left them */
};

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

/* One sample of every thread for this recording, now. */
void vg_session_sample(struct vg_session *session, struct vg_recording *recording);

/* Fetches the program's events. */
void vg_session_events(struct vg_session *session);

/* Looks which threads there are, and fetches events.  0, -ESRCH when the process is gone, or another negative errno. */
int vg_session_scan(struct vg_session *session);

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
