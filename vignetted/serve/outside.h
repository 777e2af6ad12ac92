/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_OUTSIDE_H
#define VG_VIGNETTED_OUTSIDE_H

#include "libvgctl/wire.h"
#include "vignetted/session/session.h"

/*
 * A recording that another process than the program began, over the helper's socket.  It lasts as long as
 * the connection that began it.  At its end the helper sends COMPLETE on that connection, and the process there
 * gives the file its name: the helper has no descriptor of the directory, and may rename nothing.
 */
struct vg_outside_recording {
	struct vg_recording *recording; /* the session's; NULL: none here */
	int file;                    /* owned */
	int owner;                   /* the connection that began it */
	int asker;                   /* the connection that asked for its end and waits for the name; -1: none */
	bool complete_sent;
};

/* What others than the program ask for on the helper's socket: see libvgctl/wire.h. */
struct vg_outside {
	struct vg_session *session;
	struct vg_outside_recording recordings[VG_RECORDINGS]; /* by the recording's index */
};

/* Reads one message from a connection and answers it.  False: it is to be closed, for the other end
 * is gone or says what makes no sense. */
bool vg_outside_serve(struct vg_outside *outside, int socket);

/* The connection is closed: the recordings that it began end. */
void vg_outside_hung_up(struct vg_outside *outside, int socket);

/* Whether the connection has a recording, or waits for an answer. */
bool vg_outside_needs(const struct vg_outside *outside, int socket);

/* Whether a recording of others goes on; and the end of all of these. */
bool vg_outside_any(const struct vg_outside *outside);
void vg_outside_end_all(struct vg_outside *outside, const char *reason);

/* Sends COMPLETE for the recordings that have ended by themselves. */
void vg_outside_settle(struct vg_outside *outside);

/* The helper ends: answers each connection that asked for the end of a recording.  Waits a second at most, in all, for
 * the files to get their names. */
void vg_outside_finish(struct vg_outside *outside);

/* Takes the options of a BEGIN, a LISTEN or an OPEN.  events_fd is set to -1.  0; -EINVAL: one is out of range. */
int vg_outside_options(struct vg_session_options *options, const struct vg_wire_begin *begin);

/* A sentence on why something was refused. */
int vg_outside_refuse(int socket, int code, const char *text);

/* Tells who asked for a dump, by that socket, what came of it; see vg_dumping_done. */
void vg_outside_dumped(int socket, const struct vg_dump *dump, int rc);

/* Ends a recording and says what came of it. */
void vg_outside_end(struct vg_session *session, struct vg_recording *recording, int socket,
		    const char *reason);

#endif
