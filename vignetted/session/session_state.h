/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SESSION_STATE_H
#define VG_VIGNETTED_SESSION_STATE_H

#include "base/clock.h"
#include "vignetted/capture/activity.h"
#include "vignetted/capture/timers.h"
#include "vignetted/capture/tracer.h"
#include "vignetted/capture/walker.h"
#include "vignetted/policy/policy.h"
#include "vignetted/session/recording.h"
#include "vignetted/session/ticks.h"
#include "vignetted/target/events.h"
#include "vignetted/target/kernel_symbols.h"
#include "vignetted/target/memory.h"
#include "vignetted/target/modules.h"
#include "vignetted/target/target.h"
#include "vignetted/target/tasks.h"

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

#endif
