/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RECORDING_H
#define VG_VIGNETTED_RECORDING_H

#include "base/intern.h"
#include "vignetted/output/disk.h"
#include "vignetted/output/ledger.h"
#include "vignetted/output/recorder.h"
#include "vignetted/session/counting.h"
#include "vignetted/session/dumping.h"
#include "vignetted/session/ticks.h"
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
	bool stop_always;            /* never have running threads sampled by interrupts */
	bool events_overwrite;       /* the host lets the oldest events make room */
	int events_fd;               /* of the ring of the program's events, the caller's; -1: none */
};

struct vg_session;

/* What the session had counted when the recording began: statistics are of its own time. */
struct vg_recording_before {
	struct vg_ledger pauses;
	uint64_t helper_cpu_ns, late, changes, interrupts, interrupts_lost, maps_reads, repaired;
	uint64_t walks, fallbacks, rows;
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
	uint64_t target_cpu_ns;      /* the process's processor time at its latest tick */
	uint64_t tick_count;
	struct vg_intern labels;     /* that came from outside */
	struct vg_recording_before before;
	const char *ended;           /* why it stopped, or NULL: it goes on */
	uint64_t ended_ns;           /* and when */
	bool complete;               /* the file has its end */
	int failure;                 /* a negative errno: it stopped because of it */
};

/*
 * Begins the profile in fd, which stays the caller's.  `shares` says how many recordings must find
 * room in the helper's memory.  0 or a negative errno; vg_recording_close() is due either way.
 */
int vg_recording_open(struct vg_session *session, struct vg_recording *recording,
		      const struct vg_session_options *options, int fd, uint32_t shares);

/* A session time in the recording's own. */
static inline uint64_t vg_recording_time_ns(const struct vg_recording *recording, uint64_t session_ns)
{
	return session_ns > recording->since_ns ? session_ns - recording->since_ns : 0;
}

/* Whether the session's tick, the last that was due, is the first since a sample is. */
bool vg_recording_due(struct vg_session *session, struct vg_recording *recording);

/* How far its samples are apart at present. */
uint64_t vg_recording_period_ns(const struct vg_session *session,
				const struct vg_recording *recording);

/* Tells the profile of that, if it has changed. */
void vg_recording_rate(const struct vg_session *session, struct vg_recording *recording);

/* Stops it if a limit is reached or the file cannot be written; `now_ns` is CLOCK_MONOTONIC. */
void vg_recording_limits(struct vg_session *session, struct vg_recording *recording, uint64_t now_ns);

/* Every sample so far is in the file after this or, with a flight recorder, in memory. */
void vg_recording_checkpoint(struct vg_session *session, struct vg_recording *recording, bool last);

/* It stops for that reason, which is static text, unless it has stopped. */
void vg_recording_stop(struct vg_session *session, struct vg_recording *recording,
		       const char *reason);

/* Completes the file of one that has stopped.  0 or the failure. */
int vg_recording_finish(struct vg_session *session, struct vg_recording *recording);

/* An instant of that label, from outside of the program.  Whether there was room for it. */
bool vg_recording_mark(struct vg_session *session, struct vg_recording *recording,
		       const char *label);

void vg_recording_close(struct vg_session *session, struct vg_recording *recording);

#endif
