/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/listen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libvgctl/channel.h"
#include "libvgctl/failure.h"
#include "libvgctl/lanes.h"
#include "libvgctl/file_id.h"
#include "libvgctl/options.h"
#include "libvgctl/process.h"
#include "libvgctl/session_list.h"
#include "libvgctl/vgctl.h"

/* A helper completes the remote recordings before it closes its end of the socket.  A killed helper's child closes it
 * soon. */
enum { UNLISTEN_TIMEOUT_MS = 60 * 1000, KILL_TIMEOUT_MS = 1000 };

/* The helper that listens.  Protected by the mutex of the session list.  A child of fork(2) has a copy, which is
 * invalid: `owner` is not the child's token. */
static struct {
	uint64_t owner;              /* vg_process_token() of the process that called vgctl_listen(); 0: no helper
	                                listens */
	struct vg_helper *helper;    /* a reference */
	bool sets_recording;         /* the helper sets vgctl_recording for remote recordings, and closes its end of the
	                                socket when it does so no more */
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

/* Events are recorded only for the program's own sessions from now on.  helper_exited: the helper does not use the ring
 * any more, unless the program has a session. */
static void events_unlisten(const struct vg_session_list *list, bool helper_exited)
{
	vg_lanes_unlisten();
	if (vg_session_list_records_events(list, NULL))
		return;
	vg_lanes_stop();
	vg_lanes_release(helper_exited);
}

static int listening_open(const struct vg_session_list *list, const char *directory,
			  const struct vgctl_options *options, const struct vg_helper_program *program)
{
	struct vg_wire_message message = { 0 };
	int ring = vg_lanes_fd(), rc;

	rc = directory_find(directory, message.listen.directory, sizeof message.listen.directory);
	if (rc == 0)
		rc = vg_helper_open(program, &listening.socket, &listening.helper);
	if (rc != 0)
		return rc;
	vg_options_begin(options, &message.listen.begin);
	listening.helper->overwrite = message.listen.begin.events_overwrite != 0;
	message.listen.recording_address = ring >= 0 ? (uintptr_t)&vgctl_recording : 0;
	/* Before the helper listens: it may set vgctl_recording at once. */
	vg_lanes_listen(listening.helper->overwrite);
	rc = vg_channel_send(listening.socket, &message, VG_WIRE_LISTEN, &ring, ring >= 0);
	if (rc == 0)
		rc = vg_channel_receive(listening.socket, &message, NULL, NULL, VG_START_TIMEOUT_MS);
	if (rc == -ETIMEDOUT)
		vg_helper_kill(listening.helper);
	rc = rc != 0 ? vg_helper_failure(rc) : vg_answer_check(&message, VG_WIRE_STARTED);
	listening.sets_recording = rc == 0 && message.started.sets_recording != 0;
	if (!listening.sets_recording)
		events_unlisten(list, rc != -ETIMEDOUT);
	if (rc != 0)
		return rc;
	listening.socket_id = vg_file_id_of(listening.socket);
	listening.owner = vg_process_token();
	vg_process_at_unload(vgctl_unlisten);
	return 0;
}

static void listening_close(void)
{
	if (listening.socket >= 0)
		close(listening.socket);
	vg_helper_release(listening.helper);
	listening.socket = -1;
	listening.owner = 0;
	listening.helper = NULL;
}

/* Waits until the helper does not set vgctl_recording any more: the library may be unloaded next.  Returns false if the
 * helper was killed because it did not answer. */
static bool helper_unlisten(void)
{
	struct vg_wire_message message;
	int rc;

	shutdown(listening.socket, SHUT_WR);
	do
		rc = vg_channel_receive(listening.socket, &message, NULL, NULL, UNLISTEN_TIMEOUT_MS);
	while (rc == 0);
	if (rc != -ETIMEDOUT)
		return true;
	vg_helper_kill(listening.helper);
	vg_channel_receive(listening.socket, &message, NULL, NULL, KILL_TIMEOUT_MS);
	return false;
}

/* Clears `listening` if it is the copy of a parent process, or if the program has closed the socket. */
static void listening_check(const struct vg_session_list *list)
{
	if (listening.owner == 0)
		return;
	if (vg_file_id_check(listening.socket, listening.socket_id) < 0)
		listening.socket = -1;
	if (listening.owner == vg_process_token() && listening.socket >= 0)
		return;
	/* In a child of fork(2) the reference belongs to the parent. */
	if (listening.owner != vg_process_token())
		listening.helper = NULL;
	else
		events_unlisten(list, false);
	listening_close();
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
	listening_check(list);
	if (list->sessions != NULL)
		rc = vg_failure(-EALREADY, "vgctl_listen: this process has a session; listen before it begins one");
	else if (listening.owner != 0)
		rc = vg_failure(-EALREADY, "vgctl_listen: the helper of this process listens already");
	else
		rc = listening_open(list, directory, &options, &program);
	if (rc != 0 && listening.owner == 0)
		listening_close();
	vg_session_list_unlock(list, cancel_state);
	free(program.path);
	return rc;
}

void vgctl_unlisten(void)
{
	int cancel_state;
	struct vg_session_list *list = vg_session_list_lock(&cancel_state);

	if (list == NULL)
		return;
	listening_check(list);
	if (listening.owner != 0) {
		if (listening.sets_recording)
			events_unlisten(list, helper_unlisten());
		listening_close();
	}
	vg_session_list_unlock(list, cancel_state);
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

int vg_listening_connect(const struct vg_session_list *list, int *socket, struct vg_helper **helper)
{
	int rc;

	listening_check(list);
	if (listening.owner == 0)
		return -ENOENT;
	rc = join(socket);
	/* The helper has died.  The caller starts another helper, which does not listen. */
	if (rc == -ECONNRESET) {
		close(*socket);
		*socket = -1;
		if (listening.sets_recording)
			events_unlisten(list, true);
		listening_close();
		return -ENOENT;
	}
	*helper = listening.helper;
	listening.helper->references++;
	return rc;
}
