/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ACCESS_H
#define VG_VIGNETTED_ACCESS_H

#include <sys/types.h>

#include "base/err.h"
#include "vignetted/policy/permission.h"

/*
 * Whether a process may be sampled, and the sentences that say why not.  No function stops the process.
 *
 *     vg_access_read(&access, pid);
 *     rc = vg_access_error(&access, vg_permission_record(&access.facts), &err);
 */
struct vg_access {
	pid_t pid;
	struct vg_permission_facts facts;
	long tracer, uid;            /* pid of its tracer, 0: none; its user id, -1: unknown */
	const char *filtered;        /* the system call that a seccomp filter forbids; NULL: none */
	unsigned int machine;        /* of the executable (e_machine); 0: unknown */
};

/* Reads the facts.  Takes 0.5 s if another process traces the process. */
void vg_access_read(struct vg_access *access, pid_t pid);

/* The pid of the process that traces the process now; 0: none, or we do. */
long vg_access_tracer(pid_t pid);

/* Reads only the facts about a command that vignetted would start.  The pid is 0. */
void vg_access_read_own(struct vg_access *access);

/* Sets err to a sentence that says what forbids sampling, and if possible how the user can permit it.  Returns 0 for
 * VG_PERMITTED, -ENOTSUP if the program is a 32-bit program or was built for another machine, otherwise -EPERM. */
int vg_access_error(const struct vg_access *access, enum vg_permission permission, struct vg_err *err);

/* Finds out without a stop whether the process can be sampled.  Returns what vg_access_error() returns, and sets err
 * like it. */
int vg_access_check(pid_t pid, struct vg_err *err);

/* Call it after ptrace(2) failed with EPERM.  Sets err to what forbids tracing.  Always returns -EPERM. */
int vg_access_explain_eperm(pid_t pid, struct vg_err *err);

/* Writes the path of vignetted itself, for the commands in the sentences. */
enum { VG_ACCESS_PATH_BYTES = 100 };
void vg_access_own_path(char path[VG_ACCESS_PATH_BYTES]);

#endif
