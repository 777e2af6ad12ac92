/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/top_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "vgtool/run/child.h"

/* The pipe of the profile keeps what vignetted writes while the reader reads symbols.  This is the kernel's limit for
 * users, unless it was changed. */
enum { PROFILE_PIPE_BYTES = 1 << 20 };

static int pipe_open(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	ends[0] = vg_descriptor_raise(ends[0]);
	ends[1] = vg_descriptor_raise(ends[1]);
	return ends[0] < 0 ? ends[0] : ends[1] < 0 ? ends[1] : 0;
}

static void close_both(const int ends[2])
{
	for (int i = 0; i < 2; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
	}
}

/* Runs in a child. */
static void child_prepare(void *context)
{
	const struct vg_top_run *run = context;

	setpgid(0, 0);
	for (int i = 0; i < 3; i++) {
		if (run->standard[i] >= 0 && dup2(run->standard[i], i) < 0)
			_exit(EXIT_FAILURE);
	}
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &run->mask, NULL);
}

/* Modules that the process has loaded since the latest request have symbols, too. */
static void offers_refresh(void *context, struct vg_broker *broker)
{
	struct vg_top_run *run = context;

	vg_mappings_read(&run->mappings, run->pid);
	broker->offers = run->mappings.offers.items;
	broker->offer_count = run->mappings.offers.count;
}

static int helper_start(struct vg_top_run *run, const int profile[2], const int messages[2], struct vg_err *err)
{
	run->standard[0] = -1;
	run->standard[1] = profile[1];
	run->standard[2] = messages[1];
	run->helper.prepare = child_prepare;
	run->helper.context = run;
	return vg_vignetted_start(&run->helper, run->arguments, err);
}

/* The reader may be taken over by the profile.  So it gets no terminal, and no descriptor of this process. */
static void __attribute__((noreturn)) reader_execute(struct vg_top_run *run, const int requests[2],
						     const int replies[2], const int messages[2])
{
	struct vg_top_reader reader = run->reader;
	int status;

	run->standard[0] = requests[0];
	run->standard[1] = replies[1];
	run->standard[2] = messages[1];
	child_prepare(run);
	close_both(requests);
	close_both(replies);
	close_both(messages);
	close(run->helper.status_fd);
	close_both(run->caller_fds);
	reader.profile = run->profile_fd;
	reader.symbolize->broker = (struct vg_broker){ .refresh = offers_refresh, .context = run };
	status = vg_top_reader_run(&reader);
	_exit(status);
}

static int children_start(struct vg_top_run *run, int profile[2], int requests[2], int replies[2], int messages[2],
			  struct vg_err *err)
{
	int rc = helper_start(run, profile, messages, err);

	if (rc != 0)
		return rc;
	/* The reader must see the end of the profile when vignetted ends. */
	close(profile[1]);
	profile[1] = -1;
	run->profile_fd = profile[0];
	run->reader_pid = vg_child_fork();
	if (run->reader_pid == 0)
		reader_execute(run, requests, replies, messages);
	if (run->reader_pid > 0)
		return 0;
	rc = vg_err_sys(err, -errno, "cannot create a process");
	kill(run->helper.pid, SIGTERM);
	close(run->helper.status_fd);
	vg_child_wait(run->helper.pid);
	return rc;
}

int vg_top_run_start(struct vg_top_run *run, struct vg_err *err)
{
	int profile[2] = { -1, -1 }, requests[2] = { -1, -1 }, replies[2] = { -1, -1 }, messages[2] = { -1, -1 };
	int rc = pipe_open(profile);

	if (rc == 0)
		rc = pipe_open(requests);
	if (rc == 0)
		rc = pipe_open(replies);
	if (rc == 0)
		rc = pipe_open(messages);
	if (rc != 0)
		vg_err_sys(err, rc, "cannot create a pipe");
	if (rc == 0) {
		fcntl(profile[1], F_SETPIPE_SZ, PROFILE_PIPE_BYTES);
		rc = children_start(run, profile, requests, replies, messages, err);
	}
	close_both(profile);
	if (rc != 0) {
		close_both(requests);
		close_both(replies);
		close_both(messages);
		return rc;
	}
	close(requests[0]);
	close(replies[1]);
	close(messages[1]);
	run->request_fd = requests[1];
	run->reply_fd = replies[0];
	run->message_fd = messages[0];
	return 0;
}

void vg_top_run_request(const struct vg_top_run *run, const struct vg_top_request *request)
{
	/* The end of the reader is seen at reply_fd. */
	vg_write_all(run->request_fd, request, sizeof *request);
}

int vg_top_run_stop(struct vg_top_run *run, struct vg_err *err)
{
	int rc;

	/* The reader ends after vignetted, which may still write into the pipe. */
	kill(run->helper.pid, SIGTERM);
	rc = vg_vignetted_wait(&run->helper, run->arguments[0], err);
	close(run->helper.status_fd);
	close(run->request_fd);
	close(run->reply_fd);
	/* It may be reading the symbols of a large program. */
	kill(run->reader_pid, SIGTERM);
	run->reader_status = vg_child_wait(run->reader_pid);
	return rc;
}
