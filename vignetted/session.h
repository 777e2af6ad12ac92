/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SESSION_H
#define VG_VIGNETTED_SESSION_H

#include "vignetted/budget.h"
#include "vignetted/events.h"
#include "vignetted/interrupts.h"
#include "vignetted/disk.h"
#include "vignetted/memory.h"
#include "vignetted/modules.h"
#include "vignetted/perfmap.h"
#include "vignetted/recorder.h"
#include "vignetted/snapshot.h"
#include "vignetted/target.h"
#include "vignetted/tasks.h"
#include "vignetted/ticks.h"
#include "vignetted/tracee.h"
#include "vignetted/unwind.h"

/* Bounds where none is asked for, and the least that leaves room to work in. */
#define VG_MEMORY_DEFAULT_BYTES (UINT64_C(1) << 30)
#define VG_MEMORY_LEAST_BYTES (UINT64_C(32) << 20)
enum { VG_THREADS_DEFAULT = 16384, VG_NAME_DEFAULT_BYTES = 1024, VG_NAME_LEAST_BYTES = 16 };

struct vg_session_options {
	uint64_t period_ns;          /* 0: on demand */
	uint64_t max_file_bytes;     /* 0: no limit */
	uint64_t max_duration_ns;    /* 0: no limit */
	uint64_t max_memory_bytes;   /* of address space; 0: the default, as of the next three */
	uint32_t max_threads;        /* at a time */
	uint32_t max_modules;        /* in all */
	uint32_t max_name_bytes;
	uint32_t max_frames;
	uint32_t budget_ppm;         /* of the threads' time stopped, and of one core; 0: no limit */
	bool cpu_mode;
	bool stop_always;            /* never have running threads sampled by interrupts */
	bool thread_names;           /* record them */
	bool events_overwrite;       /* the host lets the oldest events make room */
	int events_fd;               /* of the ring of the program's events, the caller's; -1: none */
	bool perf_map;               /* read the process's own names of its code at the end */
};

/* One recording of one process, from its first sample to the end of the file. */
struct vg_session {
	struct vg_session_options options;
	struct vg_target target;
	struct vg_memory memory;
	struct vg_modules modules;
	struct vg_unwinder *unwinder;
	struct vg_tasks tasks;
	struct vg_tracer tracer;
	struct vg_interrupts interrupts;
	uint32_t fetch_periods;      /* a tick every so many sampling periods */
	bool meagre_seen;            /* a thread has to be stopped although interrupts sample */
	uint64_t switches;           /* times that threads got a CPU, since they were */
	uint64_t weighed_ns;         /* when interrupts and stops were weighed */
	uint64_t weigh_every_ns;     /* and how long after that they are again */
	uint64_t weighed_cpu_ns;     /* the process's CPU time when they were */
	uint32_t still_windows;      /* how often in a row stops cost less */
	struct vg_snapshot snapshot;
	struct vg_walk walk;
	struct vg_recorder recorder;
	struct vg_disk disk;
	struct vg_events events;
	uint64_t interval;           /* that the thread which is being sampled was in, or 0 */
	struct vg_ticks ticks;
	struct vg_budget budget;
	struct vg_perfmap perf_map;
	struct vg_ledger pauses;
	uint64_t begin_ns;
	uint64_t checkpoint_ns;      /* when the next one is due */
	uint64_t stats_ns;           /* when the next one is due that writes statistics too */
	uint64_t stats_every_ns;
	uint64_t tick_count;
	uint64_t scan_ns;            /* when it was last seen which threads there are */
	uint64_t target_cpu_ns;      /* the process's processor time when the latest tick began */
	bool all_now;                /* a sample of each thread at this tick, running or not */
	bool still;                  /* no thread has run since then */
	bool maps_fresh;             /* /proc/PID/maps was read in this tick */
	uint64_t maps_reads;
	uint64_t maps_again_ns;      /* not before, for a walk that left them */
	const char *ended;           /* why recording stopped, or NULL: it goes on */
	uint64_t ended_ns;           /* and when */
	bool complete;               /* the file has its end */
	int failure;                 /* a negative errno: recording stopped because of it */
};

/*
 * Starts recording process `pid` into fd, which stays the caller's, with a first sample of every
 * thread.  `command` says that the process is our own child.  The session must be at a place
 * that does not move.  0; -ESRCH; -EPERM with what forbids tracing; another negative errno.
 * vg_session_close() is due after a failure too.
 */
int vg_session_open(struct vg_session *session, const struct vg_session_options *options,
		    pid_t pid, bool command, int fd, struct vg_err *err);

/* One sample of every thread, and what else is due.  Sets `ended` when a limit is reached, the
 * process is gone or the file cannot be written; does nothing once it is set. */
void vg_session_tick(struct vg_session *session);

/* Fetches the program's events. */
void vg_session_events(struct vg_session *session);

/* Looks which threads there are, and fetches events.  0, -ESRCH when the process is gone, or another negative errno. */
int vg_session_scan(struct vg_session *session, uint64_t now_ns);

/* Stops recording for that reason (static text), unless it has stopped, and completes the file,
 * unless it is complete.  0 or the failure. */
int vg_session_end(struct vg_session *session, const char *reason);

void vg_session_close(struct vg_session *session);

#endif
