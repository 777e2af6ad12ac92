/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/listen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "libvgctl/channel.h"
#include "libvgctl/failure.h"
#include "libvgctl/lanes.h"
#include "libvgctl/file_id.h"
#include "libvgctl/options.h"
#include "libvgctl/process.h"
#include "libvgctl/session_list.h"
#include "libvgctl/vgctl.h"

/* The helper completes the remote recordings before it exits.  The limit is low, because other threads that begin or
 * end a session wait too.  A killed helper exits soon. */
enum { UNLISTEN_TIMEOUT_MS = 5 * 1000, KILL_TIMEOUT_MS = 1000 };

/* The helper that listens.  Protected by the mutex of the session list.  A child of fork(2) has a copy, which is
 * invalid: `owner` is not the child's token. */
static struct {
	uint64_t owner;              /* vg_process_token() of the process that called vgctl_listen(); 0: no helper
	                                listens */
	struct vg_helper *helper;    /* a reference */
	int socket;                  /* owned; or -1 */
	struct vg_file_id socket_id;
} listening = { .socket = -1 };

/* Sets `directory` to the directory of the socket.  The default is in $XDG_RUNTIME_DIR, because that directory belongs
 * to the user and is emptied when the machine restarts. */
static int directory_find(const char *given, char *directory, size_t bytes)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int length;

	if (given != NULL && *given != '\0')
		length = snprintf(directory, bytes, "%s", given);
	else if (runtime != NULL && *runtime == '/')
		length = snprintf(directory, bytes, "%s/vignette", runtime);
	else
		return vg_failure(-ENOENT, "vgctl_listen: directory is NULL and $XDG_RUNTIME_DIR is not set; "
				  "pass a directory");
	if (length < 0 || (size_t)length >= bytes)
		return vg_failure(-ENAMETOOLONG, "vgctl_listen: the path of the directory has more than %zu bytes",
				  bytes - 1);
	return 0;
}

/* From now on events are recorded only for the program's own sessions. */
static void listening_close(bool helper_exited)
{
	vg_lanes_unlisten();
	vg_lanes_release(helper_exited);
	if (listening.socket >= 0)
		close(listening.socket);
	vg_helper_release(listening.helper);
	listening.socket = -1;
	listening.owner = 0;
	listening.helper = NULL;
}

/* Clears `listening` if it is the copy of a parent process, or if the program has closed the socket. */
static void listening_check(void)
{
	bool is_child;

	if (listening.owner == 0)
		return;
	if (vg_file_id_check(listening.socket, listening.socket_id) < 0)
		listening.socket = -1;
	if (listening.owner == vg_process_token() && listening.socket >= 0)
		return;
	/* In a child of fork(2) the reference belongs to the parent, and the parent's helper does not have the child's
	 * ring. */
	is_child = listening.owner != vg_process_token();
	if (is_child)
		listening.helper = NULL;
	listening_close(is_child);
}

/* Waits until the helper has exited, because the ring's pages are freed next.  Returns false if the helper was killed
 * because it did not exit or sent an invalid message. */
static bool helper_wait(void)
{
	uint64_t deadline_ns = vg_now_ns() + UNLISTEN_TIMEOUT_MS * UINT64_C(1000000);
	struct vg_wire_message message;
	int rc;

	shutdown(listening.socket, SHUT_WR);
	do
		rc = vg_channel_receive_until(listening.socket, &message, NULL, deadline_ns);
	while (rc == 0);
	if (rc == -ECONNRESET)
		return true;
	vg_helper_kill(listening.helper);
	vg_channel_receive(listening.socket, &message, NULL, NULL, KILL_TIMEOUT_MS);
	return false;
}

/* Stops listening.  With `waits`, the helper has completed the remote recordings when this returns, unless it continues
 * for other sessions.  Without, it completes them alone. */
static void listening_end(bool waits)
{
	int cancel_state;
	struct vg_session_list *list = vg_session_list_lock(&cancel_state);

	if (list == NULL)
		return;
	listening_check();
	if (listening.owner != 0)
		listening_close(waits && (list->sessions != NULL || helper_wait()));
	vg_session_list_unlock(list, cancel_state);
}

