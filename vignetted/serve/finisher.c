/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/finisher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process_file.h"

struct answer {
	int rc;
	struct vg_err err;
};

/* A slow disk may block the helper's write for some seconds, so the helper is killed only after several checks.  A
 * helper that uses CPU time, or waits for a CPU, does not hang: a walk of a hostile stack takes seconds on a busy
 * machine. */
enum { CHECK_PERIOD_MS = 3000, IDLE_CHECKS_MAX = 3, CHECKS_MAX = 20 };

/* ---- in the child ---- */

/* Whether a signal that ends the recording is pending for the helper (vg_loop_signals()). */
static bool end_signal_is_pending(pid_t helper)
{
	const uint64_t wanted = UINT64_C(1) << (SIGINT - 1) | UINT64_C(1) << (SIGTERM - 1) |
				UINT64_C(1) << (SIGHUP - 1);
	char text[VG_PROCESS_FIELD_BYTES];

	vg_process_status(helper, "ShdPnd:", text);
	return (strtoull(text, NULL, 16) & wanted) != 0;
}

/* The helper's CPU time.  0: unknown. */
static uint64_t cpu_used_ns(pid_t helper)
{
	clockid_t clock;

	return clock_getcpuclockid(helper, &clock) == 0 ? vg_clock_ns(clock) : 0;
}

static bool is_running(pid_t helper)
{
	char state[VG_PROCESS_FIELD_BYTES];

	vg_process_status(helper, "State:", state);
	return state[strspn(state, " \t")] == 'R';
}

/* Waits until the helper asks or exits.  Kills a helper that hangs.  A helper that reads memory which never arrives
 * (userfaultfd(2), a FUSE file) hangs in the kernel, where only SIGKILL reaches it. */
static void request_wait(int socket, pid_t helper)
{
	struct pollfd asked = { .fd = socket, .events = POLLIN };
	uint64_t before_ns = 0;
	int pending = 0, idle = 0;

	while (poll(&asked, 1, CHECK_PERIOD_MS) == 0) {
		uint64_t used_ns = cpu_used_ns(helper);
		bool is_pending = end_signal_is_pending(helper);

		pending = is_pending ? pending + 1 : 0;
		idle = is_pending && used_ns == before_ns && !is_running(helper) ? idle + 1 : 0;
		before_ns = used_ns;
		if (idle == IDLE_CHECKS_MAX || pending == CHECKS_MAX)
			kill(helper, SIGKILL);
	}
}

static void finish(int socket, pid_t helper,
		   int (*act)(void *context, enum vg_finish action, struct vg_err *err), void *context)
{
	struct answer answer = { 0 };
	unsigned char action;

	/* The name that lists of processes show. */
	prctl(PR_SET_NAME, "vignetted-end");
	request_wait(socket, helper);
	if (read(socket, &action, 1) != 1 || (action != VG_FINISH_KEEP && action != VG_FINISH_DROP))
		action = VG_FINISH_NOTHING;
	answer.rc = act(context, (enum vg_finish)action, &answer.err);
	send(socket, &answer, sizeof answer, MSG_NOSIGNAL);
}

/* ---- in the helper ---- */

int vg_finisher_start(struct vg_finisher *finisher,
		      int (*act)(void *context, enum vg_finish action, struct vg_err *err), void *context,
		      struct vg_err *err)
{
	pid_t helper = getpid();
	sigset_t all, before;
	int ends[2];

	*finisher = (struct vg_finisher)VG_FINISHER_NONE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return vg_err_sys(err, -errno, "cannot start the process that renames the file at the end: socketpair");
	/* Block all signals in the child, because the child must outlive the helper, and a terminal sends signals to
	 * both. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	finisher->child = fork();
	if (finisher->child != 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (finisher->child == 0) {
		close(ends[0]);
		finish(ends[1], helper, act, context);
		_exit(0);
	}
	close(ends[1]);
	if (finisher->child < 0) {
		int rc = vg_err_sys(err, -errno, "cannot start the process that renames the file at the end: clone");

		close(ends[0]);
		return rc;
	}
	finisher->socket = ends[0];
	return 0;
}

int vg_finisher_ask(struct vg_finisher *finisher, enum vg_finish action, struct vg_err *err)
{
	const unsigned char byte = (unsigned char)action;
	struct answer answer;

	if (finisher->socket < 0)
		return 0;
	/* SIGPIPE is ignored: see vg_loop_signals(). */
	if (write(finisher->socket, &byte, 1) != 1 ||
	    read(finisher->socket, &answer, sizeof answer) != (ssize_t)sizeof answer) {
		answer.rc = vg_err_set(&answer.err, -ESRCH, "the process that renames the file at the end was "
				       "killed: the profile keeps its name with .part");
	}
	close(finisher->socket);
	finisher->socket = -1;
	waitpid(finisher->child, NULL, 0);
	if (err != NULL)
		*err = answer.err;
	return answer.rc;
}
