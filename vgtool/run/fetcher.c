/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"

struct reply {
	int32_t rc;                  /* of vg_download() */
	struct vg_err err;
};

/* ---- the process ---- */

/* The signals of the terminal end the broker.  Its socket then hangs up, and this process removes an incomplete file.
 * SIGPIPE: libcurl's TLS libraries can cause it. */
static void signals_ignore(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		signal(numbers[i], SIG_IGN);
}

/* A reader of the command's output waits until no process has it open. */
static void standard_files_replace(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
}

/* libcurl 7.88 keeps all trailers of an answer, however many there are.  A download needs 20 MiB; its body goes to a
 * file. The stack of its thread counts as data, too.  So does the shadow memory of AddressSanitizer: a sanitized build
 * has no limit. */
static void memory_limit(void)
{
#if !defined __SANITIZE_ADDRESS__
	const struct rlimit limit = { 256 << 20, 256 << 20 };
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur > 64 << 20) {
		stack.rlim_cur = 64 << 20;
		setrlimit(RLIMIT_STACK, &stack);
	}
	setrlimit(RLIMIT_DATA, &limit);
#endif
}

static void __attribute__((noreturn)) process_run(int socket_fd)
{
	struct vg_downloader downloader;
	static struct vg_download_request request;
	struct vg_err open_err = { "" };
	int open_rc;

	signals_ignore();
	standard_files_replace();
	memory_limit();
	open_rc = vg_downloader_open(&downloader, socket_fd, &open_err);
	for (;;) {
		struct reply reply = { .rc = open_rc, .err = open_err };
		ssize_t bytes = recv(socket_fd, &request, sizeof request, 0);

		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes != (ssize_t)sizeof request)
			break;
		if (open_rc == 0)
			reply.rc = vg_download(&downloader, &request, &reply.err);
		if (send(socket_fd, &reply, sizeof reply, MSG_NOSIGNAL) < 0)
			break;
	}
	vg_downloader_close(&downloader);
	_exit(EXIT_SUCCESS);
}

/* ---- the broker ---- */

static int process_start(struct vg_fetcher *fetcher, int reader, struct vg_err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return vg_err_sys(err, -errno, "cannot create a socket");
	ends[0] = vg_descriptor_raise(ends[0]);
	ends[1] = vg_descriptor_raise(ends[1]);
	fetcher->pid = ends[0] >= 0 && ends[1] >= 0 ? fork() : -1;
	if (fetcher->pid == 0) {
		close(ends[0]);
		close(reader);
		process_run(ends[1]);
	}
	if (ends[1] >= 0)
		close(ends[1]);
	if (fetcher->pid < 0) {
		if (ends[0] >= 0)
			close(ends[0]);
		return vg_err_set(err, -EAGAIN, "cannot create a process");
	}
	fetcher->socket = ends[0];
	return 0;
}

/* Returns 0; -EPIPE: the reader has ended; -EIO: the process has ended. */
static int reply_receive(const struct vg_fetcher *fetcher, int reader, struct reply *reply)
{
	struct pollfd files[] = { { fetcher->socket, POLLIN, 0 }, { reader, 0, 0 } };

	while (poll(files, 2, -1) < 0) {
		if (errno != EINTR)
			return -EIO;
	}
	if (files[0].revents == 0)
		return -EPIPE;
	if (recv(fetcher->socket, reply, sizeof *reply, 0) != (ssize_t)sizeof *reply)
		return -EIO;
	reply->err.text[sizeof reply->err.text - 1] = '\0';
	return 0;
}

int vg_fetcher_get(struct vg_fetcher *fetcher, const struct vg_download_request *request, int reader,
		   struct vg_err *err)
{
	struct reply reply;
	int rc = fetcher->socket > 0 ? 0 : process_start(fetcher, reader, err);

	if (rc != 0)
		return rc;
	rc = send(fetcher->socket, request, sizeof *request, MSG_NOSIGNAL) == (ssize_t)sizeof *request ? 0 : -EIO;
	if (rc == 0)
		rc = reply_receive(fetcher, reader, &reply);
	if (rc != 0) {
		vg_fetcher_end(fetcher);
		return vg_err_set(err, rc, "the process that downloads files has ended");
	}
	return reply.rc == 0 ? 0 : vg_err_set(err, reply.rc, "%s", reply.err.text);
}

void vg_fetcher_end(struct vg_fetcher *fetcher)
{
	if (fetcher->socket > 0) {
		close(fetcher->socket);
		waitpid(fetcher->pid, NULL, WNOHANG);
	}
	*fetcher = (struct vg_fetcher){ 0 };
}
