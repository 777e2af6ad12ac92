/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_POLICY_H
#define VG_VIGNETTED_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether the kernel's timers sample the threads that run, and which timers, or stops do.
 *
 * Pure: the caller counts what happened in a window of time, and carries out the step that is returned.  The cost of
 * each method is a count times a measured price (vg_policy_prices).  The cheapest method is used, with hysteresis:
 * a method must be the wrong one in several windows in a row.  doc/design/policy.md has the reasons.
 */
enum vg_timers_mode {
	VG_TIMERS_NONE,              /* there are to be none, or cannot be */
	VG_TIMERS_THREADS,           /* of all threads; new threads inherit them */
	VG_TIMERS_FEW,               /* of four threads; the others are stopped */
	VG_TIMERS_CPUS,              /* of CPUs: they sample whoever runs there */
	VG_TIMERS_CLOSED,            /* all threads are stopped, for that costs less */
};

/* What one event costs the threads, or a machine that is at work on all CPUs. */
struct vg_policy_prices {
	uint64_t switch_ns;          /* a thread with a timer gets a CPU and loses it */
	uint64_t program_ns;         /* and what more if both program the CPU's timer, */
	uint64_t idle_program_ns;    /* and if the CPU is idle in between, where the kernel programs it anyway */
	uint64_t inherit_ns;         /* a thread is made and ends, for each CPU's timer that it inherits */
	uint64_t stop_ns;            /* a stop, with our waking for it */
	uint64_t idle_stop_ns;       /* and what more where threads wait on idle CPUs: the most, and a share of the */
	uint32_t idle_stop_share;    /* period: all requests that were held up come at once then */
	uint64_t room_stop_ns;       /* a stop where a CPU is free for us */
	uint64_t expiry_ns;          /* a CPU's timer expires, on each CPU; */
	uint64_t room_expiry_ns;     /* on all together where CPUs are free */
};
extern const struct vg_policy_prices vg_policy_prices;

/* What happened in a window. */
struct vg_load {
	uint64_t elapsed_ns;         /* its length */
	uint64_t period_ns;          /* from one sample of a running thread to the next */
	uint64_t tick_ns;            /* the scheduler's tick */
	uint64_t switches;           /* times that threads got a CPU */
	uint64_t used_ns;            /* CPU time of the threads that the mode has sampled */
	uint64_t threads_made;       /* while timers are inherited; else 0 */
	uint64_t threads_more;       /* there are at the end of it */
	size_t cpus;                 /* that have timers, or would have */
	bool is_idle;                /* the CPUs that threads leave are idle then */
	bool has_room;               /* a CPU is free for us */
	bool may_use_cpus;           /* timers of CPUs may be tried */
	bool rings_suffice;          /* the samples between two ticks fit into the rings */
};

struct vg_policy {
	enum vg_timers_mode mode;
	bool halted;                 /* the timers stand still, and threads are stopped */
	uint32_t costly_windows;     /* in a row in which another method costs less */
	uint32_t making_windows;     /* the same where the making of threads is most of the cost */
	uint64_t window_ns;          /* the length of the next window */
};

/* What is to be done at the end of a window. */
enum vg_policy_step {
	VG_POLICY_KEEP,
	VG_POLICY_OPEN,              /* open timers of all threads */
	VG_POLICY_FEW,               /* close those that are inherited */
	VG_POLICY_CPUS,              /* open timers of CPUs, if that is allowed; else keep what is there */
	VG_POLICY_HALT,
	VG_POLICY_RUN,               /* those that were halted */
	VG_POLICY_CLOSE,
};

/* The mode is in force from now on: what was seen under another one is forgotten. */
void vg_policy_enter(struct vg_policy *policy, enum vg_timers_mode mode);

/* What the latest step asked for could not be done: all is as it was. */
void vg_policy_refused(struct vg_policy *policy);

enum vg_policy_step vg_policy_step(struct vg_policy *policy, const struct vg_load *load,
				   const struct vg_policy_prices *prices);

/* What the window costs threads, or would have, by method. */
struct vg_policy_costs {
	uint64_t switching_ns, making_ns;
	uint64_t timers_ns;          /* of threads: both together */
	uint64_t stopping_ns;
	uint64_t cpus_ns;            /* timers of CPUs; more than all others where there can be none */
};
struct vg_policy_costs vg_policy_costs(const struct vg_load *load, const struct vg_policy_prices *prices);

/* Whether switches cost so much that somebody would notice: only then it matters whether CPUs are idle. */
bool vg_policy_switches_matter(const struct vg_load *load, const struct vg_policy_prices *prices);

#endif
