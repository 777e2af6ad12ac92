/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TARGET_H
#define VG_VIGNETTED_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"

/* The process that is sampled. */
struct vg_target {
	pid_t pid;
	int pidfd;                   /* owned; readable when the process has ended */
	char program[256];           /* basename of its executable */
	bool nested;                 /* in a pid namespace below that of /proc */
	clockid_t cpu_clock;
};

/* 0; -ESRCH; -ENOTSUP where /proc does not show the process; or another negative errno. */
int vg_target_open(struct vg_target *target, pid_t pid, struct vg_err *err);
void vg_target_close(struct vg_target *target);

/* Whether the process has ended, or does within that time. */
bool vg_target_ended(const struct vg_target *target, int timeout_ms);

/* Processor time of all its threads, up to now; 0 if that cannot be told. */
uint64_t vg_target_cpu_ns(const struct vg_target *target);

/* Whether the process may be traced and can be, without touching it: 0, -EPERM with what forbids it,
 * or -ENOTSUP for a 32-bit program.  Takes a tenth of a second where another process traces it. */
int vg_target_probe(const struct vg_target *target, struct vg_err *err);

/* After ptrace(2) said EPERM: finds out what forbids it, writes the sentence, returns -EPERM. */
int vg_target_forbidden(const struct vg_target *target, struct vg_err *err);

#endif
