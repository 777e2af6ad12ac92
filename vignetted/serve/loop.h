/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LOOP_H
#define VG_VIGNETTED_LOOP_H

#include <poll.h>

#include "vignetted/session/session.h"

/* Blocks the signals that the loop waits for (SIGINT, SIGTERM, SIGHUP) and SIGCHLD, and returns
 * a descriptor that tells of the former, owned by the caller; or a negative errno.  Before any
 * session is opened. */
int vg_loop_signals(void);

/* Who is spoken with. */
enum { VG_LOOP_SOCKETS = 24 };
struct vg_loop_sockets {
	struct pollfd polled[VG_LOOP_SOCKETS]; /* an fd of -1 is passed over */
	size_t count;
	bool (*on_turn)(void *context); /* called at each turn, ready or not; whether to go on */
	void *context;
};

/*
 * Ticks until the recordings have ended: by a limit, by the end of the process, by a signal, or
 * because on_turn said so.  `sockets` may be NULL.  When recordings end by themselves while there
 * are sockets, the loop still serves them: the host asks for the end in its own time.
 *
 * The number of the signal that ended it, or 0.
 */
int vg_loop_run(struct vg_session *session, int signals, struct vg_loop_sockets *sockets);

/* A turn's waiting: until a descriptor is ready, which `ready` says then, or the next tick is due.  Lets go
 * of a thread that has stopped late. */
void vg_loop_wait(struct vg_session *session, struct pollfd *ready, size_t count);

#endif
