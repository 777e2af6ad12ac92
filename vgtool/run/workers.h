/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_WORKERS_H
#define VG_VGTOOL_WORKERS_H

#include <stddef.h>

#include "base/err.h"

/*
 * Runs jobs in child processes, several at a time.  A job that crashes, loops forever or uses too much memory
 * does not harm the others.  The output of each job is printed as a whole, in the order of the job numbers.
 *
 *	struct vg_workers workers = { .jobs_max = vg_workers_cpus(), .cpu_seconds_max = 60, .count = 10,
 *				      .run = file_run, .done = file_done, .context = files };
 *	vg_workers_run(&workers, &err);
 */
struct vg_workers {
	unsigned jobs_max;           /* number of jobs that run at a time, 1 or more */
	unsigned cpu_seconds_max;    /* CPU time of one job; a job that uses more is killed */
	size_t count;                /* number of jobs */
	const size_t *order;         /* job numbers in the order to start them; NULL: 0, 1, 2, ... */

	/* Called in the child.  Returns the job's exit status, 0 to 255. */
	int (*run)(void *context, size_t number);

	/* Called in the parent, in the order of the job numbers, after the job's output was printed.  status is
	 * the exit status.  If a signal ended the child, status is -1 and err has the reason. */
	void (*done)(void *context, size_t number, int status, const struct vg_err *err);
	void *context;
};

/* Runs all jobs.  Returns 0, -ENOMEM, or the negative errno of fork(2) or another system call.  After a failure
 * the running jobs are killed, and `done` is not called for the jobs that are left. */
int vg_workers_run(const struct vg_workers *workers, struct vg_err *err);

/* Number of CPUs that this process may use (sched_getaffinity(2)), 1 or more. */
unsigned vg_workers_cpus(void);

#endif
