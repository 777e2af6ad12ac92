/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Runs a command and writes its CPU time (user and system, in ns) to a file.
 *
 *     cpu FILE COMMAND [ARGUMENT ...]
 *
 * Passes SIGINT and SIGTERM on to the command.  Exits with the command's status.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t child;

static void pass_on(int number)
{
	if (child > 0)
		kill(child, number);
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	FILE *file;
	pid_t got;

	if (argc < 3) {
		fprintf(stderr, "usage: cpu FILE COMMAND [ARGUMENT ...]\n");
		return 2;
	}
	child = fork();
	if (child < 0) {
		perror("cpu: fork");
		return 1;
	}
	if (child == 0) {
		/* A shell starts its background commands with SIGINT ignored. */
		signal(SIGINT, SIG_DFL);
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	signal(SIGINT, pass_on);
	signal(SIGTERM, pass_on);
	do
		got = wait4(child, &status, 0, &usage);
	while (got < 0 && errno == EINTR);
	file = fopen(argv[1], "we");
	if (file == NULL) {
		perror(argv[1]);
		return 1;
	}
	fprintf(file, "%lld\n",
		(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
		(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL);
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
