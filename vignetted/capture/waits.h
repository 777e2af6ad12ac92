/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_WAITS_H
#define VG_VIGNETTED_WAITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vignetted/target/tasks.h"
#include "vignetted/unwind/regs.h"

/*
 * Where a thread waits, read from /proc/PID/task/TID/syscall without a stop.
 */
struct vg_wait {
	bool running;                /* on a CPU or in the run queue: the rest is not set */
	int64_t call;                /* number of the system call; -1: the thread is in none */
	uint64_t arguments[6];
	uint64_t sp, pc;
};

/* A thread whose file cannot be read counts as running: the attempt to stop it shows the reason. */
void vg_wait_read(struct vg_wait *wait, struct vg_tasks *tasks, struct vg_task *task);

/*
 * A stop makes some system calls return EINTR, although no signal was sent (signal(7), "Interruption of system calls
 * and library functions by stop signals").  Two measures prevent that:
 *
 * - A waiting thread is stopped only if vg_wait_may_stop() allows it.  That function allows a stop if the thread's call
 *   does not return EINTR, or if the call has no timeout and vg_wait_repair() can repair it.
 * - A thread that ran a moment ago may be in a call that returns EINTR when it stops.  vg_wait_repair() then makes the
 *   kernel restart the call.  The call's timeout begins again, which does not matter for a wait that has just begun.
 *   On a machine without a known repair, vg_wait_repair() does nothing.
 */

/* Whether a stop does no harm to the system call.  `directory` is a descriptor of /proc/PID/task. */
bool vg_wait_may_stop(const struct vg_wait *wait, int directory, pid_t tid);

/* Whether the kernel restarts this call as restart_syscall(2), so that its number changes. */
bool vg_wait_is_renumbered(int64_t call);

/* The offset in struct user at which vg_wait_repair() writes, and the value that it writes.  This write is the only
 * thing that a helper ever changes in its target.  An offset of -1: this machine has no repair. */
extern const long vg_wait_repair_offset, vg_wait_repair_value;

/* Repairs the system call of a stopped thread.  Returns whether a repair was needed and made. */
bool vg_wait_repair(struct vg_regs *regs, pid_t tid);

#endif
