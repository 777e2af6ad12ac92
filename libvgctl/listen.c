/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/listen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libvgctl/channel.h"
#include "libvgctl/failure.h"
#include "libvgctl/lanes.h"
#include "libvgctl/mark.h"
#include "libvgctl/options.h"
#include "libvgctl/process.h"
#include "libvgctl/roster.h"
#include "libvgctl/vgctl.h"

/* The helper that listens.  A child made by fork(2) has none, whatever it has copied.  Used by who
 * holds the roster. */
static struct {
	uint64_t owner;              /* token of the process that it listens for, or 0 */
	struct vg_helper *helper;    /* a share */
	int socket;
	struct vg_mark mark;
} listening = { .socket = -1 };

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

static int listening_open(const char *directory, const struct vgctl_options *options,
			  const struct vg_helper_program *program)
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
	rc = vg_channel_send(listening.socket, &message, VG_WIRE_LISTEN, &ring, ring >= 0);
	if (rc == 0)
		rc = vg_channel_receive(listening.socket, &message, NULL, NULL, VG_START_TIMEOUT_MS);
	if (rc == -ETIMEDOUT)
		vg_helper_kill(listening.helper);
	if (rc != 0)
		return vg_helper_lost(rc);
	rc = vg_answer_check(&message, VG_WIRE_STARTED);
	if (rc != 0)
		return rc;
	listening.mark = vg_mark_of(listening.socket);
	listening.owner = vg_process_token();
	vg_process_at_unload(vgctl_unlisten);
	return 0;
}

static void listening_close(void)
{
	if (listening.socket >= 0)
		close(listening.socket);
	vg_helper_leave(listening.helper);
	listening.socket = -1;
	listening.owner = 0;
	listening.helper = NULL;
}

/* What a child of fork(2) has copied, or a program that closes all its descriptors has left. */
static void listening_check(void)
{
	if (listening.owner == 0)
		return;
	if (vg_mark_check(listening.socket, listening.mark) < 0)
		listening.socket = -1;
	if (listening.owner == vg_process_token() && listening.socket >= 0)
		return;
	/* The parent's share is not the child's to give back. */
	if (listening.owner != vg_process_token())
		listening.helper = NULL;
	listening_close();
}

int vgctl_listen(const char *directory, const struct vgctl_options *given)
{
	struct vg_helper_program program;
	struct vgctl_options options;
	struct vg_roster *roster;
	int cancel_state, rc = vg_options_check(given, &options);

	if (rc != 0)
		return rc;
	program = vg_helper_find(options.helper_path);
	roster = vg_roster_hold(&cancel_state);
	if (roster == NULL) {
		free(program.path);
		return vg_failure(-ENOMEM, NULL);
	}
	listening_check();
	if (roster->sessions != NULL)
		rc = vg_failure(-EALREADY, NULL);
	else if (listening.owner != 0)
		rc = vg_failure(-EALREADY, "the helper of this process listens already");
	else
		rc = listening_open(directory, &options, &program);
	if (rc != 0 && listening.owner == 0)
		listening_close();
	vg_roster_release(roster, cancel_state);
	free(program.path);
	return rc;
}

void vgctl_unlisten(void)
{
	int cancel_state;
	struct vg_roster *roster = vg_roster_hold(&cancel_state);

	if (roster == NULL)
		return;
	listening_check();
	if (listening.owner != 0)
		listening_close();
	vg_roster_release(roster, cancel_state);
}

/* The connection that is handed over is the helper's only once it says so. */
static int join(int *socket)
{
	struct vg_wire_message message = { 0 };
	int other, rc = vg_helper_pair(socket, &other);

	if (rc != 0)
		return rc;
	rc = vg_channel_send(listening.socket, &message, VG_WIRE_JOIN, &other, 1);
	if (rc == 0)
		rc = vg_channel_receive(listening.socket, &message, NULL, NULL, VG_START_TIMEOUT_MS);
	if (rc == -ETIMEDOUT)
		vg_helper_kill(listening.helper);
	close(other);
	return rc != 0 ? vg_helper_lost(rc) : vg_answer_check(&message, VG_WIRE_JOINED);
}

int vg_listening_join(int *socket, struct vg_helper **helper)
{
	int rc;

	listening_check();
	if (listening.owner == 0)
		return -ENOENT;
	rc = join(socket);
	/* A helper that died listens no more: the next one is started as if it never had. */
	if (rc == -ECONNRESET) {
		close(*socket);
		*socket = -1;
		listening_close();
		return -ENOENT;
	}
	*helper = listening.helper;
	listening.helper->shares++;
	return rc;
}
