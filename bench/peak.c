/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Runs a command and writes its time and its peak memory to a file.
 *
 *     peak FILE COMMAND...     FILE gets: WALL_S CPU_S PRIVATE_MIB RESIDENT_MIB
 *
 * Private memory is anonymous.  Resident memory also includes the mapped pages of files.  The kernel keeps the peak of
 * resident memory, but not the peak of private memory.  So private memory is read every 2 ms, and growth in the
 * command's last 2 ms is missed.
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

/* RssAnon; 0 if the process has exited. */
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
