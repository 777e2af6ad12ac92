/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_HELPER_H
#define VG_LIBVGCTL_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libvgctl/wire.h"

/* The helper as the host sees it.  What fails has its sentence for vgctl_strerror(). */

/* A helper that says nothing for so long is taken for dead: starting needs an exec. */
enum { VG_START_TIMEOUT_MS = 20 * 1000 };

/* A helper, of all that it serves: sessions, and listening.  Held by the roster's lock. */
struct vg_helper {
	unsigned int shares;
	bool overwrite;              /* what it takes threads to do where their room for events is full */
	pid_t adopted;               /* it, if this process is pid 1 or a subreaper; or 0 */
	pid_t pid;
	uint64_t started;            /* when it began, as /proc has it, for the pid may be used again; or 0 */
};

/*
 * Where the program of the helper is: vg_spawn_find().  Looked for before the roster is held, for that takes the dynamic
 * linker's lock, and a callback of dl_iterate_phdr(3), which holds this lock, may begin a session.
 */
struct vg_helper_program {
	const char *given;           /* the caller's: by the options, or NULL */
	char *path;                  /* owned; NULL: not found */
};

struct vg_helper_program vg_helper_find(const char *given);

/*
 * Starts a helper, takes its greeting and lets it trace
 * this process.  *socket is the caller's after a failure too, unless negative, and so is *helper, one
 * share of it, unless NULL.  0 or a negative errno.
 */
int vg_helper_open(const struct vg_helper_program *program, int *socket, struct vg_helper **helper);

/* One share less, after the socket was closed.  After the last one nobody may trace this process any
 * more.  Accepts NULL. */
void vg_helper_leave(struct vg_helper *helper);

/* Kills a helper that does not answer: it may hold a thread of this process stopped, which the kernel then lets go.
 * No other process that has its pid by now. */
void vg_helper_kill(const struct vg_helper *helper);

/* A pair of sockets for one more connection: ours, and the one to be passed to the helper. */
int vg_helper_pair(int *own, int *other);

/* The sentence for a channel that failed with that errno, which is returned. */
int vg_helper_lost(int rc);

/* Whether the answer is of that kind; else what the helper says failed. */
int vg_answer_check(struct vg_wire_message *answer, enum vg_wire_kind kind);

#endif
