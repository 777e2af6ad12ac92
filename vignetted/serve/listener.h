/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LISTENER_H
#define VG_VIGNETTED_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "vignetted/serve/finisher.h"

/*
 * The socket DIRECTORY/PID.sock, on which other processes of the same user find the helper of process PID.  Only the
 * user can enter the directory (0700) and use the socket (0600), and the user of each connection is checked again.
 *
 *     rc = vg_listener_open(&listener, directory, &host, &err);  before the helper is confined
 *     fd = vg_listener_accept(&listener);                        when listener.socket is readable
 *     vg_listener_close(&listener);
 */
struct vg_listener_host {
	pid_t pid;
	int pidfd;                   /* the caller's */
	int events_fd;               /* the event ring, the caller's; -1: none */
	uint64_t recording_address;  /* of vgctl_recording in the host; 0: unknown */
	int memory;                  /* the host's memory; open in the finisher only; -1: not open */
};

struct vg_listener {
	int directory;               /* owned; -1: does not listen */
	int socket;                  /* owned; -1: does not listen */
	char name[32];               /* of the socket in the directory */
	struct vg_finisher finisher; /* sets vgctl_recording and removes the socket: the confined helper may not */
	struct vg_listener_host host;
	bool sets_recording;         /* the finisher can set vgctl_recording */
	bool events_on;              /* the latest vg_listener_events() */
};

#define VG_LISTENER_CLOSED { .directory = -1, .socket = -1, .finisher = VG_FINISHER_NONE }

/* Has the host record events, or not: sets its vgctl_recording.  Does nothing if this was the latest request already,
 * unless `again` is set; or if the listener is closed. */
void vg_listener_events(struct vg_listener *listener, bool on, bool again);

/*
 * Creates the directory if necessary, removes sockets in it on which nobody listens any more, and listens.  Call it
 * before the helper is confined.  Returns 0; -EPERM if the directory belongs to another user or is open to others;
 * -EADDRINUSE if the socket exists already; or another negative errno.
 */
int vg_listener_open(struct vg_listener *listener, const char *directory, const struct vg_listener_host *host,
		     struct vg_err *err);

/* Returns a connection, which is the caller's; -EPERM if it was another user's and was closed; or another negative
 * errno. */
int vg_listener_accept(const struct vg_listener *listener);

/* Removes the socket.  If the helper is killed, the finisher removes it too. */
void vg_listener_close(struct vg_listener *listener);

#endif