/* For dlclose(3), which must not wait. */
static void listening_abandon(void)
{
	listening_end(false);
}

static int listening_open(const char *directory, const struct vgctl_options *options,
			  const struct vg_helper_program *program)
{
	struct vg_wire_message message = { 0 };
	struct vg_wire_begin begin;
	int ring = vg_lanes_fd(), rc;

	rc = directory_find(directory, message.listen.directory, sizeof message.listen.directory);
	if (rc == 0)
		rc = vg_helper_open(program, &listening.socket, &listening.helper);
	if (rc != 0)
		return rc;
	vg_options_begin(options, &begin);
	memcpy(message.listen.begin, &begin, sizeof message.listen.begin);
	listening.helper->overwrite = begin.events_overwrite != 0;
	rc = vg_channel_send(listening.socket, &message, VG_WIRE_LISTEN, &ring, ring >= 0);
	if (rc == 0)
		rc = vg_channel_receive(listening.socket, &message, NULL, NULL, VG_START_TIMEOUT_MS);
	if (rc == -ETIMEDOUT)
		vg_helper_kill(listening.helper);
	rc = rc != 0 ? vg_helper_failure(rc) : vg_answer_check(&message, VG_WIRE_STARTED);
	if (rc != 0)
		return rc;
	if (ring >= 0 && message.started.events != 0)
		vg_lanes_listen(listening.helper->overwrite);
	listening.socket_id = vg_file_id_of(listening.socket);
	listening.owner = vg_process_token();
	vg_process_at_unload(listening_abandon);
	return 0;
}

int vgctl_listen(const char *directory, const struct vgctl_options *given)
{
	struct vg_helper_program program;
	struct vgctl_options options;
	struct vg_session_list *list;
	int cancel_state, rc = vg_options_check(given, &options);

	if (rc != 0)
		return rc;
	program = vg_helper_find(options.helper_path);
	list = vg_session_list_lock(&cancel_state);
	if (list == NULL) {
		free(program.path);
		return vg_failure(-ENOMEM, NULL);
	}
	listening_check();
	if (list->sessions != NULL)
		rc = vg_failure(-EALREADY, "vgctl_listen: this process has a session; listen before it begins one");
	else if (listening.owner != 0)
		rc = vg_failure(-EALREADY, "vgctl_listen: the helper of this process listens already");
	else
		rc = listening_open(directory, &options, &program);
	if (rc != 0 && listening.owner == 0)
		listening_close(rc != -ETIMEDOUT && rc != -EPROTO);
	vg_session_list_unlock(list, cancel_state);
	free(program.path);
	return rc;
}

void vgctl_unlisten(void)
{
	listening_end(true);
}

/* Passes one end of a new connection to the helper. */
static int join(int *socket)
{
	struct vg_wire_message message = { 0 };
	int other, rc = vg_helper_socket_pair(socket, &other);

	if (rc != 0)
		return rc;
	rc = vg_channel_send(listening.socket, &message, VG_WIRE_JOIN, &other, 1);
	if (rc == 0)
		rc = vg_channel_receive(listening.socket, &message, NULL, NULL, VG_START_TIMEOUT_MS);
	if (rc == -ETIMEDOUT)
		vg_helper_kill(listening.helper);
	close(other);
	return rc != 0 ? vg_helper_failure(rc) : vg_answer_check(&message, VG_WIRE_JOINED);
}

int vg_listening_connect(int *socket, struct vg_helper **helper)
{
	int rc;

	listening_check();
	if (listening.owner == 0)
		return -ENOENT;
	rc = join(socket);
	/* The helper has died.  The caller starts another helper, which does not listen. */
	if (rc == -ECONNRESET) {
		close(*socket);
		*socket = -1;
		listening_close(true);
		return -ENOENT;
	}
	*helper = listening.helper;
	listening.helper->references++;
	return rc;
}
