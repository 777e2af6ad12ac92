/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LISTENER_H
#define VG_VIGNETTED_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "vignetted/serve/finisher.h"

/*
 * The socket DIRECTORY/PID.sock, on which other processes of the same user find the helper of process PID.  Only the
 * user can enter the directory (0700) and use the socket (0600), and the user of each connection is checked again.
 *
 *     rc = vg_listener_open(&listener, directory, pid, &err);    before the helper is confined
 *     fd = vg_listener_accept(&listener);                        when listener.socket is readable
 *     vg_listener_close(&listener);
 */
struct vg_listener {
	int directory;               /* owned; -1: does not listen */
	int socket;                  /* owned; -1: does not listen */
	char name[32];               /* of the socket in the directory */
	struct vg_finisher finisher; /* removes the socket, which the confined helper may not do */
};

#define VG_LISTENER_CLOSED { .directory = -1, .socket = -1, .finisher = VG_FINISHER_NONE }

/*
 * Creates the directory if necessary, removes sockets in it on which nobody listens any more, and listens.  Call it
 * before the helper is confined.  Returns 0; -EPERM if the directory belongs to another user or is open to others;
 * -EADDRINUSE if the socket exists already, and still does ten seconds later; or another negative errno.
 */
int vg_listener_open(struct vg_listener *listener, const char *directory, pid_t pid,
		     struct vg_err *err);

/* Returns a connection, which is the caller's; -EPERM if it was another user's and was closed; or another negative
 * errno. */
int vg_listener_accept(const struct vg_listener *listener);

/* Removes the socket.  If the helper is killed, the finisher removes it too. */
void vg_listener_close(struct vg_listener *listener);

#endif
