/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TARGET_H
#define VG_VIGNETTED_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"

/*
 * The process that is sampled.
 *
 * 	rc = vg_target_open(&target, pid, &err);
 * 	if (rc == 0)
 * 		rc = vg_target_check_traceable(&target, &err);
 * 	...
 * 	vg_target_close(&target);
 */
struct vg_target {
	pid_t pid;
	int pidfd;                   /* owned; readable when the process has exited */
	char program[256];           /* basename of its executable */
	bool in_inner_namespace;     /* its pid namespace is inside that of /proc */
	clockid_t cpu_clock;         /* CPU time of all its threads */
};

/* Returns 0, -ESRCH if there is no such process, -EINVAL if pid is a thread's, -ENOTSUP if /proc is missing or of
 * another pid namespace, or another negative errno. */
int vg_target_open(struct vg_target *target, pid_t pid, struct vg_err *err);
void vg_target_close(struct vg_target *target);

/* Whether the process has exited, or exits within timeout_ms. */
bool vg_target_exited(const struct vg_target *target, int timeout_ms);

/* CPU time of all its threads, including exited ones.  0: not known. */
uint64_t vg_target_cpu_ns(const struct vg_target *target);

/* Finds out without a stop whether the process can be traced.  Returns 0, -EPERM with err set to what forbids it, or
 * -ENOTSUP for a 32-bit program.  Takes 0.1 s if another process traces it. */
int vg_target_check_traceable(const struct vg_target *target, struct vg_err *err);

/* Call it after ptrace(2) failed with EPERM.  Sets err to what forbids tracing.  Always returns -EPERM. */
int vg_target_explain_eperm(const struct vg_target *target, struct vg_err *err);

#endif
