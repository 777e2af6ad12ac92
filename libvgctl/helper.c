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

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/err.h"
#include "libvgctl/channel.h"
#include "libvgctl/failure.h"
#include "libvgctl/spawn.h"

enum { SPAWN_TIMEOUT_MS = 200, REAP_TIMEOUT_US = 1000 * 1000, REAP_PAUSE_US = 50 };

/* Field number in /proc/PID/stat, see proc_pid_stat(5). */
enum { START_TICKS_FIELD = 22 };

#define LIBRARY_TOO_OLD "libvgctl is too old for this helper vignetted; use a libvgctl of the helper's version"

/* What a helper that cannot start prints is received in parts of one write(2) each.  After the first part it has little
 * time left: either its dynamic linker has failed, or its HELLO follows soon. */
enum { PRINTED_BYTES = 256, PRINTED_PARTS = 16, PRINTED_TIMEOUT_MS = 1000 };

#define MS_NS UINT64_C(1000000)

/* The helper that PR_SET_PTRACER permits to trace this process. */
static struct vg_helper *tracer;

const char *vg_helper_filter_hint(int code)
{
	bool may_be_filtered = code == -ECONNRESET || code == -EPERM || code == -EACCES || code == -ENOSYS;

	return may_be_filtered && prctl(PR_GET_SECCOMP) == 2 /* SECCOMP_MODE_FILTER */ ?
	       "; this program has a seccomp filter, which may forbid a system call that the helper needs" : "";
}

int vg_helper_failure(int rc)
{
	switch (rc) {
	case -ECONNRESET:
		return vg_failure(rc, "the helper vignetted died; what it had written is kept%s",
				  vg_helper_filter_hint(rc));
	case -EPROTO:
		return vg_failure(rc, "the helper vignetted sent an invalid message; use libvgctl and vignetted of "
				  "the same version");
	case -EPROTONOSUPPORT:
		return vg_failure(-EPROTO, LIBRARY_TOO_OLD);
	case -ETIMEDOUT:
		return vg_failure(rc, "the helper vignetted did not answer and was killed; what it had "
				  "written is kept");
	case -EBADF:
		return vg_failure(rc, "this program has closed the session's descriptors; what was "
				  "written is kept");
	default:
		return vg_failure(rc, "cannot send to or receive from the helper vignetted (sendmsg, poll, recvmsg): "
				  "%s", vg_errno_text(rc));
	}
}

int vg_answer_check(struct vg_wire_message *answer, enum vg_wire_kind kind)
{
	if (answer->kind == VG_WIRE_FAILED && answer->failure.code < 0) {
		answer->failure.text[VG_WIRE_TEXT_BYTES - 1] = '\0';
		return vg_failure(answer->failure.code, "%s", answer->failure.text);
	}
	return answer->kind == kind ? 0 : vg_helper_failure(-EPROTO);
}

static int helper_missing(const char *given)
{
	bool privileged = vg_spawn_is_privileged();

	if (given != NULL)
		return vg_failure(-ENOPKG, "helper_path: %s is not an executable file%s", given,
				  privileged && *given != '/' ?
				  "; a privileged program needs an absolute path" : "");
	return vg_failure(-ENOPKG, "cannot find the helper vignetted%s" VG_LIBEXECDIR,
			  privileged ? "; a privileged program searches only " :
			  "; searched $VIGNETTED, the directories of the library and of the program, and ");
}

struct vg_helper_program vg_helper_find(const char *given)
{
	struct vg_helper_program program = { given, NULL };

	vg_spawn_find(given, &program.path);
	return program;
}

