/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LOOP_H
#define VG_VIGNETTED_LOOP_H

#include "vignetted/session.h"

/* Blocks the signals that the loop waits for (SIGINT, SIGTERM, SIGHUP) and SIGCHLD, and returns
 * a descriptor that tells of the former, owned by the caller; or a negative errno.  Before any
 * session is opened. */
int vg_loop_signals(void);

/*
 * Ticks until the session has ended: by a limit, by the end of the process, by a signal, or
 * because on_socket said so.  `socket` may be -1; on_socket is called when it has something to
 * read and returns whether to go on.  When recording ends by itself while there is a socket,
 * the loop still serves it: the host asks for the end in its own time.
 *
 * The number of the signal that ended it, or 0.
 */
int vg_loop_run(struct vg_session *session, int signals, int socket,
		bool (*on_socket)(void *context), void *context);

#endif
