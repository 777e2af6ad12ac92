/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGCTL_HELPERS_H
#define VG_VGCTL_HELPERS_H

#include <sys/types.h>

#include "base/err.h"
#include "libvgctl/wire.h"

/*
 * Finds the helpers that listen, and sends requests to them.
 *
 *     int socket = vg_helpers_connect(directory, pid, VG_HELPERS_ACCEPT_MS, &err);
 *     if (socket >= 0)
 *             rc = vg_helpers_ask(socket, &message, VG_WIRE_STATUS, NULL, 0, VG_WIRE_STATE, &err);
 */

/* Writes the path of the directory of the sockets to `directory`, which has room for `bytes` bytes.  The path is
 * `given`, or $XDG_RUNTIME_DIR/vignette if `given` is NULL.  Returns 0, -ENOENT or -ENAMETOOLONG. */
int vg_helpers_directory(const char *given, char *directory, size_t bytes, struct vg_err *err);

/* Calls visit() for every process that has a socket in the directory, in no particular order.  Returns 0 or a negative
 * errno.  A directory that does not exist is no error. */
int vg_helpers_each(const char *directory, void (*visit)(pid_t pid, void *context), void *context,
		    struct vg_err *err);

/* Returns a connected socket, which the caller closes, or a negative errno.  Waits for at most accept_ms if the helper
 * has a full queue of connections.  A helper accepts a waiting connection each time it wakes, so a short time is enough.
 * -ESRCH: the process's helper does not listen.  -EPERM: the process that listens belongs to another user. */
enum { VG_HELPERS_ACCEPT_MS = 5000 };
int vg_helpers_connect(const char *directory, pid_t pid, int accept_ms, struct vg_err *err);

/* Sends a request with `count` descriptors.  Returns 0 or a negative errno. */
int vg_helpers_send(int socket, struct vg_wire_message *message, enum vg_wire_kind request, const int *fds, size_t count,
		    struct vg_err *err);

/* Receives the answer, which must be of the kind `answer`.  Returns 0; -ETIMEDOUT; or another negative errno.  If the
 * helper refuses the request, err has the helper's message. */
int vg_helpers_answer(int socket, struct vg_wire_message *message, enum vg_wire_kind answer, int timeout_ms,
		      struct vg_err *err);

/* Sends a request, and replaces the message by the answer, for which it waits a minute. */
int vg_helpers_ask(int socket, struct vg_wire_message *message, enum vg_wire_kind request,
		   const int *fds, size_t count, enum vg_wire_kind answer, struct vg_err *err);

#endif
