/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_POLICY_H
#define VG_VIGNETTED_POLICY_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
