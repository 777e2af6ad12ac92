/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_SESSION_H
#define VG_LIBVGCTL_SESSION_H

#include <pthread.h>
#include <stdbool.h>

#include "base/outfile.h"
#include "libvgctl/mark.h"
#include "libvgctl/stalls.h"
#include "libvgctl/wire.h"

struct vgctl_session {
	uint64_t owner;              /* token of the process that began it; a fork's child must not use it */
	struct vgctl_session *next;  /* in the roster */
	struct vg_helper *helper;    /* that serves it: a share; or NULL */
	bool joined;                 /* that was there before, and has the ring */
	bool tells;                  /* events go to it */
	int socket;
	struct vg_mark socket_mark;
	struct vg_file_marks file_marks;
	int lost;                    /* how the channel failed: nothing more can be said; or 0 */
	struct vg_outfile file;
	struct vg_stalls stalls;
	pthread_mutex_t mutex;       /* one question at a time on the socket */
};

/* 0, or why that is no session for this process. */
int vg_session_check(struct vgctl_session *session);

/* Asks with that message and, unless that is -1, a descriptor; waits for the answer, which takes its
 * place.  0 or the failure, which vgctl_strerror() knows. */
int vg_session_ask(struct vgctl_session *session, enum vg_wire_kind question, int fd,
		   enum vg_wire_kind answer_kind, struct vg_wire_message *message);

/* Frees a session that has ended, or that could not begin.  Closes its socket and removes files that were not
 * committed. */
void vg_session_free(struct vgctl_session *session);

/* Frees the copy of a session in a child of fork(2).  The parent's session, its helper and its files stay. */
void vg_session_forget(struct vgctl_session *session);

#endif
