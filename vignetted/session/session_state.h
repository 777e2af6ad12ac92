/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SESSION_STATE_H
#define VG_VIGNETTED_SESSION_STATE_H

#include "base/clock.h"
#include "base/intern.h"
#include "base/pauses.h"
#include "vignetted/capture/activity.h"
#include "vignetted/capture/counters.h"
#include "vignetted/capture/timers.h"
#include "vignetted/capture/tracer.h"
#include "vignetted/capture/walker.h"
#include "vignetted/output/disk.h"
#include "vignetted/output/flight.h"
#include "vignetted/output/recorder.h"
#include "vignetted/policy/policy.h"
#include "vignetted/session/ticks.h"
#include "vignetted/target/events.h"
#include "vignetted/target/kernel_symbols.h"
#include "vignetted/target/memory.h"
#include "vignetted/target/modules.h"
#include "vignetted/target/perf_map.h"
#include "vignetted/target/target.h"
#include "vignetted/target/tasks.h"

/* Default bounds, and the least bounds with which the helper can work. */
#define VG_MEMORY_DEFAULT_BYTES (UINT64_C(1) << 30)
#define VG_MEMORY_MIN_BYTES (UINT64_C(32) << 20)
enum { VG_THREADS_DEFAULT = 16384 };

/* Options of a recording.  The first two members, and stop_always, kernel, events_overwrite and events_fd, concern the
 * whole session: only vg_session_open() and vg_session_start() read them. */
struct vg_session_options {
	uint64_t max_memory_bytes;   /* of address space; in the first two members, 0 means the default */
	uint32_t max_threads;        /* at a time */
	uint64_t period_ns;          /* the sampling period; 0: samples on demand */
	uint64_t max_file_bytes;     /* 0: no limit */
	uint64_t max_duration_ns;    /* 0: no limit */
	uint32_t max_frames;
	uint32_t budget_ppm;         /* share of each thread's time, and of one core, in ppm; 0: no limit */
	bool cpu_mode;               /* record CPU time only; else wall time too */
	bool thread_names;           /* write the names of threads */
	bool perf_map;               /* at the end, read names of JIT code from the process's perf map */
	uint64_t flight_ns;          /* the window of a flight recorder; 0: not a flight recorder */
	uint64_t flight_memory_bytes; /* memory of a flight recorder */
	pid_t thread;                /* sample only the thread with this tid; 0: all threads */
	uint16_t counters[VG_COUNTERS_MAX]; /* codes of perf counters; a code of 0 ends the list */
	bool stop_always;            /* no timers: running threads are stopped */
	bool kernel;                 /* timer samples have frames of kernel code; not for flight recorders */
	bool events_overwrite;       /* the host overwrites its oldest events when its ring is full */
	int events_fd;               /* the event ring, the caller's; -1: none */
};

/* The session's counts whose growth since a recording's begin is in the statistics of its profile. */
struct vg_session_counts {
	struct vg_pauses pauses;
	uint64_t process_cpu_ns;     /* of the target */
	uint64_t helper_cpu_ns, ticks_late, rate_changes, timer_samples, timer_samples_lost, maps_reads, eintr_repaired;
	uint64_t walks, walks_by_libunwind, rows_decoded, events_dropped;
};

/* One profile of the process, with its own rate, mode, limits and file.  recording.h has its functions. */
struct vg_recording {
	uint32_t index;              /* in session->recordings */
	uint32_t number;             /* 1 or more; unique in the session */
	struct vg_session_options options;
	struct vg_recorder recorder;
	struct vg_writer_header header; /* its strings belong to the session */
	struct vg_counter_set counter_set;
	struct vg_flight flight;
	struct vg_disk disk;
	struct vg_perf_map perf_map;
	struct vg_ticks ticks;       /* when the recording is due, if the session ticks more often */
	bool has_own_ticks;          /* `ticks` is in use: the recording does not take every tick */
	uint64_t skipped;            /* sampling periods without a tick, because the helper was late */
	uint64_t begin_ns;           /* CLOCK_MONOTONIC at the recording's time 0 */
	uint64_t begin_session_ns;   /* session time at the recording's time 0 */
	uint64_t next_checkpoint_ns; /* CLOCK_MONOTONIC of the next checkpoint */
	uint64_t next_stats_ns;      /* the recording's time of the next checkpoint with statistics */
	uint64_t stats_period_ns;
	uint64_t period_now_ns;      /* the sampling period that was last written to the profile */
	uint64_t thread_cpu_begin_ns, thread_cpu_ns; /* CPU time of the only thread (options.thread): at its first
					observation, and used since then */
	bool scanned;                /* the threads that existed at the recording's begin were found; threads that
	                                are found later are new */
	struct vg_intern remote_labels; /* labels of vg_recordings_mark() */
	struct vg_session_counts counts_at_begin; /* subtracted from the session's counts */
	const char *ended;           /* why the recording stopped; NULL: it continues */
	uint64_t ended_ns;           /* the recording's time when it stopped */
	bool complete;               /* the end of the file is written */
	int failure;                 /* the negative errno that stopped it; 0: none */
};

