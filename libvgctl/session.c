/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/session.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "libvgctl/channel.h"
#include "libvgctl/failure.h"
#include "libvgctl/helper.h"
#include "libvgctl/process.h"

/* The limit is high, because the helper writes all its data to the file before it answers END. */
enum { ANSWER_TIMEOUT_MS = 60 * 1000 };

int vg_session_check(struct vgctl_session *session)
{
	if (session == NULL)
		return vg_failure(-EINVAL, "the session is NULL");
	if (session->owner != vg_process_token())
		return vg_failure(-ECHILD, NULL);
	return 0;
}

/* If the program has closed descriptors of the session, sets them to -1 and returns true. */
static bool descriptors_lost(struct vgctl_session *session)
{
	int socket = vg_file_id_check(session->socket, session->socket_id);
	bool lost = socket != session->socket;

	session->socket = socket;
	return !vg_outfile_ids_check(&session->file, &session->file_ids) || lost;
}

int vg_session_ask(struct vgctl_session *session, enum vg_wire_kind request, int fd,
		   enum vg_wire_kind answer_kind, struct vg_wire_message *message)
{
	int cancel_state, rc;

	/* Cancellation here would leave the mutex locked or an answer unread. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&session->mutex);
	if (descriptors_lost(session))
		session->channel_error = -EBADF;
	if (session->channel_error == 0) {
		rc = vg_channel_send(session->socket, message, request, &fd, fd >= 0);
		/* Even if the other end is closed, receive: a helper sends the reason before it closes its end. */
		if (rc == 0 || rc == -ECONNRESET)
			rc = vg_channel_receive(session->socket, message, NULL, NULL,
						ANSWER_TIMEOUT_MS);
		if (rc == -ETIMEDOUT)
			vg_helper_kill(session->helper);
		session->channel_error = rc;
	}
	rc = session->channel_error;
	pthread_mutex_unlock(&session->mutex);
	pthread_setcancelstate(cancel_state, NULL);
	return rc != 0 ? vg_helper_failure(rc) : vg_answer_check(message, answer_kind);
}

void vg_session_free(struct vgctl_session *session)
{
	if (session->socket >= 0)
		close(session->socket);
	vg_helper_release(session->helper);
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
	vg_outfile_close_copy(&session->file);
	vg_stalls_forget(&session->stalls);
	free(session);
}
