/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
enum { COUNT = sizeof numbers / sizeof *numbers };

static struct sigaction actions[COUNT]; /* from before vg_child_signals() */
static volatile pid_t running;       /* the child; 0: none */
static volatile sig_atomic_t missed; /* the latest signal without a child; 0: none */

/* si_code is positive if the kernel sent the signal: the terminal's signals come to the child, too. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	(void)context;
	if (running == 0)
		missed = number;
	else if (info->si_code <= 0)
		kill(running, number);
	errno = saved_errno;
}

void vg_child_signals(void)
{
	const struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };

	for (int i = 0; i < COUNT; i++) {
		if (sigaction(numbers[i], NULL, &actions[i]) == 0 && actions[i].sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
}

pid_t vg_child_fork(void)
{
	pid_t parent = getpid(), pid;
	sigset_t blocked, before;

	/* A signal must not come between fork(2) and the assignment to `running`. */
	sigemptyset(&blocked);
	for (int i = 0; i < COUNT; i++)
		sigaddset(&blocked, numbers[i]);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	pid = fork();
	if (pid > 0)
		running = pid;
	for (int i = 0; pid == 0 && i < COUNT; i++)
		sigaction(numbers[i], &actions[i], NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	return 0;
}

int vg_child_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	running = 0;
	if (missed != 0)
		return 128 + missed;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
