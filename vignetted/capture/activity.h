/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ACTIVITY_H
#define VG_VIGNETTED_ACTIVITY_H

#include "vignetted/target/target.h"
#include "vignetted/target/tasks.h"

/*
 * Finds out which threads have run, without reading the activity of each thread.
 *
 * Most threads of most programs sleep for long.  One number shows whether any sleeping thread has run: the unattributed
 * CPU time.  It is the process's CPU time minus the CPU time of each thread at the thread's latest activity read.  The
 * threads that are awake are read before each check, so they do not change this number.  If it has increased, a
 * sleeping thread has run, or a thread has exited or is not known yet.
 *
 * Reading the process's CPU time takes 1 % of the time that reading all threads takes.  The kernel computes the
 * process's CPU time from the CPU times that it reports for each thread.  All these CPU times lack the time since the
 * latest scheduler tick.  So a check may notice up to one scheduler tick late that a sleeping thread has run.
 *
 *     vg_activity_begin(&activity, target, tasks, now_ns);
 *     for each task: rc = vg_activity_read(&activity, tasks, task);
 *
 * All zero is the state before the first round.
 */
struct vg_activity {
	uint64_t round_ns;           /* session time when the latest round began */
	uint64_t previous_round_ns;  /* session time when the round before the latest began */
	uint64_t process_cpu_ns;     /* the process's CPU time at round_ns, or the previous value if it could not be
					read */
	bool sleepers_idle;          /* no sleeping thread has run since its latest activity read */
	bool awake_current;          /* the threads that are awake were read in this round */
	bool unattributed_known;     /* unattributed_ns is set */
	uint64_t unattributed_ns;    /* the unattributed CPU time at the latest check; it includes the CPU time of
					exited threads */
	uint32_t failed_rounds;      /* checks in a row that did not show that all sleeping threads were idle */
	uint32_t rounds_to_skip;     /* rounds until sleeping threads are checked again */
};

/*
 * Begins a round.  Reads the process's CPU time.  Also reads the threads that are awake, if that may save reading the
 * sleeping ones.  Sets process_cpu_ns, sleepers_idle, awake_current, and task->sleep.is_sleeping of each thread.
 * Returns true if any thread has run since the previous round, and in the first round.
 *
 * With chosen threads (vg_tasks_choose()), reads these threads, and not the process's CPU time.  All of them count as
 * awake.
 */
bool vg_activity_begin(struct vg_activity *activity, const struct vg_target *target, struct vg_tasks *tasks,
		       uint64_t round_ns);

/* For a sample outside of rounds: the next vg_activity_read() of each thread reads its files again. */
void vg_activity_expire(struct vg_activity *activity, uint64_t round_ns);

/* Sets task->activity, unless the round has shown that it is current.  Returns 0, -ESRCH if the thread has exited, or
 * another negative errno. */
int vg_activity_read(struct vg_activity *activity, struct vg_tasks *tasks, struct vg_task *task);

#endif
