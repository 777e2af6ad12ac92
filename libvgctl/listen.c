/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/vgctl.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/outfile.h"
#include "libvgctl/channel.h"
#include "libvgctl/failure.h"
#include "libvgctl/helper.h"
#include "libvgctl/lanes.h"
#include "libvgctl/mark.h"

/* The helper that listens.  A child made by fork(2) has none, whatever it has copied. */
static struct {
	pthread_mutex_t mutex;
	pid_t owner;                 /* the process that it listens for, or 0 */
	pid_t adopted;               /* the helper, if it became this process's child, or 0 */
	int socket;
	struct vg_mark mark;
} listening = { .mutex = PTHREAD_MUTEX_INITIALIZER, .socket = -1 };

/* A thread that is cancelled must not leave the mutex locked. */
static int listening_lock(void)
{
	int cancel_state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&listening.mutex);
	return cancel_state;
}

static void listening_unlock(int cancel_state)
{
	pthread_mutex_unlock(&listening.mutex);
	pthread_setcancelstate(cancel_state, NULL);
}

/* Where sockets are, if the program does not say: of the user's own, and gone after a restart. */
static int directory_find(const char *given, char *directory, size_t bytes)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int length;

	if (given != NULL && *given != '\0')
		length = snprintf(directory, bytes, "%s", given);
	else if (runtime != NULL && *runtime == '/')
		length = snprintf(directory, bytes, "%s/vignette", runtime);
	else
		return vg_failure(-ENOENT, "vgctl_listen: there is no $XDG_RUNTIME_DIR, and no directory "
				  "is given");
	if (length < 0 || (size_t)length >= bytes)
		return vg_failure(-ENAMETOOLONG, "vgctl_listen: the directory's path is longer than %zu",
				  bytes - 1);
	return 0;
}

static int listening_open(const char *directory, const struct vgctl_options *options)
{
	struct vg_wire_message message = { 0 };
	int ring = vg_lanes_fd(), rc;

	rc = directory_find(directory, message.listen.directory, sizeof message.listen.directory);
	if (rc == 0)
		rc = vg_helper_open(options->helper_path, &listening.socket, &listening.adopted);
	if (rc != 0)
		return rc;
	vg_options_begin(options, &message.listen.begin);
	rc = vg_channel_send(listening.socket, &message, VG_WIRE_LISTEN, &ring, ring >= 0);
	if (rc == 0)
		rc = vg_channel_receive(listening.socket, &message, NULL, NULL, VG_START_TIMEOUT_MS);
	if (rc != 0)
		return vg_helper_lost(rc);
	rc = vg_answer_check(&message, VG_WIRE_STARTED);
	if (rc != 0)
		return rc;
	listening.mark = vg_mark_of(listening.socket);
	listening.owner = getpid();
	return 0;
}

static void listening_close(void)
{
	if (listening.socket >= 0)
		close(listening.socket);
	vg_helper_leave(listening.adopted);
	listening.socket = -1;
	listening.owner = listening.adopted = 0;
}

/* What a child of fork(2) has copied, or a program that closes all its descriptors has left. */
static void listening_check(void)
{
	if (listening.owner == 0)
		return;
	if (vg_mark_check(listening.socket, listening.mark) < 0)
		listening.socket = -1;
	else if (listening.owner != getpid())
		close(listening.socket);
	else
		return;
	listening.socket = -1;
	listening.owner = listening.adopted = 0;
}

int vgctl_listen(const char *directory, const struct vgctl_options *given)
{
	struct vgctl_options options;
	int cancel_state, rc = vg_options_check(given, &options);

	if (rc != 0)
		return rc;
	if (!vg_session_claim())
		return vg_failure(-EALREADY, NULL);
	cancel_state = listening_lock();
	listening_check();
	if (listening.owner != 0)
		rc = vg_failure(-EALREADY, "the helper of this process listens already");
	else
		rc = listening_open(directory, &options);
	if (rc != 0 && listening.owner == 0)
		listening_close();
	listening_unlock(cancel_state);
	vg_session_unclaim();
	return rc;
}

void vgctl_unlisten(void)
{
	int cancel_state = listening_lock();

	listening_check();
	if (listening.owner != 0)
		listening_close();
	listening_unlock(cancel_state);
}

/* The connection that is handed over is the helper's only once it says so. */
static int join(int *socket)
{
	struct vg_wire_message message = { 0 };
	int sockets[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
		return vg_failure(-errno, "cannot connect to the helper: %s", strerrordesc_np(errno));
	rc = vg_channel_send(listening.socket, &message, VG_WIRE_JOIN, &sockets[1], 1);
	if (rc == 0)
		rc = vg_channel_receive(listening.socket, &message, NULL, NULL, VG_START_TIMEOUT_MS);
	close(sockets[1]);
	rc = rc != 0 ? vg_helper_lost(rc) : vg_answer_check(&message, VG_WIRE_JOINED);
	*socket = vg_descriptor_raise(sockets[0]);
	return rc != 0 || *socket >= 0 ? rc : vg_failure(*socket, NULL);
}

int vg_listening_join(int *socket)
{
	int cancel_state = listening_lock(), rc = -ENOENT;

	listening_check();
	if (listening.owner != 0)
		rc = join(socket);
	/* A helper that died listens no more: the next one is started as if it never had. */
	if (rc == -ECONNRESET) {
		if (*socket >= 0)
			close(*socket);
		*socket = -1;
		listening_close();
		rc = -ENOENT;
	}
	listening_unlock(cancel_state);
	return rc;
}
