/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TIMERS_H
#define VG_VIGNETTED_TIMERS_H

#include "vignetted/capture/activity.h"
#include "vignetted/capture/idle.h"
#include "vignetted/capture/interrupts.h"
#include "vignetted/capture/policy.h"
#include "vignetted/capture/priority.h"

/*
 * The kernel's timers that sample the process's threads (interrupts.h), as the policy wants them (policy.h).
 */
struct vg_timers {
	struct vg_interrupts interrupts;
	struct vg_policy policy;
	uint64_t period_ns;          /* that was asked for, also while they are closed; 0: there are to be none */
	bool cpus_denied;            /* timers of CPUs cannot be had */
	bool user_only;              /* as interrupts.user_only was when they were opened last */
	size_t cpus;                 /* likewise ring_count */
	uint64_t varied_ns;          /* session time when the period of CPUs' timers was varied */
	struct vg_idle idle;         /* of the thread that switches most */
	struct {                     /* when the latest window ended: CLOCK_MONOTONIC, and what had been counted */
		uint64_t at_ns, cpu_ns, found, made, threads, stops;
	} window;
};

/* What the timers are of.  All but the two bounds may change from one call to the next. */
struct vg_timers_world {
	struct vg_tasks *tasks;
	struct vg_activity *activity;
	struct vg_priority *priority;
	pid_t pid;
	uint64_t max_memory_bytes;   /* of the helper */
	uint64_t ticks_period_ns;    /* from one fetch of samples to the next */
	uint64_t stops;              /* threads that were stopped, so far */
	uint64_t random;
};

/* Tries to have some, that far apart; without, the caller stops threads.  Where they can no longer be opened, those
 * that there are stay, and recordings that are faster stop threads. */
void vg_timers_follow(struct vg_timers *timers, const struct vg_timers_world *world, uint64_t period_ns);

/* Once a tick.  Whether a window has ended: then the policy's step is due, with vg_timers_step(). */
bool vg_timers_due(const struct vg_timers *timers);

/* Counts what the window was, begins the next one, and carries out the policy's step. */
void vg_timers_step(struct vg_timers *timers, const struct vg_timers_world *world);

void vg_timers_close(struct vg_timers *timers);

#endif
