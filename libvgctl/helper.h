/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_HELPER_H
#define VG_LIBVGCTL_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libvgctl/wire.h"

/*
 * The helper process: its start, its lifetime and its failures.  A function that fails sets the
 * sentence that vgctl_strerror() returns.  The caller must have locked the session list (session_list.h), except for
 * vg_helper_find().
 *
 *     struct vg_helper_program program = vg_helper_find(options.helper_path);
 *     rc = vg_helper_open(&program, &socket, &helper);
 *     ... messages on the socket ...
 *     close(socket);
 *     vg_helper_release(helper);
 *     free(program.path);
 */

/* A helper that sends nothing for this long is treated as dead.  The time includes execve(2). */
enum { VG_START_TIMEOUT_MS = 20 * 1000 };

/* A helper.  Each session and listen.c hold a reference.  Protected by the mutex of the session list. */
struct vg_helper {
	unsigned int references;
	bool overwrite;              /* in a full lane, new events overwrite the oldest ones; false: new events are
	                                dropped */
	pid_t child_pid;             /* pid of the helper if this process adopts orphans (pid 1, a subreaper), so that
	                                the helper is its child; otherwise 0 */
	uint16_t newest_version;     /* the newest version of messages that the helper speaks (wire.h) */
	pid_t pid;
	uint64_t start_ticks;        /* start time of the helper in clock ticks since boot, because a pid can be reused;
	                                0: unknown */
};

/*
 * The result of vg_helper_find(), which takes the dynamic linker's lock.  Call vg_helper_find() before you lock the
 * session list.  In the opposite order two threads could wait for each other: a callback of dl_iterate_phdr(3) holds
 * the linker's lock, and may begin a session, which locks the list.
 */
struct vg_helper_program {
	const char *given;           /* helper_path of the options, borrowed; or NULL */
	char *path;                  /* where the helper was found; the caller frees it; NULL: not found */
};

struct vg_helper_program vg_helper_find(const char *given);

/*
 * Starts a helper, receives its HELLO and permits it to trace this process.  Returns 0 or a negative errno.
 *
 * Even after a failure, the caller must close *socket if it is not negative, and must call vg_helper_release(*helper).
 */
int vg_helper_open(const struct vg_helper_program *program, int *socket, struct vg_helper **helper);

/* Drops a reference.  Close the socket first.  When the last reference is dropped, the helper may no longer trace this
 * process.  Accepts NULL. */
void vg_helper_release(struct vg_helper *helper);

/* Kills a helper that does not answer.  If the helper has stopped a thread of this process, the kernel continues the
 * thread when the helper is dead.  Never kills a later process with the same pid. */
void vg_helper_kill(const struct vg_helper *helper);

/* Returns 0 if the helper can sample a single thread, otherwise -ENOTSUP, and sets the sentence. */
int vg_helper_thread_check(const struct vg_helper *helper);

/* Creates a socket pair for one more connection.  *own stays in this process; *other is passed to the helper.  Returns
 * 0 or a negative errno. */
int vg_helper_socket_pair(int *own, int *other);

/* Sets the sentence that vgctl_strerror() returns after a channel failed with rc.  Returns rc. */
int vg_helper_failure(int rc);

/* Returns the end of a sentence about a helper that failed with `code`: "", or that a seccomp filter may be the
 * reason. */
const char *vg_helper_filter_hint(int code);

/* Returns 0 if the answer is of the kind `kind`.  If the answer is FAILED, returns the error in it, and
 * vgctl_strerror() then returns the text in it.  Otherwise returns -EPROTO. */
int vg_answer_check(struct vg_wire_message *answer, enum vg_wire_kind kind);

#endif
