/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_COUNTERS_H
#define VG_VIGNETTED_COUNTERS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/counters.h"

/*
 * Perf counters of one thread: what the kernel or the CPU counts for it (perf_event_open(2)).
 *
 * Each thread has its own perf counters.  New threads do not inherit them, because the kernel cannot read inherited
 * perf counters as a group.  The software perf counters (counted by the kernel) form one group, the hardware perf
 * counters (counted by the CPU) another.  One system call reads a group.  If the thread is running, this call
 * interrupts the thread's CPU once.  If more hardware perf counters are open than the CPU has, they count in turns, and
 * their values are scaled up to the whole time.
 *
 *     rc = vg_counters_open(&counters, codes, tid, &at);
 *     if (rc != 0)
 *             return vg_counters_error(err, codes[at], rc);
 *     rc = vg_counters_read(&counters, codes, values);
 *     vg_counters_close(&counters);
 *
 * The codes are those of base/counters.h.  A 0 ends the list.
 */
struct vg_counters {
	int fds[VG_COUNTERS_MAX];    /* owned; in the order of the codes */
	uint64_t reported[VG_COUNTERS_MAX]; /* each perf counter's value at the latest vg_counters_read() */
	uint64_t enabled_ns;         /* how long the first perf counter had been enabled at the latest read */
	uint32_t stops;              /* how often we have stopped the thread since the latest read */
};

/*
 * Opens the perf counters of a thread.  Returns 0, or the error of the first perf counter that is refused, and sets *at
 * to its index.  Errors: -ESRCH if the thread has exited, -ENOENT or -EOPNOTSUPP if the machine has no such perf
 * counter, -EACCES, -EPERM or another negative errno.  After an error nothing is open.
 */
int vg_counters_open(struct vg_counters *counters, const uint16_t codes[VG_COUNTERS_MAX], pid_t tid,
		     uint32_t *at);

/* Sets `values` to the growth of each perf counter since the latest call, or since vg_counters_open().  The perf
 * counters of an exited thread can still be read once; later calls return -ESRCH.  Returns 0 or a negative errno. */
int vg_counters_read(struct vg_counters *counters, const uint16_t codes[VG_COUNTERS_MAX],
		     uint64_t values[VG_COUNTERS_MAX]);

void vg_counters_close(struct vg_counters *counters);

/* Sets a message that explains why the perf counter is not available.  Returns rc. */
int vg_counters_error(struct vg_err *err, uint16_t code, int rc);

/* Returns kernel.perf_event_paranoid; INT32_MIN if it is not readable. */
int vg_counters_paranoid_level(void);

#endif
