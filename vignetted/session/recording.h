/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RECORDING_H
#define VG_VIGNETTED_RECORDING_H

#include "base/clock.h"
#include "base/intern.h"
#include "base/pauses.h"
#include "vignetted/output/disk.h"
#include "vignetted/output/recorder.h"
#include "vignetted/session/counting.h"
#include "vignetted/session/dumping.h"
#include "vignetted/session/ticks.h"
#include "vignetted/target/events.h"
#include "vignetted/target/perfmap.h"
#include "vignetted/target/tasks.h"

/* Bounds where none is asked for, and the least that leaves room to work in. */
#define VG_MEMORY_DEFAULT_BYTES (UINT64_C(1) << 30)
#define VG_MEMORY_LEAST_BYTES (UINT64_C(32) << 20)
enum { VG_THREADS_DEFAULT = 16384, VG_NAME_DEFAULT_BYTES = 1024, VG_NAME_LEAST_BYTES = 16 };

/* The first four bounds and what follows from `stop_always` on are the process's: of a recording that joins
 * another they are not looked at. */
struct vg_session_options {
	uint64_t max_memory_bytes;   /* of address space; 0: the default, as of the next three */
	uint32_t max_threads;        /* at a time */
	uint32_t max_modules;        /* in all */
	uint32_t max_name_bytes;
	uint64_t period_ns;          /* 0: on demand */
	uint64_t max_file_bytes;     /* 0: no limit */
	uint64_t max_duration_ns;    /* 0: no limit */
	uint32_t max_frames;
	uint32_t budget_ppm;         /* of the threads' time stopped, and of one core; 0: no limit */
	bool cpu_mode;
	bool thread_names;           /* record them */
	bool perf_map;               /* read the process's own names of its code at the end */
	uint64_t flight_ns;          /* keep only the last so much, in memory; 0: write as it comes */
	uint64_t flight_memory_bytes; /* for that */
	uint16_t counters[VG_COUNTERS_MAX]; /* codes; what else is counted of each thread */
	bool stop_always;            /* no timers: threads that run are stopped */
	bool events_overwrite;       /* the host lets the oldest events make room */
	int events_fd;               /* of the ring of the program's events, the caller's; -1: none */
};

/* What the session has counted so far, for the statistics of profiles. */
struct vg_session_counts {
	struct vg_pauses pauses;
	uint64_t process_cpu_ns;     /* of the process that is sampled */
	uint64_t helper_cpu_ns, ticks_late, rate_changes, timer_samples, timer_samples_lost, maps_reads, eintr_repaired;
	uint64_t walks, walks_by_libunwind, rows_decoded, events_dropped;
	uint64_t threads_over, modules_over; /* the most */
	bool unconfined;
};

/* One profile of the process: its own rate, mode, limits and file. */
struct vg_recording {
	uint32_t index;              /* in the session */
	bool open;                   /* this place is taken */
	uint32_t number;             /* from 1 on; no other of the session has it */
	struct vg_session_options options;
	struct vg_recorder recorder;
	struct vg_counting counting;
	struct vg_dumping dumping;
	struct vg_disk disk;
	struct vg_perfmap perf_map;
	struct vg_ticks ticks;       /* when it is due, where the session ticks more often */
	bool apart;                  /* it does not take every tick: `ticks` runs */
	uint64_t skipped;            /* ticks that were due to it and passed */
	uint64_t begin_ns;           /* CLOCK_MONOTONIC: its time 0 */
	uint64_t since_ns;           /* the same in session time */
	uint64_t checkpoint_ns;      /* when the next one is due */
	uint64_t stats_ns;           /* when the next one is due that writes statistics too */
	uint64_t stats_every_ns;
	uint64_t period_now_ns;      /* as the profile was last told */
	uint64_t tick_count;
	struct vg_intern labels;     /* that came from outside */
	struct vg_session_counts before; /* when it began: statistics are of its own time */
	const char *ended;           /* why it stopped, or NULL: it goes on */
	uint64_t ended_ns;           /* and when */
	bool complete;               /* the file has its end */
	int failure;                 /* a negative errno: it stopped because of it */
};

/* What a recording is to begin with. */
struct vg_recording_start {
	const struct vg_session_options *options;
	int fd;                      /* of the profile; stays the caller's */
	const char *program, *machine; /* for the header */
	pid_t pid;
	struct vg_modules *modules;  /* the session's, as is */
	struct vg_lanes *events;     /* the ring of events, or NULL */
	uint64_t session_begin_ns;   /* CLOCK_MONOTONIC */
	uint64_t max_memory_bytes;   /* for this recording */
	uint32_t max_name_bytes;
};

/* Begins the profile.  Sets all but `before`.  0 or a negative errno; vg_recording_close() is due either way. */
int vg_recording_open(struct vg_recording *recording, const struct vg_recording_start *start);

/* A session time in the recording's own. */
static inline uint64_t vg_recording_time_ns(const struct vg_recording *recording, uint64_t session_ns)
{
	return session_ns > recording->since_ns ? session_ns - recording->since_ns : 0;
}

/* The time now, in the recording's own. */
static inline uint64_t vg_recording_now_ns(const struct vg_recording *recording)
{
	return vg_now_ns() - recording->begin_ns;
}

/* Whether this recording takes the session's latest tick: the first at or after its own due time.  `skipped`: sampling
 * periods without a tick since the tick before. */
bool vg_recording_due(struct vg_recording *recording, const struct vg_ticks *ticks, uint64_t skipped);

/* How far its samples are apart, where the session's are ticks_ns. */
uint64_t vg_recording_period_ns(const struct vg_recording *recording, uint64_t ticks_ns);

/* Writes that into the profile, if it has changed. */
void vg_recording_rate(struct vg_recording *recording, uint64_t ticks_ns);

/* The limit that is reached at that CLOCK_MONOTONIC, as the reason of the end; NULL: none. */
const char *vg_recording_limit(const struct vg_recording *recording, uint64_t now_ns);

/* It has failed with that negative errno, and stops, or has stopped, because of it.  The reason of the end. */
const char *vg_recording_fail(struct vg_recording *recording, int code);

/* Brings every sample so far into the file or, with a flight recorder, into its memory.  0 or a negative errno. */
int vg_recording_checkpoint(struct vg_recording *recording, struct vg_tasks *tasks,
			    const struct vg_events_out *events, const struct vg_session_counts *counts, bool last);

/* Completes the file of one that has stopped, after its last checkpoint.  0 or a negative errno. */
int vg_recording_finish(struct vg_recording *recording);

/* Writes an instant of that label, from outside of the program.  Whether there was room for it. */
bool vg_recording_mark(struct vg_recording *recording, const struct vg_tasks *tasks, const char *label);

/* Frees what it has, and its place.  It has stopped, and its events have left. */
void vg_recording_close(struct vg_recording *recording, struct vg_tasks *tasks);

#endif
