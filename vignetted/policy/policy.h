/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_POLICY_H
#define VG_VIGNETTED_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether the kernel's timers or stops sample a thread while it runs.
 *
 * Each thread is decided on its own.  A thread that has used little CPU time is stopped: to open timers costs more than a
 * short thread's samples.  After that it has timers, until they cost more than stops: a timer costs the thread something
 * at each switch, a stop costs something at each sample.  The cost of a method is a count times a measured price.  The
 * method changes when the other one costs less than half in several steps in a row.  doc/design/policy.md has the reasons.
 *
 * Pure: no clock, no I/O.
 */
struct vg_policy {
	bool decided;                /* the thread has used a sampling period of CPU time since it was first seen */
	bool timers;                 /* the kernel's timers sample it; else stops do */
	uint32_t steps_against;      /* in a row in which the other method cost less than half */
};

/* What one thread did since the step before. */
struct vg_policy_load {
	uint64_t elapsed_ns;
	uint64_t period_ns;          /* from one sample of a running thread to the next */
	uint64_t scheduler_tick_ns;  /* the scheduler's tick */
	uint64_t switches;           /* how often the thread got a CPU */
	uint64_t used_ns;            /* its CPU time */
};

/* What one event costs. */
struct vg_policy_prices {
	uint64_t switch_ns;          /* a thread with a timer gets a CPU and loses it, */
	uint64_t program_ns;         /* and what is added if the timer is the CPU's earliest: the kernel programs the CPU's
	                                timer then */
	uint64_t stop_ns;            /* a stop, and our waking for it */
};
extern const struct vg_policy_prices vg_policy_prices;

/* From one step of a thread to the next, once it is decided. */
enum { VG_POLICY_STEP_NS = 200 * 1000 * 1000 };

/* Whether a step is due, so long after the step before. */
bool vg_policy_due(const struct vg_policy *policy, const struct vg_policy_load *load);

/* Decides for the time until the next step. */
void vg_policy_step(struct vg_policy *policy, const struct vg_policy_load *load, const struct vg_policy_prices *prices);

/* What each method costs under that load. */
struct vg_policy_costs {
	uint64_t timers_ns, stops_ns;
};
struct vg_policy_costs vg_policy_costs(const struct vg_policy_load *load, const struct vg_policy_prices *prices);

#endif