/* Starts the helper and sets *pid.  Always closes sockets[1], the end of the socket that the helper inherits. */
static int helper_start(const struct vg_helper_program *program, int sockets[2], pid_t *pid)
{
	const char *path = program->path, *namespace_kind = vg_spawn_other_namespace(), *call;
	int on = 1, rc = path != NULL ? 0 : helper_missing(program->given);

	if (rc == 0 && namespace_kind != NULL)
		rc = vg_failure(-ENOTSUP, "children of this thread begin in another %s namespace, where the helper "
				"%s", namespace_kind,
				*namespace_kind == 'p' ? "could not see this process" :
				"would have another clock");
	if (rc == 0 && setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
		rc = vg_failure(-errno, "cannot connect to the helper: setsockopt: %s", vg_errno_text(-errno));
	if (rc == 0) {
		/* -EAGAIN: the user has too many processes.  Retry, because the helper of an ended session may be about
		 * to exit. */
		rc = vg_spawn(path, sockets[1], pid, &call);
		for (int ms = 0; rc == -EAGAIN && ms < SPAWN_TIMEOUT_MS; ms++) {
			usleep(1000);
			rc = vg_spawn(path, sockets[1], pid, &call);
		}
		if (rc == -EAGAIN && sched_getscheduler(0) == SCHED_DEADLINE)
			rc = vg_failure(-ENOEXEC, "cannot start the helper %s: the calling thread has SCHED_DEADLINE "
					"but not CAP_SYS_NICE, so it cannot create a process", path);
		else if (rc == -ENOENT && strcmp(call, "execve") == 0)
			rc = vg_failure(-ENOEXEC, "cannot start the helper %s: its dynamic linker or interpreter does "
					"not exist (execve)", path);
		else if (rc != 0)
			rc = vg_failure(-ENOEXEC, "cannot start the helper %s: %s: %s%s", path, call, vg_errno_text(rc),
					vg_helper_filter_hint(rc));
	}
	close(sockets[1]);
	return rc;
}

/* The start time of a process in clock ticks since boot, or 0. */
static uint64_t start_ticks_of(pid_t pid)
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
	/* The second field, the name, may contain spaces and parentheses. */
	at = strrchr(text, ')');
	for (int field = 2; field < START_TICKS_FIELD && at != NULL; field++)
		at = strchr(at + 1, ' ');
	return at != NULL ? strtoull(at, NULL, 10) : 0;
}

void vg_helper_kill(const struct vg_helper *helper)
{
	int process;

	if (helper->start_ticks == 0)
		return;
	/* Open the pidfd before reading the start time.  If the process then has the helper's start time, the pidfd
	 * refers to the helper. */
	process = (int)syscall(SYS_pidfd_open, helper->pid, 0);
	if (process < 0)
		return;
	if (start_ticks_of(helper->pid) == helper->start_ticks)
		syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
	close(process);
}

static int versions_check(const struct vg_wire_hello *hello)
{
	if (hello->oldest > VG_WIRE_NEWEST)
		return vg_failure(-EPROTO, LIBRARY_TOO_OLD);
	if ((hello->newest != 0 ? hello->newest : VG_WIRE_FIRST) < VG_WIRE_OLDEST)
		return vg_failure(-EPROTO, "the helper vignetted is too old for this libvgctl; use a vignetted of the "
				  "library's version");
	return 0;
}

/* Receives a message.  Before it there may be text: the helper's standard error is the socket until its HELLO.  Usually
 * the dynamic linker prints a line about a missing library.  Writes the end of the text to `printed`, which must be all
 * zero. */
static int message_or_text_receive(int socket, struct vg_wire_message *message, pid_t *pid, char *printed)
{
	uint64_t deadline_ns = vg_now_ns() + VG_START_TIMEOUT_MS * MS_NS;
	const char *text = (const char *)message;
	size_t used = 0;
	int rc = -EPROTO;

	for (int part = 0; rc == -EPROTO && part < PRINTED_PARTS; part++) {
		size_t bytes, excess;

		*message = (struct vg_wire_message){ 0 };
		rc = vg_channel_receive_until(socket, message, pid, deadline_ns);
		if (rc != -EPROTO || message->magic == VG_WIRE_MAGIC || *text < ' ')
			break;
		if (part == 0 && deadline_ns > vg_now_ns() + PRINTED_TIMEOUT_MS * MS_NS)
			deadline_ns = vg_now_ns() + PRINTED_TIMEOUT_MS * MS_NS;
		bytes = strnlen(text, sizeof *message < PRINTED_BYTES ? sizeof *message : PRINTED_BYTES - 1);
		excess = used + bytes < PRINTED_BYTES ? 0 : used + bytes - (PRINTED_BYTES - 1);
		used -= excess;
		memmove(printed, printed + excess, used);
		memcpy(printed + used, text, bytes);
		used += bytes;
	}
	return rc;
}

/* The helper at `path` sent no HELLO; `printed` is the end of what it has printed.  The last line has the reason: the
 * dynamic linker may print warnings before it. */
