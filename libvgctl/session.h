/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_SESSION_H
#define VG_LIBVGCTL_SESSION_H

#include <pthread.h>
#include <stdbool.h>

#include "base/outfile.h"
#include "libvgctl/file_id.h"
#include "libvgctl/stalls.h"
#include "libvgctl/wire.h"

/* A session, from vgctl_begin() to vgctl_end(). */
struct vgctl_session {
	uint64_t owner;              /* vg_process_token() of the process that began it */
	struct vgctl_session *next;  /* in the session list */
	struct vg_helper *helper;    /* a reference; or NULL */
	bool shares_helper;          /* the helper was already running; if the host has an event ring, the helper
	                                has it too */
	bool records_events;
	int socket;                  /* owned; -1: not open yet, or closed by the host */
	struct vg_file_id socket_id;
	struct vg_outfile_ids file_ids;
	int channel_error;           /* 0, or the negative errno with which the socket failed.  After a failure nothing
					more is sent. */
	struct vg_outfile file;
	struct vg_stalls stalls;
	pthread_mutex_t mutex;       /* one request at a time on the socket */
};

/* Returns 0, -EINVAL for NULL, or -ECHILD for the session of a parent process. */
int vg_session_check(struct vgctl_session *session);

/* Sends the message and, if fd is not -1, the descriptor fd.  Replaces the message by the answer.  Returns 0 or a
 * negative errno.  After a failure, vgctl_strerror() returns a sentence about the failure. */
int vg_session_ask(struct vgctl_session *session, enum vg_wire_kind request, int fd,
		   enum vg_wire_kind answer_kind, struct vg_wire_message *message);

/* Frees a session that has ended or could not begin.  Closes its socket and removes files that were not
 * committed. */
void vg_session_free(struct vgctl_session *session);

/* Frees the copy of a session in a child of fork(2).  The parent's session, its helper and its files are
 * not changed. */
void vg_session_forget(struct vgctl_session *session);

#endif
