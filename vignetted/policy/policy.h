/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_POLICY_H
#define VG_VIGNETTED_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "vignetted/policy/weights.h"

/* The most recordings that a session has at a time.  In a set of recordings, bit i is the recording at index i. */
enum { VG_RECORDINGS_MAX = 4 };
typedef uint32_t vg_recording_set;

/* A loop over the indices in a set:
 *
 *     VG_EACH_RECORDING(i, session->live)
 *             vg_recorder_free(&session->recordings[i].recorder);
 */
#define VG_EACH_RECORDING(index, set) \
	for (uint32_t left_##index = (set), index; \
	     left_##index != 0 && (index = (uint32_t)__builtin_ctz(left_##index), true); \
	     left_##index &= left_##index - 1)

/*
 * How a thread is sampled at a tick, for the recordings whose samples are due.
 *
 * While the thread has not run, a recording that has its latest stack gets a repeat of it.  A recording of CPU time
 * needs no stack of a waiting thread.  For all others, the way is used that disturbs the thread least.
 */
struct vg_repeat_facts {
	uint64_t timeslices;         /* the thread's count of timeslices now; while it is unchanged, the thread has not
					run */
	uint64_t stack_timeslices;   /* the count at its latest stack */
	uint64_t passed_timeslices;  /* the count when it was last found waiting */
	bool same_interval;          /* it is in the interval of its latest stack; if not, it has run */
	bool any_stack;              /* it has a latest stack */
	bool has_stack;              /* the recording has this stack */
	bool cpu_only;               /* the recording wants CPU time only */
};

/* Whether the recording gets a repeat.  Pure. */
bool vg_repeats(const struct vg_repeat_facts *facts);

enum vg_method {
	VG_METHOD_PASS,              /* the thread waits, and only CPU time is wanted */
	VG_METHOD_TIMER,             /* the thread runs, and timers sample it */
	VG_METHOD_READ,              /* the thread waits: its stack is copied without a stop; if that does not suffice,
					the thread is stopped after all (capture/stack.h) */
	VG_METHOD_STOP,              /* the thread runs: it is stopped, its stack is copied, and it is released */
};

/* The method for recordings that get no repeat.  running: the thread is on a CPU or in the run queue.  has_timers:
 * timers sample it for all of them while it runs.  cpu_only: all of them want CPU time only.  Pure. */
enum vg_method vg_method_choose(bool running, bool has_timers, bool cpu_only);

/*
 * Whether timers or stops sample a thread while it runs.
 *
 * The decision is made for each thread.  A thread that has used little CPU time is stopped, because opening timers
 * costs more than a short thread's samples.  A thread that has used more has timers, until they cost more than stops.
 * Timers cost time at each switch, stops cost time at each sample: the cost of a method is a count times a measured
 * price.  The method changes if the other method costs less than half as much in several steps in a row.
 * doc/design/policy.md has the reasons.
 *
 *     if (vg_policy_due(&policy, &load))
 *             vg_policy_step(&policy, &load, &vg_policy_prices);
 *     if (policy.timers) ...
 *
 * Pure: no clock, no I/O.  All zero is the state of a thread that was just found.
 */
struct vg_policy {
	bool decided;                /* the thread has used one sampling period of CPU time since it was found */
	bool timers;                 /* timers sample the thread; else stops do */
	uint32_t steps_against;      /* the latest steps in a row in which the other method was better */
};

/* What one thread did since its previous step. */
struct vg_policy_load {
	uint64_t elapsed_ns;
	uint64_t period_ns;          /* the sampling period */
	uint64_t scheduler_tick_ns;  /* from one scheduler tick to the next */
	uint64_t switches;           /* times that the thread got a CPU */
	uint64_t used_ns;            /* its CPU time */
};

/* What one event costs. */
struct vg_policy_prices {
	uint64_t switch_ns;          /* a thread with a timer gets a CPU and loses it */
	uint64_t program_timer_ns;   /* additional cost of such a switch if the thread's timer is the earliest of the
	                                CPU: then the kernel programs the CPU's timer */
	uint64_t stop_ns;            /* a stop, and waking the helper for it */
};
extern const struct vg_policy_prices vg_policy_prices;

/* Time from one step of a thread to the next.  The first step is due when the thread has used one sampling period of
 * CPU time. */
enum { VG_POLICY_STEP_NS = 200 * 1000 * 1000 };

/* Whether a step is due, if the previous step was load->elapsed_ns ago. */
bool vg_policy_due(const struct vg_policy *policy, const struct vg_policy_load *load);

/* Chooses the method until the next step. */
void vg_policy_step(struct vg_policy *policy, const struct vg_policy_load *load, const struct vg_policy_prices *prices);

/* What each method costs under that load. */
struct vg_policy_costs {
	uint64_t timers_ns, stops_ns;
};
struct vg_policy_costs vg_policy_costs(const struct vg_policy_load *load, const struct vg_policy_prices *prices);

/*
 * How many sampling periods lie between two ticks.
 *
 * Each tick wakes the helper, which takes a CPU from another thread and so delays the work of that thread.  If timers
 * sample all running threads, a tick has little to do, and the rings have room for many samples.  So ticks are several
 * periods apart in two cases:
 *
 *  - No recording wants wall time.
 *  - The threads that are not idle run nearly all the time.  Their short waits are sampled less often, but have the
 *    same time in the profile (policy/weights.h).
 *
 *     if (vg_pace_due(&load, periods))
 *             periods = vg_pace_periods(&load, periods);
 *
 * Pure: no clock, no I/O.
 */

/* What happened since the latest decision, and what bounds the next one. */
struct vg_pace_load {
	uint64_t elapsed_ns;         /* since the latest decision */
	uint64_t stops;              /* stops of threads that timers do not sample */
	uint64_t queue_stops;        /* stops that were made only to find a thread in the run queue; they are not in
					`stops`, are few, and can wait for a tick */
	uint64_t found;              /* new threads */
	uint64_t awake_ns;           /* elapsed time, summed over the threads that ran for 1 % of it or more */
	uint64_t runnable_ns;        /* the part of awake_ns in which they were on a CPU or in the run queue */
	uint64_t unloads;            /* modules that were unloaded or replaced; timer samples must then be walked soon,
					while the modules that the samples need are still known */
	bool cpu_only;               /* no recording wants wall time */
	bool counters;               /* a recording reads perf counters at its ticks */
	bool events;                 /* the program records events; only ticks notice that its intervals change */
	uint64_t period_ns;          /* the sampling period */
	uint64_t ring_capacity_ns;   /* CPU time that fills a ring with samples; 0: there are no rings */
	uint64_t time_left_ns;       /* until the first recording reaches its duration limit */
};

/* Returns whether the next decision is due.  `periods`: sampling periods between two ticks now.  The next decision is
 * due 300 ms after the latest one.  If `periods` is 1 and no recording wants wall time, it is due after 50 ms.  If
 * `periods` is larger than 1, it is due at once when there are stops or unloads, or when time_left_ns is shorter than
 * the time between two ticks. */
bool vg_pace_due(const struct vg_pace_load *load, uint32_t periods);

/* Returns how many sampling periods may lie between two ticks, 1 or more.  `before`: the number of periods now. */
uint32_t vg_pace_periods(const struct vg_pace_load *load, uint32_t before);

/* Adds one thread's step to load->awake_ns and load->runnable_ns.  A thread whose waits are shorter than 5 % of a
 * period on average counts as runnable all the time.  The reason: even if ticks were one period apart, the profile
 * would not show single waits of that length, only the sum of all waits. */
void vg_pace_thread(struct vg_pace_load *load, uint64_t elapsed_ns, uint64_t runnable_ns, uint64_t switches);

/*
 * What a thread did when the helper asked it to stop.
 *
 *	struct vg_stop stop = { .timeslices = after.timeslices - before.timeslices, ... };
 *	weights = vg_weights_sample(&weights, &clocks, vg_stop_state(&stop));
 *
 * A thread that was on another CPU than the helper stops at once, in its timeslice.  Any other thread stops when it
 * gets a CPU: it begins a timeslice.  Such a thread was on a CPU only if the helper has taken that CPU from it.  Its
 * time in the run queue then began when the helper got the CPU.
 *
 * Pure: no clock, no I/O.
 */
struct vg_stop {
	/* The growth of the thread's counts in schedstat, from immediately before the request to the stop. */
	uint64_t timeslices;
	uint64_t queued_ns;          /* time in the run queue */
	uint64_t ran_ns;             /* CPU time */
	/* CLOCK_MONOTONIC. */
	uint64_t got_cpu_ns;         /* when the helper got its CPU, before the request */
	uint64_t stopped_ns;         /* when the thread stopped */
	bool waits;                  /* the stop interrupted a wait in a system call */
	bool was_waiting;            /* the thread waited before the request; it may run now because of an earlier
					stop */
};

enum vg_thread_state vg_stop_state(const struct vg_stop *stop);

#endif
