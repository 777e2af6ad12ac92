/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/roster.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "libvgctl/helper.h"
#include "libvgctl/lanes.h"
#include "libvgctl/process.h"
#include "libvgctl/session.h"

struct vg_roster *vg_roster_hold(int *cancel_state)
{
	struct vg_process *process = vg_process();

	if (process == NULL)
		return NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel_state);
	pthread_mutex_lock(&process->roster.mutex);
	return &process->roster;
}

void vg_roster_release(struct vg_roster *roster, int cancel_state)
{
	pthread_mutex_unlock(&roster->mutex);
	pthread_setcancelstate(cancel_state, NULL);
}

void vg_roster_add(struct vg_roster *roster, struct vgctl_session *session)
{
	session->next = roster->sessions;
	roster->sessions = session;
}

void vg_roster_remove(struct vg_roster *roster, struct vgctl_session *session)
{
	struct vgctl_session **at = &roster->sessions;

	while (*at != NULL && *at != session)
		at = &(*at)->next;
	if (*at != NULL)
		*at = session->next;
}

static int join_by(struct vgctl_session *session, int *socket)
{
	struct vg_wire_message message = { 0 };
	int other, rc = vg_helper_pair(socket, &other);

	if (rc != 0)
		return rc;
	rc = vg_session_ask(session, VG_WIRE_JOIN, other, VG_WIRE_JOINED, &message);
	close(other);
	return rc;
}

int vg_roster_join(struct vg_roster *roster, int *socket, struct vgctl_session **beside)
{
	struct vgctl_session *session;
	bool lingers = false;
	int rc;

	for (session = roster->sessions; session != NULL; session = session->next) {
		rc = join_by(session, socket);
		*beside = session;
		/* One whose helper is gone is listed until it is ended. */
		if (rc != -ECONNRESET && rc != -EBADF)
			return rc;
		if (*socket >= 0)
			close(*socket);
		*socket = -1;
		lingers |= rc == -EBADF;
	}
	/* A helper whose sockets the program has closed may have a moment yet, and is not to meet the
	 * next one in the ring. */
	if (lingers) {
		vg_lanes_stop();
		vg_lanes_rest(false);
	}
	return -ENOENT;
}
