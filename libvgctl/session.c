/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/session.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "libvgctl/channel.h"
#include "libvgctl/failure.h"
#include "libvgctl/helper.h"
#include "libvgctl/process.h"

/* The longest time until an answer: the helper writes all buffered data before it says that a session ended. */
enum { ANSWER_TIMEOUT_MS = 60 * 1000 };

int vg_session_check(struct vgctl_session *session)
{
	if (session == NULL)
		return vg_failure(-EINVAL, "there is no session");
	if (session->owner != vg_process_token())
		return vg_failure(-ECHILD, NULL);
	return 0;
}

/* Forgets the descriptors that the program has closed; whether there were any. */
static bool descriptors_lost(struct vgctl_session *session)
{
	int socket = vg_mark_check(session->socket, session->socket_mark);
	bool lost = socket != session->socket;

	session->socket = socket;
	return !vg_file_marks_check(&session->file, &session->file_marks) || lost;
}

int vg_session_ask(struct vgctl_session *session, enum vg_wire_kind question, int fd,
		   enum vg_wire_kind answer_kind, struct vg_wire_message *message)
{
	int cancel_state, rc;

	/* A thread that is cancelled must not leave the mutex locked, or half an answer. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&session->mutex);
	if (descriptors_lost(session))
		session->lost = -EBADF;
	if (session->lost == 0) {
		rc = vg_channel_send(session->socket, message, question, &fd, fd >= 0);
		/* After a failure to send there may still be something to read: a helper says
		 * why before it hangs up. */
		if (rc == 0 || rc == -ECONNRESET)
			rc = vg_channel_receive(session->socket, message, NULL, NULL,
						ANSWER_TIMEOUT_MS);
		if (rc == -ETIMEDOUT)
			vg_helper_kill(session->helper);
		session->lost = rc;
	}
	rc = session->lost;
	pthread_mutex_unlock(&session->mutex);
	pthread_setcancelstate(cancel_state, NULL);
	return rc != 0 ? vg_helper_lost(rc) : vg_answer_check(message, answer_kind);
}

void vg_session_free(struct vgctl_session *session)
{
	if (session->socket >= 0)
		close(session->socket);
	vg_helper_leave(session->helper);
	vg_stalls_close(&session->stalls);
	vg_outfile_abandon(&session->file);
	pthread_mutex_destroy(&session->mutex);
	free(session);
}

void vg_session_forget(struct vgctl_session *session)
{
	descriptors_lost(session);
	if (session->socket >= 0)
		close(session->socket);
	vg_outfile_forget(&session->file);
	vg_stalls_forget(&session->stalls);
	free(session);
}
