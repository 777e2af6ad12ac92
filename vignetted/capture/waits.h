/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_WAITS_H
#define VG_VIGNETTED_WAITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vignetted/target/tasks.h"
#include "vignetted/unwind/regs.h"

/*
 * Where a thread that is on no CPU waits, as /proc/PID/task/TID/syscall tells it without a stop.
 */
struct vg_wait {
	bool running;                /* on a CPU or about to be: the rest is not known */
	int64_t call;                /* number of the system call; -1: it is in none */
	uint64_t arguments[6];
	uint64_t sp, pc;
};

/* What cannot be read is running: whoever then tries to stop the thread finds out why. */
void vg_wait_read(struct vg_wait *wait, struct vg_tasks *tasks, struct vg_task *task);

/*
 * Stopping a thread makes some system calls return EINTR, although no signal was sent (signal(7),
 * "Interruption of system calls and library functions by stop signals").  Two remedies:
 *
 * A thread that waits is only stopped if its call is none of those, or waits for ever and can
 * be repaired: what vg_wait_may_stop() says.
 *
 * A thread that ran a moment ago may have fallen asleep before the stop.  vg_regs_repair() makes
 * the kernel take up such a call again.  Its timeout begins anew, which for a wait that has just
 * begun is no matter.  Where the machine has no way to do that, it does nothing.
 */

/* Whether a stop does no harm.  `directory` is a descriptor of /proc/PID/task. */
bool vg_wait_may_stop(const struct vg_wait *wait, int directory, pid_t tid);

/* Whether the kernel takes up such a call under another number, that of restart_syscall(2). */
bool vg_wait_is_renumbered(int64_t call);

/* Where in struct user vg_regs_repair() writes, and what: the one place that a helper ever changes of its
 * target.  -1: there is none. */
extern const long vg_regs_repaired_at, vg_regs_repaired_value;

/* In a stopped thread.  Whether there was something to repair and it is. */
bool vg_regs_repair(struct vg_regs *regs, pid_t tid);

#endif
