/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgctl/helpers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "libvgctl/channel.h"

#define INVALID "the helper sent an invalid message; use vgctl and vignetted of the same version"

enum { ANSWER_TIMEOUT_MS = 60 * 1000 };

int vg_helpers_directory(const char *given, char *directory, size_t bytes, struct vg_err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int length;

	if (given == NULL && (runtime == NULL || *runtime != '/'))
		return vg_err_set(err, -ENOENT, "$XDG_RUNTIME_DIR is not set; use --directory");
	length = given != NULL ? snprintf(directory, bytes, "%s", given) :
				 snprintf(directory, bytes, "%s/vignette", runtime);
	return length >= 0 && (size_t)length < bytes ? 0 :
	       vg_err_set(err, -ENAMETOOLONG, "%s: path of more than %zu bytes", given != NULL ? given : runtime,
			  bytes - 1);
}

int vg_helpers_each(const char *directory, void (*visit)(pid_t pid, void *context), void *context,
		    struct vg_err *err)
{
	DIR *names = opendir(directory);
	struct dirent *entry;

	if (names == NULL)
		return errno == ENOENT ? 0 : vg_err_sys(err, -errno, "%s", directory);
	while ((entry = readdir(names)) != NULL) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (end != entry->d_name && strcmp(end, ".sock") == 0 && pid > 0 && pid <= INT32_MAX)
			visit((pid_t)pid, context);
	}
	closedir(names);
	return 0;
}

/* In a directory such as /tmp, any user can create a socket.  The process that listens gets our open files, so it must
 * belong to this user.  For root, it may belong to any user. */
static int peer_check(int socket, struct vg_err *err)
{
	struct ucred peer;
	socklen_t length = sizeof peer;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
		return vg_err_sys(err, -errno, "cannot read the user of the process that listens");
	return peer.uid == geteuid() || geteuid() == 0 ? 0 :
	       vg_err_set(err, -EPERM, "the process that listens belongs to another user");
}

/* Without a timeout, connect(2) waits for ever if the listening socket's queue of connections is full (unix(7)). */
static int socket_open(int accept_ms)
{
	const struct timeval timeout = { .tv_sec = accept_ms / 1000, .tv_usec = accept_ms % 1000 * 1000 };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
	return fd;
}

static int connect_failed(const char *directory, pid_t pid, int accept_ms, int error, struct vg_err *err)
{
	if (error == ENOENT || error == ECONNREFUSED)
		return vg_err_set(err, -ESRCH, "%s/%d.sock: no helper listens for process %d", directory, pid,
				  pid);
	if (error == EAGAIN)
		return vg_err_set(err, -ETIMEDOUT, "%s/%d.sock: the helper accepted no connection within %g seconds",
				  directory, pid, accept_ms / 1000.0);
	return vg_err_sys(err, -error, "%s/%d.sock", directory, pid);
}

int vg_helpers_connect(const char *directory, pid_t pid, int accept_ms, struct vg_err *err)
{
	int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, rc = 0;
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (at < 0)
		return errno == ENOENT ?
		       vg_err_set(err, -ESRCH, "%s: no such directory; no helper listens for process %d",
				  directory, pid) :
		       vg_err_sys(err, -errno, "%s", directory);
	/* Use a path in /proc, because sun_path has room for only 107 bytes: the path of a directory can be longer. */
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%d.sock", at, pid);
	fd = socket_open(accept_ms);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
		rc = connect_failed(directory, pid, accept_ms, errno, err);
	close(at);
	if (rc == 0)
		rc = peer_check(fd, err);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return rc;
}

int vg_helpers_send(int socket, struct vg_wire_message *message, enum vg_wire_kind request, const int *fds, size_t count,
		    struct vg_err *err)
{
	int rc = vg_channel_send(socket, message, request, fds, count);

	return rc == 0 ? 0 : vg_err_sys(err, rc, "cannot send to the helper");
}

int vg_helpers_answer(int socket, struct vg_wire_message *message, enum vg_wire_kind answer, int timeout_ms,
		      struct vg_err *err)
{
	int rc = vg_channel_receive(socket, message, NULL, NULL, timeout_ms);

	if (rc == -ECONNRESET)
		return vg_err_set(err, rc, "the helper closed the connection: it ended, it has too many "
				  "connections, or it belongs to another user");
	if (rc == -EPROTONOSUPPORT)
		return vg_err_set(err, -EPROTO, "vgctl is too old for this helper vignetted; use the vgctl of the "
				  "helper's version");
	if (rc == -EPROTO)
		return vg_err_set(err, rc, INVALID);
	if (rc != 0)
		return vg_err_sys(err, rc, "no answer from the helper");
	if (message->kind == VG_WIRE_FAILED && message->failure.code < 0) {
		message->failure.text[VG_WIRE_TEXT_BYTES - 1] = '\0';
		return vg_err_set(err, message->failure.code, "%s", message->failure.text);
	}
	return message->kind == answer ? 0 : vg_err_set(err, -EPROTO, INVALID);
}

int vg_helpers_ask(int socket, struct vg_wire_message *message, enum vg_wire_kind request,
		   const int *fds, size_t count, enum vg_wire_kind answer, struct vg_err *err)
{
	int rc = vg_helpers_send(socket, message, request, fds, count, err);

	return rc == 0 ? vg_helpers_answer(socket, message, answer, ANSWER_TIMEOUT_MS, err) : rc;
}
