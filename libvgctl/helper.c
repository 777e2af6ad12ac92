/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/err.h"
#include "libvgctl/channel.h"
#include "libvgctl/failure.h"
#include "libvgctl/spawn.h"

enum { SPAWN_TIMEOUT_MS = 200, REAP_TIMEOUT_US = 1000 * 1000, REAP_PAUSE_US = 50 };

/* Of /proc/PID/stat, proc_pid_stat(5). */
enum { STARTED_FIELD = 22 };

/* Who may trace this process. */
static struct vg_helper *latest;

int vg_helper_lost(int rc)
{
	switch (rc) {
	case -ECONNRESET:
		return vg_failure(rc, "the helper vignetted died; what it had written is kept");
	case -EPROTO:
		return vg_failure(rc, "the helper vignetted is of another version than libvgctl");
	case -ETIMEDOUT:
		return vg_failure(rc, "the helper vignetted does not answer and is ended; what it had written is kept");
	case -EBADF:
		return vg_failure(rc, "this program has closed the session's descriptors; what was "
				  "written is kept");
	default:
		return vg_failure(rc, "cannot speak with the helper vignetted: %s", vg_err_words(rc));
	}
}

int vg_answer_check(struct vg_wire_message *answer, enum vg_wire_kind kind)
{
	if (answer->kind == VG_WIRE_FAILED && answer->failure.code < 0) {
		answer->failure.text[VG_WIRE_TEXT_BYTES - 1] = '\0';
		return vg_failure(answer->failure.code, "%s", answer->failure.text);
	}
	return answer->kind == kind ? 0 : vg_helper_lost(-EPROTO);
}

static int helper_missing(const char *given)
{
	bool privileged = vg_spawn_is_privileged();

	if (given != NULL)
		return vg_failure(-ENOPKG, "cannot find the helper vignetted at %s%s", given,
				  privileged && *given != '/' ?
				  ": in a privileged program the path must be absolute" : "");
	return vg_failure(-ENOPKG, "cannot find the helper vignetted %s" VG_LIBEXECDIR "%s",
			  privileged ? "in " : "by $VIGNETTED, beside the library or the program, or in ",
			  privileged ? ": a privileged program looks nowhere else" : "");
}

struct vg_helper_program vg_helper_find(const char *given)
{
	struct vg_helper_program program = { given, NULL };

	vg_spawn_find(given, &program.path);
	return program;
}

/* Starts the helper, *pid; its end of the socket is closed here either way. */
static int helper_start(const struct vg_helper_program *program, int sockets[2], pid_t *pid)
{
	const char *path = program->path, *elsewhere = vg_spawn_elsewhere();
	int on = 1, rc = path != NULL ? 0 : helper_missing(program->given);

	if (rc == 0 && elsewhere != NULL)
		rc = vg_failure(-ENOTSUP, "children of this thread begin in another %s namespace, where the helper "
				"%s", elsewhere, *elsewhere == 'p' ? "could not see this process" : "would have another clock");
	if (rc == 0 && setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
		rc = vg_failure(-errno, "cannot connect to the helper: %s", vg_err_words(-errno));
	if (rc == 0) {
		/* The helper of a session that has ended takes a moment to be gone, and counts among the processes
		 * that there may be. */
		for (int ms = 0; (rc = vg_spawn(path, sockets[1], pid)) == -EAGAIN && ms < SPAWN_TIMEOUT_MS; ms++)
			usleep(1000);
		if (rc == -EAGAIN && sched_getscheduler(0) == SCHED_DEADLINE)
			rc = vg_failure(-ENOEXEC, "cannot start the helper %s: the calling thread has SCHED_DEADLINE, "
					"which without CAP_SYS_NICE may have no children", path);
		else if (rc != 0)
			rc = vg_failure(-ENOEXEC, "cannot start the helper %s: %s", path, vg_err_words(rc));
	}
	close(sockets[1]);
	return rc;
}

/* When that process began, in ticks since the machine did, or 0. */
static uint64_t started_of(pid_t pid)
{
	char path[32], text[1024], *at;
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, sizeof text - 1);
		close(fd);
	}
	text[got > 0 ? got : 0] = '\0';
	/* The name, the second field, may hold spaces and parentheses. */
	at = strrchr(text, ')');
	for (int field = 2; field < STARTED_FIELD && at != NULL; field++)
		at = strchr(at + 1, ' ');
	return at != NULL ? strtoull(at, NULL, 10) : 0;
}

