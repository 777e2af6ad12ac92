/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LOOP_H
#define VG_VIGNETTED_LOOP_H

#include <poll.h>

#include "vignetted/session/session.h"

/* Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD, and ignores SIGPIPE and SIGXFSZ.  Blocks the stop signals of a terminal,
 * except while vg_loop_wait() waits and no thread is held.  Returns a signalfd for SIGINT, SIGTERM and SIGHUP, which is
 * the caller's, or a negative errno.  Call it before any session is opened. */
int vg_loop_signals(void);

/* The sockets that the loop waits for. */
enum { VG_LOOP_SOCKETS = 24 };
struct vg_loop_sockets {
	struct pollfd polled[VG_LOOP_SOCKETS]; /* an fd of -1 is skipped */
	size_t count;
	bool until_recordings_end;      /* the loop ends when all recordings have ended by themselves.  Otherwise it
					   continues, because the host requests the end later. */
	bool (*on_turn)(void *context); /* called at each turn, even if no socket is ready; returns whether to
					   continue */
	void *context;
};

/* Takes ticks until the process ends, a signal arrives, on_turn() returns false, or, with until_recordings_end, all
 * recordings have ended.  Returns the number of the signal that ended the loop, or 0. */
int vg_loop_run(struct vg_session *session, int signals, struct vg_loop_sockets *sockets);

/* Waits until a descriptor is ready, or until a tick or other work of the session is due.  Sets revents in `ready`.
 * Releases a thread that has stopped late. */
void vg_loop_wait(struct vg_session *session, struct pollfd *ready, size_t count);

#endif
