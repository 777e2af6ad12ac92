/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_WORKERS_H
#define VG_VGTOOL_WORKERS_H

#include <stddef.h>

#include "base/err.h"

/*
 * Jobs in processes of their own, several at a time: what crashes, hangs or eats up the memory is
 * lost alone.  What a job prints comes out in the order of the jobs' numbers, each whole.
 */
struct vg_workers {
	unsigned at_once;            /* 1 or more */
	unsigned cpu_seconds_max;    /* of each job; it is killed then */
	size_t count;                /* of the jobs */
	const size_t *order;         /* numbers, in the order to start them; NULL: as they are */

	/* In the child; what it returns is the exit status, 0 to 255. */
	int (*run)(void *context, size_t number);

	/* In the parent, in the order of the numbers, after its output: the status, or -1 and
	 * what happened to the child. */
	void (*done)(void *context, size_t number, int status, const struct vg_err *err);
	void *context;
};

/* Runs all.  0, or a negative errno: -ENOMEM, or no process could be made; jobs not yet done are
 * then never done. */
int vg_workers_run(const struct vg_workers *workers, struct vg_err *err);

/* How many CPUs this process may use. */
unsigned vg_workers_cpus(void);

#endif
