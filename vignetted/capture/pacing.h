/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PACING_H
#define VG_VIGNETTED_PACING_H

#include "vignetted/target/tasks.h"

/*
 * How many sampling periods there are from one tick to the next.
 *
 * That the helper wakes costs a busy program more than the samples do: it takes a CPU from somebody, and
 * requests that would have been answered one by one wait together.  While timers sample, and nothing is due at
 * each period, ticks are as far apart as the rings have room for: where only CPU time is asked for; and where no
 * thread waits for long, so that there is little to read: for 10% of the time at most, or so shortly each time
 * that reading could tell no more than how much it is in all.
 */
struct vg_pacing {
	bool busy;                   /* threads that run at all run nearly all the time */
	bool crowd_only;             /* all that ran and are not new have timers of their own */
	bool stacks_truncated;       /* a thread has to be stopped, for its stack is larger than a timer sample's copy */
	bool stops_seen;             /* a thread had to be stopped since the latest vg_pacing_weigh() */
	uint64_t found;              /* threads, so far, then */
};

/* What there is besides the threads, at present. */
struct vg_pacing_needs {
	bool timers_run;
	bool timers_few;             /* only some threads have one */
	bool kernel_unseen;          /* time in the kernel is not sampled */
	bool counters;               /* a recording has counters */
	bool events;                 /* the program has events, or the session has just begun */
	bool cpu_only;               /* no recording asks for wall time */
	bool rates_covered;          /* none is faster than the timers */
	bool crowd;                  /* new threads come all the time, and go: crowd.h */
	uint64_t period_ns;          /* of sampling */
	uint64_t room_ns;            /* the rings hold samples of so much time */
	uint64_t left_ns;            /* until the first recording reaches its end */
};

/* Nothing is known: a tick every period. */
void vg_pacing_begin(struct vg_pacing *pacing);

/* Finds whether threads that ran at all since the latest call ran nearly all the time; waits of timer_period_ns / 20
 * and less are none. */
void vg_pacing_weigh(struct vg_pacing *pacing, struct vg_tasks *tasks, const struct vg_pacing_needs *needs,
		     uint64_t timer_period_ns);

/* Ticks may be so many periods apart, 1 or more. */
uint32_t vg_pacing_periods(const struct vg_pacing *pacing, const struct vg_pacing_needs *needs);

#endif
