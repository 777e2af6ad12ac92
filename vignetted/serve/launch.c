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

/* The kernel follows at most so many interpreters of interpreters. */
enum { INTERPRETERS_MAX = 5 };

/* Finds the command's file in the directories of $PATH.  Returns 0 or a negative errno. */
static int command_find(const char *command, char path[PATH_MAX])
{
	const char *directory = getenv("PATH") ?: "/bin:/usr/bin";
	int rc = -ENOENT;

	if (strchr(command, '/') != NULL)
		return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX ? 0 : -ENAMETOOLONG;
	for (;;) {
		const char *end = strchrnul(directory, ':');
		int length = (int)(end - directory);
		struct stat file;

		if (command[0] != '\0' &&
		    snprintf(path, PATH_MAX, "%.*s%s%s", length, directory, length > 0 ? "/" : "",
			     command) < PATH_MAX &&
		    stat(path, &file) == 0) {
			if (S_ISREG(file.st_mode) && access(path, X_OK) == 0)
				return 0;
			rc = -EACCES;
		}
		if (*end == '\0')
			return rc;
		directory = end + 1;
	}
}

/* Replaces path by the interpreter in the file's first line.  Returns whether there is one. */
static bool interpreter_find(char path[PATH_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char line[256];                  /* as much as the kernel reads */
	ssize_t got = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
	const char *name;

	if (fd >= 0)
		close(fd);
	line[got > 0 ? got : 0] = '\0';
	if (strncmp(line, "#!", 2) != 0)
		return false;
	name = line + 2 + strspn(line + 2, " \t");
	snprintf(path, PATH_MAX, "%.*s", (int)strcspn(name, " \t\n"), name);
	return true;
}

/* Whether the kernel would give privileges to a program in this file.  It gives none while a tracer without
 * CAP_SYS_PTRACE traces the program. */
static bool is_privileged(const char *command)
{
	char path[PATH_MAX];
	struct stat file;

	if (geteuid() == 0)
		return false;
	snprintf(path, sizeof path, "%s", command);
	for (int i = 0; i < INTERPRETERS_MAX; i++) {
		if (stat(path, &file) != 0 || !S_ISREG(file.st_mode))
			return false;
		if ((file.st_mode & (S_ISUID | S_ISGID)) != 0 || getxattr(path, "security.capability", NULL, 0) > 0)
			return true;
		if (!interpreter_find(path))
			return false;
	}
	return false;
}

/* The child executes the command when a byte comes from `go`, and ends if we die.  It writes its errno to `failure`. */
static _Noreturn void child_run(const char *path, char *const *command, int go, int failure)
{
	sigset_t none;
	char byte;
	int rc;

	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL);        /* the signals that vg_loop_signals() ignores */
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(go, &byte, 1) == 1) {
		execve(path, command, environ);
		rc = errno;
		(void)!write(failure, &rc, sizeof rc);
	}
	_exit(EXIT_FAILURE);
}

/* Waits until the traced child stops in its execve(2) or has ended, and leaves this state to be reported again.  Passes
 * signals on that come before.  PTRACE_EVENT_STOP with SIGTRAP is the end of a group stop, by SIGCONT. */
static void child_wait(pid_t pid)
{
	enum { EXECUTED = SIGTRAP | PTRACE_EVENT_EXEC << 8 };
	siginfo_t info;
	int status;

	while (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL) == 0 &&
	       info.si_code == CLD_TRAPPED && info.si_status != EXECUTED) {
		waitpid(pid, &status, __WALL);
		if (status >> 16 == 0)
			ptrace(PTRACE_CONT, pid, NULL, (unsigned long)WSTOPSIG(status));
		else
			ptrace(WSTOPSIG(status) == SIGTRAP ? PTRACE_CONT : PTRACE_LISTEN, pid, NULL, NULL);
	}
}

/* Lets the child execute the command.  If it could, the kernel has closed `failure` there. */
static int child_release(pid_t pid, const char *path, int go, int failure)
{
	bool is_held = !is_privileged(path) && ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC) == 0;
	ssize_t got;
	int rc = 0;

	if (write(go, "", 1) != 1)
		return -errno;
	if (is_held)
		child_wait(pid);
	do
		got = read(failure, &rc, sizeof rc);
	while (got < 0 && errno == EINTR);
	if (got != 0) {
		waitpid(pid, NULL, __WALL);
		return got == (ssize_t)sizeof rc ? -rc : -EIO;
	}
	/* A program that has got no privileges, after all, is stopped as soon as possible. */
	if (!is_held && ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0)
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	return 0;
}

/* Returns 0 or a negative errno. */
static int child_launch(const char *path, char *const *command, pid_t *pid)
{
	int go[2], failure[2], rc;

	if (pipe2(go, O_CLOEXEC) != 0)
		return -errno;
	if (pipe2(failure, O_CLOEXEC) != 0) {
		rc = -errno;
	} else {
		*pid = fork();
		if (*pid == 0) {
			close(go[1]);
			child_run(path, command, go[0], failure[1]);
		}
		rc = *pid < 0 ? -errno : 0;
		close(failure[1]);
		if (rc == 0)
			rc = child_release(*pid, path, go[1], failure[0]);
		close(failure[0]);
	}
	close(go[0]);
	close(go[1]);
	return rc;
}

int vg_launch(char *const *command, pid_t *pid, struct vg_err *err)
{
	char path[PATH_MAX];
	int rc = command_find(command[0], path);

	if (rc == 0)
		rc = child_launch(path, command, pid);
	return rc == 0 ? 0 : vg_err_sys(err, rc, "%s: cannot run this command", command[0]);
}