void vg_helper_kill(const struct vg_helper *helper)
{
	int process;

	if (helper->started == 0)
		return;
	/* Opened first: if the helper has its pid afterwards, it had it then. */
	process = (int)syscall(SYS_pidfd_open, helper->pid, 0);
	if (process < 0)
		return;
	if (started_of(helper->pid) == helper->started)
		syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
	close(process);
}

/* The first word: who may trace us. */
static int greeting_take(int socket, struct vg_helper *known)
{
	struct vg_wire_message message = { 0 };
	pid_t helper;
	int off = 0, rc;

	rc = vg_channel_receive(socket, &message, NULL, &helper, VG_START_TIMEOUT_MS);
	if (rc == 0 && message.kind != VG_WIRE_HELLO)
		rc = -EPROTO;
	if (rc == -ECONNRESET)
		return vg_failure(rc, "the helper ended before it spoke: a library that it needs is not there, "
				  "it was killed, by a filter of system calls perhaps, or it is another "
				  "program");
	if (rc != 0)
		return vg_helper_lost(rc);
	/* Known once is enough, and the program may become another user later. */
	setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
	/* Where Yama restricts tracing to descendants, this lets the helper in: it is none.
	 * Fails where there is no Yama, which is as good. */
	prctl(PR_SET_PTRACER, (unsigned long)helper, 0, 0, 0);
	known->pid = helper;
	known->started = started_of(helper);
	/* In a container's first process, and in others that adopt orphans, the helper is a child
	 * after all. */
	if (waitpid(helper, NULL, WNOHANG) == 0)
		known->adopted = helper;
	return 0;
}

int vg_helper_pair(int *own, int *other)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
		return vg_failure(-errno, "cannot connect to the helper: %s", vg_err_words(-errno));
	*own = vg_descriptor_raise(sockets[0]);
	*other = sockets[1];
	if (*own >= 0)
		return 0;
	close(*other);
	return vg_failure(*own, NULL);
}

/* Waits for a child, or for those of a process group, as waitpid(2) has it.  The helper ends within moments of its
 * last message.  If it does not end, whoever waits for any child reaps it. */
static void adopted_reap(pid_t which)
{
	for (int us = 0; us < REAP_TIMEOUT_US; us += REAP_PAUSE_US) {
		pid_t ended = waitpid(which, NULL, WNOHANG);

		if (ended < 0 || (ended > 0 && which > 0))
			return;
		if (ended == 0)
			usleep(REAP_PAUSE_US);
	}
}

/* Kills a process that was started as the helper and does not behave as one.  It leads a process group, with all that it has started itself. */
static void stranger_end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(-pid, SIGKILL);
	adopted_reap(-pid);
}

int vg_helper_open(const struct vg_helper_program *program, int *socket, struct vg_helper **helper)
{
	int sockets[2] = { -1, -1 }, rc;
	pid_t pid = 0;

	*helper = calloc(1, sizeof **helper);
	if (*helper == NULL)
		return vg_failure(-ENOMEM, NULL);
	(*helper)->shares = 1;
	latest = *helper;
	rc = vg_helper_pair(&sockets[0], &sockets[1]);
	*socket = sockets[0];
	if (rc == 0)
		rc = helper_start(program, sockets, &pid);
	if (rc == 0)
		rc = greeting_take(*socket, *helper);
	if (rc != 0)
		stranger_end(pid);
	return rc;
}

void vg_helper_leave(struct vg_helper *helper)
{
	if (helper == NULL || --helper->shares > 0)
		return;
	if (helper->adopted > 0)
		adopted_reap(helper->adopted);
	if (helper == latest) {
		prctl(PR_SET_PTRACER, 0, 0, 0, 0);
		latest = NULL;
	}
	free(helper);
}
