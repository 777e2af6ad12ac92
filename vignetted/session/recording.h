/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RECORDING_H
#define VG_VIGNETTED_RECORDING_H

#include "base/clock.h"
#include "base/intern.h"
#include "base/pauses.h"
#include "vignetted/output/disk.h"
#include "vignetted/output/recorder.h"
#include "vignetted/session/counter_set.h"
#include "vignetted/session/flight_recorder.h"
#include "vignetted/session/ticks.h"
#include "vignetted/target/events.h"
#include "vignetted/target/perf_map.h"
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

/* The session's counts, from which the statistics of profiles are computed. */
struct vg_session_counts {
	struct vg_pauses pauses;
	uint64_t process_cpu_ns;     /* of the target */
	uint64_t helper_cpu_ns, ticks_late, rate_changes, timer_samples, timer_samples_lost, maps_reads, eintr_repaired;
	uint64_t walks, walks_by_libunwind, rows_decoded, events_dropped;
	uint64_t threads_over, modules_over; /* the largest excess so far over max_threads and VG_MODULES_MAX */
	uint64_t modules_unindexed;
	bool unconfined;
};

/* One profile of the process, with its own rate, mode, limits and file. */
struct vg_recording {
	uint32_t index;              /* in session->recordings */
	bool open;                   /* this place is taken */
	uint32_t number;             /* 1 or more; unique in the session */
	struct vg_session_options options;
	struct vg_recorder recorder;
	struct vg_writer_header header; /* its strings belong to the session */
	struct vg_counter_set counter_set;
	struct vg_flight_recorder flight_recorder;
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
	struct vg_intern remote_labels; /* labels of vg_recording_mark() */
	struct vg_session_counts counts_at_begin; /* subtracted from the session's counts */
	const char *ended;           /* why the recording stopped; NULL: it continues */
	uint64_t ended_ns;           /* the recording's time when it stopped */
	bool complete;               /* the end of the file is written */
	int failure;                 /* the negative errno that stopped it; 0: none */
};

/* What vg_recording_open() needs. */
struct vg_recording_start {
	const struct vg_session_options *options;
	int fd;                      /* of the profile; stays the caller's */
	const char *program, *machine; /* for the header */
	pid_t pid;
	struct vg_modules *modules;  /* the session's */
	const struct vg_kernel_symbols *kernel; /* the session's */
	struct vg_lanes *events;     /* the event ring, or NULL */
	uint64_t session_begin_ns;   /* CLOCK_MONOTONIC */
	uint64_t max_memory_bytes;   /* for this recording */
};

/* Begins the profile.  The caller has set `index`.  Sets all other members but `number` and counts_at_begin.  Returns 0
 * or a negative errno; call vg_recording_close() in both cases. */
int vg_recording_open(struct vg_recording *recording, const struct vg_recording_start *start);

/* Converts a session time to the recording's time. */
static inline uint64_t vg_recording_time_ns(const struct vg_recording *recording, uint64_t session_ns)
{
	return session_ns > recording->begin_session_ns ? session_ns - recording->begin_session_ns : 0;
}

static inline bool vg_recording_is_flight_recorder(const struct vg_recording *recording)
{
	return recording->open && recording->recorder.writer.take != NULL;
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

/* Notes the total of a thread's CPU time, for vg_recording_cpu_used_ns().  Does nothing in a recording of all
 * threads. */
void vg_recording_thread_cpu(struct vg_recording *recording, uint64_t cpu_ns);

/* Returns whether this recording takes the session's latest tick.  A recording takes the first tick at or after its own
 * due time.  `skipped`: how many of the session's sampling periods passed without a tick since the session's previous
 * tick. */
bool vg_recording_due(struct vg_recording *recording, const struct vg_ticks *ticks, uint64_t skipped);

/* Returns the recording's sampling period now: the longer one of options.period_ns and session_period_ns. */
uint64_t vg_recording_period_ns(const struct vg_recording *recording, uint64_t session_period_ns);

/* Writes the header again, after the program's name has changed.  A reader uses the last header.  Returns 0 or a
 * negative errno. */
int vg_recording_header_write(struct vg_recording *recording);

/* Writes the recording's sampling period to the profile, if it has changed. */
void vg_recording_rate_write(struct vg_recording *recording, uint64_t session_period_ns);

/* Returns the end reason if the recording has reached a limit at now_ns, a CLOCK_MONOTONIC; else NULL. */
const char *vg_recording_limit(const struct vg_recording *recording, uint64_t now_ns);

/* Notes that the recording failed with `code`, a negative errno.  Returns the end reason. */
const char *vg_recording_fail(struct vg_recording *recording, int code);

/* Writes what is in the writer to the file, or to the flight recorder's memory, and statistics if they are due.
 * `last`: no checkpoint follows.  Returns 0 or a negative errno. */
int vg_recording_checkpoint(struct vg_recording *recording, const struct vg_events_profile *events,
			    const struct vg_session_counts *counts, bool last);

/* Writes the perf counters of all threads for the last time, and closes them. */
void vg_recording_counting_end(struct vg_recording *recording, struct vg_tasks *tasks);

/* Completes the file of a stopped recording, after its last checkpoint.  Returns 0 or a negative errno. */
int vg_recording_finish(struct vg_recording *recording);

/* Writes an instant with this label, which another process requested.  Returns false if the file is full, if there are
 * too many labels, or if no thread in the profile is alive. */
bool vg_recording_mark(struct vg_recording *recording, const struct vg_tasks *tasks, const char *label);

/* Frees the recording and its place.  Call it when the recording has stopped, after vg_events_recording_end(). */
void vg_recording_close(struct vg_recording *recording, struct vg_tasks *tasks);

#endif
