/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CONFINE_H
#define VG_VIGNETTED_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* What the helper still has to do by itself besides sampling. */
enum vg_confine_role {
	VG_CONFINE_SERVE,            /* answers on a socket; the host names the file */
	VG_CONFINE_ALONE,            /* gives the file its name at the end */
	VG_CONFINE_LISTEN,           /* serves whoever of its user connects, and begins recordings: takes
	                                connections, gives files their names, removes its socket */
};

/*
 * Takes from this process, for good, whatever sampling does not need: gaining privileges, core
 * dumps, being traced by its own user's processes, more memory than it is told, and, by a seccomp
 * allow-list, all system calls but
 *
 *     reading memory and /proc (no file is opened for writing), waiting, time, its own memory,
 *     writing to descriptors that are open, messages on a socket;
 *     ptrace(2) to attach, stop, read registers, let go, and to set the one register that a
 *     restarted call needs;
 *     perf_event_open(2) of one thread at a time; of all that a CPU runs, who may trace every process.
 *
 * A forbidden call fails with EPERM: a C library that tries something new goes on without it.
 * To be called when the session is open, and nothing is launched any more.  0, or a negative errno.
 */
int vg_confine(enum vg_confine_role role, uint64_t memory_bytes, struct vg_err *err);

#endif
