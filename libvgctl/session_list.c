/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/session_list.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "libvgctl/helper.h"
#include "libvgctl/lanes.h"
#include "libvgctl/process.h"
#include "libvgctl/session.h"

struct vg_session_list *vg_session_list_lock(int *cancel_state)
{
	struct vg_process *process = vg_process();

	if (process == NULL)
		return NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel_state);
	pthread_mutex_lock(&process->session_list.mutex);
	return &process->session_list;
}

void vg_session_list_unlock(struct vg_session_list *list, int cancel_state)
{
	pthread_mutex_unlock(&list->mutex);
	pthread_setcancelstate(cancel_state, NULL);
}

void vg_session_list_add(struct vg_session_list *list, struct vgctl_session *session)
{
	session->next = list->sessions;
	list->sessions = session;
}

void vg_session_list_remove(struct vg_session_list *list, struct vgctl_session *session)
{
	struct vgctl_session **at = &list->sessions;

	while (*at != NULL && *at != session)
		at = &(*at)->next;
	if (*at != NULL)
		*at = session->next;
}

bool vg_session_list_records_events(const struct vg_session_list *list, const struct vgctl_session *except)
{
	const struct vgctl_session *session = list->sessions;

	while (session != NULL && (session == except || !session->records_events))
		session = session->next;
	return session != NULL;
}

/* Connects a new session to the helper of `session`. */
static int helper_join(struct vgctl_session *session, int *socket)
{
	struct vg_wire_message message = { 0 };
	int other, rc = vg_helper_socket_pair(socket, &other);

	if (rc != 0)
		return rc;
	rc = vg_session_ask(session, VG_WIRE_JOIN, other, VG_WIRE_JOINED, &message);
	close(other);
	return rc;
}

int vg_session_list_connect(struct vg_session_list *list, int *socket, struct vgctl_session **existing)
{
	struct vgctl_session *session;
	bool helper_may_run = false;
	int rc;

	for (session = list->sessions; session != NULL; session = session->next) {
		rc = helper_join(session, socket);
		*existing = session;
		/* A session whose helper has died stays in the list until vgctl_end(). */
		if (rc != -ECONNRESET && rc != -EBADF)
			return rc;
		if (*socket >= 0)
			close(*socket);
		*socket = -1;
		helper_may_run |= rc == -EBADF;
	}
	/* If the program has closed the socket, the helper may still run and use the ring.  The next helper gets a new
	 * ring. */
	if (helper_may_run) {
		vg_lanes_stop();
		vg_lanes_release(false);
	}
	return -ENOENT;
}
