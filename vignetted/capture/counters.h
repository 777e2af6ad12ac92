/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_COUNTERS_H
#define VG_VIGNETTED_COUNTERS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/counters.h"

/*
 * What the kernel and the processor count of one thread, by perf_event_open(2): an event a counter,
 * not inherited, so that each thread has its own.  Those of the kernel are one group and those of the
 * processor another: a group is read with one system call, of a running thread with one interrupt of
 * its CPU.  Where the processor has too few for all who want them, it counts in turns, and what is
 * read is made up for the time in which it did not.
 */
struct vg_counters {
	int fds[VG_COUNTERS_MAX];    /* owned; in the order of the codes */
	uint64_t told[VG_COUNTERS_MAX]; /* of each, what was taken so far */
	uint64_t enabled_ns;         /* how long the first has counted: as before, where nothing ran */
	uint32_t stops;              /* of the thread's that were ours, since they were taken */
};

/*
 * Has the thread's counted from now on.  0; or what the first that is refused says, with *at its
 * place: -ESRCH if the thread is gone, -ENOENT or -EOPNOTSUPP if the machine has none, -EACCES, -EPERM
 * or another negative errno.  Nothing is open then.
 */
int vg_counters_open(struct vg_counters *counters, const uint16_t codes[VG_COUNTERS_MAX], pid_t tid,
		     uint32_t *at);

/* How far each went since this was last called, or since they were opened.  0 or a negative errno.
 * A thread that has ended still has them; -ESRCH once nothing is left that was not taken. */
int vg_counters_take(struct vg_counters *counters, const uint16_t codes[VG_COUNTERS_MAX],
		     uint64_t values[VG_COUNTERS_MAX]);

void vg_counters_close(struct vg_counters *counters);

/* Says why the counter cannot be had, and returns rc. */
int vg_counters_refused(struct vg_err *err, uint16_t code, int rc);

#endif