/* What a session knows.  session.h has its functions, and the layers of this folder. */
struct vg_session {
	/* The process. */
	struct vg_target target;
	struct vg_memory memory;
	struct vg_modules modules;
	struct vg_kernel_symbols kernel; /* open if timers.kernel_frames is set */
	struct vg_tasks tasks;
	struct vg_events events;
	uint64_t begin_ns;           /* CLOCK_MONOTONIC at session time 0 */
	uint64_t scan_ns;            /* session time at which the list of threads was last known to be complete */
	uint64_t modules_check_due_ns; /* session time when the marks of all modules are read again */
	bool exited;                 /* the process has ended */
	struct vg_mapping_records {  /* the kernel's records of mappings of code */
		uint64_t since_ns;   /* CLOCK_MONOTONIC: all later mappings are recorded; 0: some may be missing */
		bool is_due;         /* timers were opened or closed since since_ns was set */
		uint64_t lost;       /* timers.lost at the latest fetch */
	} mappings;
	uint64_t timers_fetched_ns;  /* session time: all earlier timer samples have been fetched */

	/* Options, and facts that were read before the helper was confined. */
	char machine[32];            /* the architecture, as in uname(2) */
	uint64_t max_memory_bytes;   /* of the helper's address space */
	bool stop_always;            /* no timers: running threads are stopped */
	bool unconfined;             /* the helper has no seccomp filter; a statistic of profiles */

	/* How threads are sampled. */
	struct vg_activity activity;
	struct vg_timers timers;
	struct vg_tracer tracer;
	struct vg_walker walker;
	struct vg_pauses pauses;

	/* When threads are sampled. */
	struct vg_ticks ticks;
	uint32_t periods_per_tick;   /* sampling periods from one tick to the next (policy/policy.h) */
	struct {                     /* the latest decision on periods_per_tick */
		uint64_t at_ns;      /* its CLOCK_MONOTONIC */
		uint64_t stops, found, unloads; /* the session's counts at at_ns */
		struct vg_pace_load load; /* what threads have done since at_ns */
	} pace;
	uint64_t scheduler_tick_ns;  /* from one scheduler tick to the next */
	uint64_t skipped;            /* ticks.skipped at the latest tick */
	struct vg_budget budget;

	/* The recordings. */
	struct vg_recording recordings[VG_RECORDINGS_MAX];
	uint32_t begun;              /* recordings begun so far, including those that have ended */
	vg_recording_set open;       /* the places in `recordings` that are taken */
	vg_recording_set live;       /* recordings that have not stopped */
	vg_recording_set with_counters; /* live recordings that have perf counters */
	bool changed;                /* `live` has changed, and the schedule is not updated yet */
	uint64_t modules_generation_reported; /* modules.generation when unloaded modules were last written */

	/* The round in progress. */
	struct {
		uint64_t count;      /* rounds so far */
		vg_recording_set due; /* the recordings that get its samples */
		bool all_now;        /* each thread gets a sample now, even if it has timers */
		size_t at;           /* index of its first thread, modulo the number of threads */
		size_t visited;      /* threads that it has visited */
	} round;
};

static inline uint64_t vg_session_now_ns(const struct vg_session *session)
{
	return vg_now_ns() - session->begin_ns;
}

/* The session's sampling period now.  The budget may have lengthened it. */
static inline uint64_t vg_session_period_ns(const struct vg_session *session)
{
	return session->ticks.period_ns / session->periods_per_tick;
}

/* The recording's sampling period now: the longer one of its own and the session's. */
static inline uint64_t vg_recording_period_ns(const struct vg_session *session, const struct vg_recording *recording)
{
	uint64_t period_ns = vg_session_period_ns(session);

	return recording->options.period_ns > period_ns ? recording->options.period_ns : period_ns;
}

/* Converts a session time to the recording's time. */
static inline uint64_t vg_recording_time_ns(const struct vg_recording *recording, uint64_t session_ns)
{
	return session_ns > recording->begin_session_ns ? session_ns - recording->begin_session_ns : 0;
}

static inline bool vg_recording_is_flight_recorder(const struct vg_recording *recording)
{
	return recording->recorder.writer.take != NULL;
}

/* The recording's time now. */
static inline uint64_t vg_recording_now_ns(const struct vg_recording *recording)
{
	return vg_now_ns() - recording->begin_ns;
}

/* CPU time that the recorded threads used since the recording's begin.  process_cpu_ns: the process's total. */
static inline uint64_t vg_recording_cpu_used_ns(const struct vg_recording *recording, uint64_t process_cpu_ns)
{
	uint64_t before_ns = recording->counts_at_begin.process_cpu_ns;

	if (recording->options.thread != 0)
		return recording->thread_cpu_ns;
	return process_cpu_ns > before_ns ? process_cpu_ns - before_ns : 0;
}

#endif
