/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Whether the file gives privileges to a program that executes it.  The kernel gives none while we trace the program. */
static bool is_privileged(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0 &&
	       ((file.st_mode & (S_ISUID | S_ISGID)) != 0 || getxattr(path, "security.capability", NULL, 0) > 0);
}

/* Whether the command, in one of the directories of $PATH, may be such a file. */
static bool may_be_privileged(const char *command)
{
	const char *directory = getenv("PATH");
	char path[PATH_MAX];

	if (strchr(command, '/') != NULL || directory == NULL)
		return is_privileged(command);
	for (;; directory++) {
		const char *end = strchrnul(directory, ':');

		if (snprintf(path, sizeof path, "%.*s%s%s", (int)(end - directory), directory, end > directory ? "/" : "",
			     command) < (int)sizeof path && is_privileged(path))
			return true;
		directory = end;
		if (*end == '\0')
			return false;
	}
}

/* The child executes the command when a byte comes from `go`, and ends if we die.  It writes its errno to `failure`. */
static _Noreturn void child_run(char *const *command, int go, int failure)
{
	sigset_t none;
	char byte;
	int rc;

	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL);        /* the signals that vg_loop_signals() ignores */
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(go, &byte, 1) == 1) {
		execvp(command[0], command);
		rc = errno;
		(void)!write(failure, &rc, sizeof rc);
	}
	_exit(EXIT_FAILURE);
}

/* Waits until the traced child stops in its execve(2) or has ended, and leaves this state to be reported again.  Passes
 * signals on that come before. */
static void child_wait(pid_t pid)
{
	enum { EXECUTED = SIGTRAP | PTRACE_EVENT_EXEC << 8 };
	siginfo_t info;
	int status;

	while (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL) == 0 &&
	       info.si_code == CLD_TRAPPED && info.si_status != EXECUTED) {
		waitpid(pid, &status, __WALL);
		if (status >> 16 == PTRACE_EVENT_STOP)
			ptrace(PTRACE_LISTEN, pid, NULL, NULL);
		else
			ptrace(PTRACE_CONT, pid, NULL, (unsigned long)WSTOPSIG(status));
	}
}

/* Lets the child execute the command.  If it could, the kernel has closed `failure` there. */
static int child_release(pid_t pid, const char *command, int go, int failure)
{
	bool is_traced = !may_be_privileged(command) && ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC) == 0;
	ssize_t got;
	int rc = 0;

	if (write(go, "", 1) != 1)
		return -errno;
	if (is_traced)
		child_wait(pid);
	do
		got = read(failure, &rc, sizeof rc);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return 0;
	waitpid(pid, NULL, __WALL);
	return got == (ssize_t)sizeof rc ? -rc : -EIO;
}

int vg_launch(char *const *command, pid_t *pid, struct vg_err *err)
{
	int go[2], failure[2], rc = 0;

	if (pipe2(go, O_CLOEXEC) != 0)
		return vg_err_sys(err, -errno, "%s: cannot run this command", command[0]);
	if (pipe2(failure, O_CLOEXEC) != 0) {
		rc = -errno;
	} else {
		*pid = fork();
		if (*pid == 0) {
			close(go[1]);
			child_run(command, go[0], failure[1]);
		}
		rc = *pid < 0 ? -errno : 0;
		close(failure[1]);
		if (rc == 0)
			rc = child_release(*pid, command[0], go[1], failure[0]);
		close(failure[0]);
	}
	close(go[0]);
	close(go[1]);
	return rc == 0 ? 0 : vg_err_sys(err, rc, "%s: cannot run this command", command[0]);
}
