/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool in_path(const char *program)
{
	const char *path = getenv("PATH");
	char file[4096];

	while (path != NULL && *path != '\0') {
		int length = (int)strcspn(path, ":");

		if (snprintf(file, sizeof file, "%.*s/%s", length, path, program) < (int)sizeof file &&
		    access(file, X_OK) == 0)
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

const char *vg_pager_command(void)
{
	const char *pager = getenv("PAGER");

	if (pager == NULL)
		return in_path("less") ? "less -FRX" : NULL;
	return *pager != '\0' && strcmp(pager, "cat") != 0 ? pager : NULL;
}

static void __attribute__((noreturn)) pager_execute(const char *pager, int input)
{
	if (dup2(input, STDIN_FILENO) >= 0)
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
	_exit(127);
}

/* The child reads untrusted files: it must not read the terminal, and not outlive its parent. */
static void __attribute__((noreturn)) child_run(int (*run)(void *), void *context, int output, pid_t parent)
{
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(output, STDOUT_FILENO) < 0)
		_exit(1);
	close(output);
	if (isatty(STDIN_FILENO)) {
		int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
			_exit(1);
	}
	status = run(context);
	if (fflush(stdout) != 0 && status == 0)
		status = 1;
	_exit(status);
}

static int child_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return 0;
	}
	return status;
}

int vg_pager_run(const char *pager, int (*run)(void *context), void *context, struct vg_err *err)
{
	int pipe_fds[2], status, pager_status, rc;
	pid_t pager_pid, child, self = getpid();

	if (pipe2(pipe_fds, O_CLOEXEC) != 0)
		return vg_err_sys(err, -errno, "cannot start the pager");
	fflush(stdout);
	pager_pid = fork();
	if (pager_pid == 0)
		pager_execute(pager, pipe_fds[0]);
	close(pipe_fds[0]);
	child = pager_pid > 0 ? fork() : -1;
	if (child == 0)
		child_run(run, context, pipe_fds[1], self);
	rc = child < 0 ? -errno : 0;
	close(pipe_fds[1]);
	/* The terminal sends SIGINT to all three processes.  A pager handles it and goes on. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	status = child > 0 ? child_wait(child) : 0;
	pager_status = pager_pid > 0 ? child_wait(pager_pid) : 0;
	if (rc != 0)
		return vg_err_sys(err, rc, "cannot start the pager");
	/* The shell's statuses for a command that cannot be executed, and for one that does not exist */
	if (WIFEXITED(pager_status) && (WEXITSTATUS(pager_status) == 126 || WEXITSTATUS(pager_status) == 127))
		return vg_err_set(err, -ENOEXEC, "$PAGER: cannot execute %s; --no-pager needs none", pager);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) == SIGPIPE || WTERMSIG(status) == SIGINT)
		return 0;
	return vg_err_set(err, -ECHILD, "the process that read the profile crashed: %s", strsignal(WTERMSIG(status)));
}
