/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_IDLE_H
#define VG_VIGNETTED_IDLE_H

#include "vignetted/target/tasks.h"

/*
 * Whether the CPU that a thread runs on is idle while that sleeps: then what is done when it loses the CPU and
 * gets it back would in part be done anyway, and whoever waits for it is on another one.  By /proc/stat, whose
 * numbers are of 10 ms: what is between two calls must be some of these.
 *
 * And whether there is room for us, the thread that calls: a CPU that we get at once when we wake.
 */
enum { VG_IDLE_CPUS = 1024 };        /* the CPUs behind these are taken for busy ones */

struct vg_idle {
	pid_t tid;
	bool is_idle;                /* by the two latest calls of one thread */
	bool is_roomy;               /* CPUs were idle so much that we find one where we are in nobody's way */
	uint32_t crowded_looks;      /* there is no room for as many, whatever was idle */
	uint64_t own_delay_ns, own_slices; /* what we waited for a CPU in all, and how often we got one */
	uint64_t at_ns, ready_ns;
	uint64_t idle_ns[VG_IDLE_CPUS]; /* since boot */
};

/* Looks again, with task->look of just now.  What could not be learned is as it was. */
bool vg_idle_look(struct vg_idle *idle, const struct vg_task *task, uint64_t now_ns);

#endif
