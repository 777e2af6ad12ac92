/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LISTENER_H
#define VG_VIGNETTED_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "vignetted/serve/finisher.h"

/*
 * Where others of the same user find the helper of a process: the socket DIRECTORY/PID.sock.  The
 * directory is the user's alone (0700), and so is the socket (0600); who connects is looked at again.
 */
struct vg_listener {
	int directory;               /* owned; -1: does not listen */
	int socket;                  /* owned; -1 */
	char name[32];               /* of the socket in the directory */
	struct vg_finisher finisher; /* removes it: the confined helper cannot */
};

#define VG_LISTENER_CLOSED { .directory = -1, .socket = -1, .finisher = VG_FINISHER_NONE }

/*
 * Makes the directory if it is not there, removes sockets in it that nobody listens on any more, and
 * listens.  To be called before the helper is confined.  0; -EPERM if the directory is another
 * user's or open to others; -EADDRINUSE; another negative errno.
 */
int vg_listener_open(struct vg_listener *listener, const char *directory, pid_t pid,
		     struct vg_err *err);

/* A connection, the caller's; -EPERM if it is another user's, which is closed; another negative
 * errno. */
int vg_listener_accept(const struct vg_listener *listener);

/* Removes the socket.  A helper that is killed has it removed too. */
void vg_listener_close(struct vg_listener *listener);

#endif
