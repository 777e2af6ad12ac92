/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGCTL_HELPERS_H
#define VG_VGCTL_HELPERS_H

#include <sys/types.h>

#include "base/err.h"
#include "libvgctl/wire.h"

/* The helpers that listen, and a connection to one of them. */

/* The directory of their sockets, the caller's buffer: `given`, or $XDG_RUNTIME_DIR/vignette if that
 * is NULL.  0, -ENOENT or -ENAMETOOLONG. */
int vg_helpers_directory(const char *given, char *directory, size_t bytes, struct vg_err *err);

/* Calls visit() with the pid of every process that has a socket there, in no order.  0 or a negative
 * errno; -ENOENT is no error: nobody listens. */
int vg_helpers_each(const char *directory, void (*visit)(pid_t pid, void *context), void *context,
		    struct vg_err *err);

/* A connection, the caller's; -ESRCH if the process's helper does not listen; -EPERM if who listens
 * is another user; another negative errno. */
int vg_helpers_connect(const char *directory, pid_t pid, struct vg_err *err);

/* Sends a question with `count` descriptors, and takes the answer, which must be of that kind.  0, or
 * a negative errno: the helper's own, with its sentence, if it refuses. */
int vg_helpers_ask(int socket, struct vg_wire_message *message, enum vg_wire_kind question,
		   const int *fds, size_t count, enum vg_wire_kind answer, struct vg_err *err);

#endif
