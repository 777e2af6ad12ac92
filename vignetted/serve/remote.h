/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_REMOTE_H
#define VG_VIGNETTED_REMOTE_H

#include "libvgctl/channel.h"
#include "libvgctl/wire.h"
#include "vignetted/session/session.h"

/*
 * A remote recording.  A peer began it over the helper's socket.  It ends at the latest when the connection that began
 * it is closed.  At its end the helper sends COMPLETE on that connection, and the peer renames the file, because the
 * helper has no descriptor of the directory and may rename nothing.
 */
struct vg_remote_recording {
	struct vg_recording *recording; /* the session's */
	int file;                    /* owned */
	int owner;                   /* the connection that began it */
	int end_peer;                /* the connection that requested its end, and waits for the rename; -1: none */
	bool complete_sent;
};

/* The requests of other processes on the helper's socket; libvgctl/wire.h has the messages. */
struct vg_remote {
	struct vg_session *session;
	vg_recording_set open;       /* the remote recordings that are not finished */
	struct vg_remote_recording recordings[VG_RECORDINGS_MAX]; /* by the recording's index; those in `open` */
};

/* Answers a message of a connection.  Sets a descriptor that it keeps to -1.  Returns false if the message is invalid:
 * the caller must close the connection. */
bool vg_remote_answer(struct vg_remote *remote, int socket, struct vg_wire_message *message, int fds[VG_CHANNEL_FDS]);

/* Call it when the connection is closed.  Ends the recordings that a request on this connection began. */
void vg_remote_disconnected(struct vg_remote *remote, int socket);

/* Whether a recording that the connection began is still open, or the connection waits for the answer to an end request
 * or a dump request. */
bool vg_remote_is_waiting(const struct vg_remote *remote, int socket);

/* Call it when recordings may have begun or ended.  The host records events while there are live recordings. */
void vg_remote_events_update(struct vg_remote *remote);

/* Ends all remote recordings. */
void vg_remote_end_all(struct vg_remote *remote, const char *reason);

/* Sends COMPLETE for the recordings that have ended by themselves. */
void vg_remote_complete_send(struct vg_remote *remote);

/* The helper exits: answers each connection that requested the end of a recording.  Waits for at most 1 s in all until
 * the files are renamed. */
void vg_remote_finish(struct vg_remote *remote);

/* ---- for all connections, also those of the host ---- */

/* Converts the options of a BEGIN, a LISTEN or an OPEN.  Sets events_fd to -1.  Returns 0, or -EINVAL if an option is
 * out of range. */
int vg_options_from_wire(struct vg_session_options *options, const struct vg_wire_begin *begin);

/* Receives a request like vg_channel_receive().  Answers a request of a version that this helper does not speak with
 * FAILED, and still returns -EPROTONOSUPPORT. */
int vg_request_receive(int socket, struct vg_wire_message *message, int fds[VG_CHANNEL_FDS], int timeout_ms);

/* Sends FAILED: `text` is a sentence that says why a request failed, `code` a negative errno. */
int vg_reply_failed(int socket, int code, const char *text);

/* Ends a recording, and sends its summary or why it failed. */
void vg_reply_ended(struct vg_session *session, struct vg_recording *recording, int socket, const char *reason);

/* Sends the result of a dump.  The parameters are those of vg_dump_done. */
void vg_reply_dumped(int socket, const struct vg_dump *dump, int rc);

#endif
