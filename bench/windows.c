/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a sampler costs a server that is under load all the time: windows with the sampler and
 * windows without follow one another.  A server that goes on, and windows of a second, leave little
 * room for drift.
 *
 *     windows LOAD WHERE PAIRS WINDOW_MS COMMAND [ARGUMENT ...]
 *
 * COMMAND is the sampler; it is started anew for each of its windows, given time to attach, and
 * ended with SIGINT.  Prints what compare_run() does.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/compare.h"

/* Before each window: what a process that begins or ends does to a busy machine lasts a while. */
enum { SETTLE_US = 500 * 1000 };

static char **command;
static pid_t sampler_pid;

static void sampler_check(void)
{
	if (waitpid(sampler_pid, NULL, WNOHANG) == 0)
		return;
	fprintf(stderr, "windows: %s has ended\n", command[0]);
	exit(1);
}

static void sampler_on(void)
{
	sampler_pid = fork();
	if (sampler_pid < 0) {
		perror("fork");
		exit(1);
	}
	if (sampler_pid == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	usleep(SETTLE_US);
	sampler_check();
}

static void sampler_off(void)
{
	sampler_check();
	kill(sampler_pid, SIGINT);
	waitpid(sampler_pid, NULL, 0);
	usleep(SETTLE_US);
}

int main(int argc, char **argv)
{
	const struct sampler sampler = { sampler_on, compare_wait, sampler_off };

	if (argc < 6) {
		fprintf(stderr, "usage: windows LOAD WHERE PAIRS WINDOW_MS COMMAND [ARGUMENT ...]\n");
		return 2;
	}
	command = argv + 5;
	compare_load(argv[1], argv[2], (uint64_t)atoi(argv[4]) * 1000000);
	compare_run(&sampler, atoi(argv[3]));
	return 0;
}
