/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Runs a command, and prints what it took: wall and CPU seconds, and the most memory of its own
 * (anonymous) and altogether (with the pages of files that it has mapped), in MiB.
 *
 *     peak FILE COMMAND...     FILE gets: WALL_S CPU_S PRIVATE_MIB RESIDENT_MIB
 *
 * The kernel keeps the peak of all that is resident, but not of the private part, so that is
 * looked up every two milliseconds; a last look cannot be had once the process is gone.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* RssAnon, in KiB; 0 once the process is gone. */
static long private_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	}
	if (file != NULL)
		fclose(file);
	return kib;
}

int main(int argc, char **argv)
{
	static const struct timespec pause = { .tv_nsec = 2000000 };
	double begin_s = now_s(), wall_s;
	struct rusage usage;
	long peak_kib = 0;
	int status;
	FILE *file;
	pid_t pid;

	if (argc < 3)
		return 2;
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	while (wait4(pid, &status, WNOHANG, &usage) == 0) {
		long kib = private_kib(pid);

		if (kib > peak_kib)
			peak_kib = kib;
		nanosleep(&pause, NULL);
	}
	wall_s = now_s() - begin_s;
	file = fopen(argv[1], "w");
	if (file == NULL)
		return 1;
	fprintf(file, "%.3f %.3f %.1f %.1f\n", wall_s,
		(double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
		(double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6,
		(double)peak_kib / 1024, (double)usage.ru_maxrss / 1024);
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
