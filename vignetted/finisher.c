/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/finisher.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct answer {
	int rc;
	struct vg_err err;
};

/* In the child. */
static void finish(int socket, int (*act)(void *context, enum vg_finish what, struct vg_err *err), void *context)
{
	struct answer answer = { 0 };
	unsigned char what;

	/* In lists of processes: which of the two is the helper. */
	prctl(PR_SET_NAME, "vignetted-end");
	if (read(socket, &what, 1) != 1 || (what != VG_FINISH_KEEP && what != VG_FINISH_DROP))
		what = VG_FINISH_NOTHING;
	answer.rc = act(context, (enum vg_finish)what, &answer.err);
	send(socket, &answer, sizeof answer, MSG_NOSIGNAL);
}

int vg_finisher_start(struct vg_finisher *finisher,
		      int (*act)(void *context, enum vg_finish what, struct vg_err *err), void *context,
		      struct vg_err *err)
{
	sigset_t all, before;
	int ends[2];

	*finisher = (struct vg_finisher)VG_FINISHER_NONE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return vg_err_sys(err, -errno, "cannot start the process that renames the file at the end");
	/* A terminal sends its signals to the child too, which ends when the helper does, and not before. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	finisher->child = fork();
	if (finisher->child != 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (finisher->child == 0) {
		close(ends[0]);
		finish(ends[1], act, context);
		_exit(0);
	}
	close(ends[1]);
	if (finisher->child < 0) {
		int rc = vg_err_sys(err, -errno, "cannot start the process that renames the file at the end");

		close(ends[0]);
		return rc;
	}
	finisher->socket = ends[0];
	return 0;
}

int vg_finisher_ask(struct vg_finisher *finisher, enum vg_finish what, struct vg_err *err)
{
	const unsigned char byte = (unsigned char)what;
	struct answer answer;

	if (finisher->socket < 0)
		return 0;
	/* SIGPIPE is ignored: see vg_loop_signals(). */
	if (write(finisher->socket, &byte, 1) != 1 ||
	    read(finisher->socket, &answer, sizeof answer) != (ssize_t)sizeof answer) {
		answer.rc = vg_err_set(&answer.err, -ESRCH, "the process that renames the file at the end was "
				       "killed");
	}
	close(finisher->socket);
	finisher->socket = -1;
	waitpid(finisher->child, NULL, 0);
	if (err != NULL)
		*err = answer.err;
	return answer.rc;
}