static int start_failure(int rc, const char *path, char *printed)
{
	static const char name[] = "vignetted: ";
	size_t length = strlen(printed);
	const char *line;

	while (length > 0 && printed[length - 1] == '\n')
		printed[--length] = '\0';
	line = strrchr(printed, '\n');
	line = line != NULL ? line + 1 : printed;
	if (strncmp(line, name, sizeof name - 1) == 0)
		line += sizeof name - 1;
	if (*line != '\0')
		return vg_failure(rc, "the helper did not start: %s (%s)", line, path);
	return vg_failure(rc, "the helper ended before it sent anything: it was killed, or it is not vignetted"
			  "%s (%s)", vg_helper_filter_hint(rc), path);
}

/* Receives HELLO.  Permits the pid in its credentials to trace this process. */
static int hello_receive(int socket, const char *path, struct vg_helper *helper)
{
	struct vg_wire_message message;
	char printed[PRINTED_BYTES] = { 0 };
	int off = 0, rc;
	pid_t pid;

	rc = message_or_text_receive(socket, &message, &pid, printed);
	if (rc == 0 && message.kind != VG_WIRE_HELLO)
		rc = -EPROTO;
	if (rc == -ECONNRESET || ((rc == -EPROTO || rc == -ETIMEDOUT) && printed[0] != '\0'))
		return start_failure(rc, path, printed);
	rc = rc != 0 ? vg_helper_failure(rc) : versions_check(&message.hello);
	if (rc != 0)
		return rc;
	helper->newest_version = message.hello.newest;
	/* Later messages need no credentials.  With credentials, they would be refused after the program has changed
	 * its user. */
	setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
	/* At level 1, Yama permits only ancestors to trace a process.  This call permits the helper too.  Without Yama
	 * the call fails and is not needed. */
	prctl(PR_SET_PTRACER, (unsigned long)pid, 0, 0, 0);
	helper->pid = pid;
	helper->start_ticks = start_ticks_of(pid);
	/* If this process adopts orphans (pid 1 of a container, a subreaper), the helper is its child. */
	if (waitpid(pid, NULL, WNOHANG) == 0)
		helper->child_pid = pid;
	return 0;
}

int vg_helper_thread_check(const struct vg_helper *helper)
{
	if (helper->newest_version >= VG_WIRE_THREAD)
		return 0;
	return vg_failure(-ENOTSUP, "the helper vignetted is too old to sample a single thread; use a vignetted of the "
			  "library's version");
}

int vg_helper_socket_pair(int *own, int *other)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
		return vg_failure(-errno, "cannot connect to the helper: socketpair: %s", vg_errno_text(-errno));
	*own = vg_descriptor_raise(sockets[0]);
	*other = sockets[1];
	if (*own >= 0)
		return 0;
	close(*other);
	return vg_failure(*own, NULL);
}

/* Waits up to 1 s for a child or, if `which` is negative, for all children in the process group -which.  A helper
 * usually exits shortly after its last message.  If it exits later, it stays a zombie until the program calls
 * waitpid(-1). */
static void child_reap(pid_t which)
{
	for (int us = 0; us < REAP_TIMEOUT_US; us += REAP_PAUSE_US) {
		pid_t ended = waitpid(which, NULL, WNOHANG);

		if (ended < 0 || (ended > 0 && which > 0))
			return;
		if (ended == 0)
			usleep(REAP_PAUSE_US);
	}
}

/* Kills a process that was started as the helper but did not behave as one: its file may be another program.  The
 * process leads a process group, so kill(2) and waitpid(2) also reach the processes that it has started. */
static void process_group_kill(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(-pid, SIGKILL);
	child_reap(-pid);
}

int vg_helper_open(const struct vg_helper_program *program, int *socket, struct vg_helper **helper)
{
	int sockets[2] = { -1, -1 }, rc;
	pid_t pid = 0;

	*helper = calloc(1, sizeof **helper);
	if (*helper == NULL)
		return vg_failure(-ENOMEM, NULL);
	(*helper)->references = 1;
	tracer = *helper;
	rc = vg_helper_socket_pair(&sockets[0], &sockets[1]);
	*socket = sockets[0];
	if (rc == 0)
		rc = helper_start(program, sockets, &pid);
	if (rc == 0)
		rc = hello_receive(*socket, program->path, *helper);
	if (rc != 0)
		process_group_kill(pid);
	return rc;
}

void vg_helper_release(struct vg_helper *helper)
{
	if (helper == NULL || --helper->references > 0)
		return;
	if (helper->child_pid > 0)
		child_reap(helper->child_pid);
	if (helper == tracer) {
		prctl(PR_SET_PTRACER, 0, 0, 0, 0);
		tracer = NULL;
	}
	free(helper);
}
