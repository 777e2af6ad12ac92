/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/listener.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 8, STALE_MAX = 1024 };

/* The finisher of a killed helper removes its socket within a millisecond, on an idle machine. */
enum { REMOVAL_TRIES = 10000, REMOVAL_PAUSE_US = 1000 };

/* An address that goes through the directory's descriptor, for two reasons.  A socket address has only 107 bytes
 * for a path.  And if somebody replaces the directory, the address still means the directory that was checked. */
static struct sockaddr_un address_of(int directory, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%.32s", directory, name);
	return address;
}

static bool is_socket_name(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return digits > 0 && digits < 11 && strcmp(name + digits, ".sock") == 0;
}

/* Whether nobody listens on the socket, because its helper and the finisher were killed. */
static bool is_stale(int directory, const char *name)
{
	const struct sockaddr_un address = address_of(directory, name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool stale;

	if (fd < 0)
		return false;
	stale = connect(fd, (const struct sockaddr *)&address, sizeof address) != 0 && errno == ECONNREFUSED;
	close(fd);
	return stale;
}

static void stale_remove(int directory)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;

	if (names == NULL) {
		if (copy >= 0)
			close(copy);
		return;
	}
	for (int i = 0; i < STALE_MAX && (entry = readdir(names)) != NULL; i++) {
		if (is_socket_name(entry->d_name) && is_stale(directory, entry->d_name))
			unlinkat(directory, entry->d_name, 0);
	}
	closedir(names);
}

static int directory_open(const char *path, struct vg_err *err)
{
	struct stat status;
	int fd;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return vg_err_sys(err, -errno, "%s: cannot create this directory", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return vg_err_sys(err, -errno, "%s: cannot open this directory", path);
	if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0)
		return fd;
	close(fd);
	return vg_err_set(err, -EPERM, "%s: belongs to another user, or its mode is not 0700", path);
}

/* The name may be that of the process's earlier helper, which was killed.  Then its finisher removes it.  Returns 0, or
 * -1 and errno. */
static int name_bind(int fd, const struct sockaddr_un *address)
{
	int rc, tries = 0;

	while ((rc = bind(fd, (const struct sockaddr *)address, sizeof *address)) != 0 && errno == EADDRINUSE &&
	       tries++ < REMOVAL_TRIES)
		usleep(REMOVAL_PAUSE_US);
	return rc;
}

/* The finisher's action: removes the socket, also if the helper was killed. */
static int socket_remove(void *context, enum vg_finish action, struct vg_err *err)
{
	const struct vg_listener *listener = context;

	(void)action;
	return unlinkat(listener->directory, listener->name, 0) == 0 ? 0 :
	       vg_err_sys(err, -errno, "%s: cannot remove this socket", listener->name);
}

int vg_listener_open(struct vg_listener *listener, const char *directory, pid_t pid,
		     struct vg_err *err)
{
	struct sockaddr_un address;
	mode_t mask;
	int rc = 0;

	*listener = (struct vg_listener)VG_LISTENER_CLOSED;
	listener->directory = directory_open(directory, err);
	if (listener->directory < 0)
		return listener->directory;
	stale_remove(listener->directory);
	snprintf(listener->name, sizeof listener->name, "%d.sock", pid);
	address = address_of(listener->directory, listener->name);
	listener->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mask = umask(0177);
	/* Leave the working directory before the finisher is started, so that the host can unmount its file system. */
	if (listener->socket < 0 || chdir("/") != 0 ||
	    name_bind(listener->socket, &address) != 0 || listen(listener->socket, BACKLOG) != 0)
		rc = vg_err_sys(err, -errno, "%s/%s: cannot listen on this socket", directory, listener->name);
	umask(mask);
	if (rc == 0) {
		rc = vg_finisher_start(&listener->finisher, socket_remove, listener, err);
		if (rc == 0)
			return 0;
		unlinkat(listener->directory, listener->name, 0);
	}
	vg_listener_close(listener);
	return rc;
}

int vg_listener_accept(const struct vg_listener *listener)
{
	struct ucred peer;
	socklen_t length = sizeof peer;
	int fd = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return -errno;
	/* Root is accepted, because root can do the same without us. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	    (peer.uid == geteuid() || peer.uid == 0))
		return fd;
	close(fd);
	return -EPERM;
}

void vg_listener_close(struct vg_listener *listener)
{
	vg_finisher_ask(&listener->finisher, VG_FINISH_DROP, NULL);
	if (listener->socket >= 0)
		close(listener->socket);
	if (listener->directory >= 0)
		close(listener->directory);
	*listener = (struct vg_listener)VG_LISTENER_CLOSED;
}
