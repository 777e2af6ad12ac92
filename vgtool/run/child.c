/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/child.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
enum { COUNT = sizeof numbers / sizeof *numbers };

static struct sigaction actions[COUNT]; /* from before vg_child_signals() */
static volatile pid_t running[VG_CHILDREN_MAX]; /* the children; 0: a free place */
static volatile sig_atomic_t missed; /* the latest signal without a child; 0: none */
static volatile sig_atomic_t latest; /* the latest signal; 0: none */

/* A positive si_code means that the kernel sent the signal.  Then the signal is not passed on, because the terminal's
 * signals come to the children, too. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved_errno = errno;
	bool any = false;

	(void)context;
	latest = number;
	for (int i = 0; i < VG_CHILDREN_MAX; i++) {
		if (running[i] == 0)
			continue;
		any = true;
		if (info->si_code <= 0)
			kill(running[i], number);
	}
	if (!any)
		missed = number;
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

int vg_child_signal(void)
{
	return latest;
}

/* Returns the place of the child, or -1.  pid 0: returns a free place. */
static int place_find(pid_t pid)
{
	int place = 0;

	while (place < VG_CHILDREN_MAX && running[place] != pid)
		place++;
	return place < VG_CHILDREN_MAX ? place : -1;
}

static void places_clear(void)
{
	for (int i = 0; i < VG_CHILDREN_MAX; i++)
		running[i] = 0;
}

pid_t vg_child_fork(void)
{
	int place = place_find(0);
	pid_t parent = getpid(), pid;
	sigset_t blocked, before;

	if (place < 0) {
		errno = EAGAIN;
		return -1;
	}
	/* A signal must not come between fork(2) and the assignment to `running`. */
	sigemptyset(&blocked);
	for (int i = 0; i < COUNT; i++)
		sigaddset(&blocked, numbers[i]);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	pid = fork();
	if (pid > 0)
		running[place] = pid;
	if (pid == 0)
		places_clear();
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
	int status = 0, place = place_find(pid);

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (place >= 0)
		running[place] = 0;
	if (missed != 0)
		return 128 + missed;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
