/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reads each thread's schedstat file at a steady rate.  The files stay open.  A sampler that must know which threads
 * have run cannot do less.
 *
 *     bare_read PID HZ SECONDS
 *
 * Prints its own CPU time in ns and the number of reads.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 8192 };

static int fds[THREADS_MAX];
static size_t fd_count;

static int threads_open(const char *pid)
{
	struct rlimit limit = { THREADS_MAX + 64, THREADS_MAX + 64 };
	char path[128];
	struct dirent *entry;
	DIR *directory;

	setrlimit(RLIMIT_NOFILE, &limit);
	snprintf(path, sizeof path, "/proc/%.20s/task", pid);
	directory = opendir(path);
	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] == '.' || fd_count == THREADS_MAX)
			continue;
		snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/schedstat", pid, entry->d_name);
		fds[fd_count] = open(path, O_RDONLY | O_CLOEXEC);
		if (fds[fd_count] < 0)
			return -1;
		fd_count++;
	}
	return directory != NULL ? closedir(directory) : -1;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t begin_ns, reads = 0;
	struct timespec period;
	char text[96];
	int ticks;

	if (argc != 4 || atoi(argv[2]) <= 1 || threads_open(argv[1]) != 0) {
		fprintf(stderr, "usage: bare_read PID HZ SECONDS\n");
		return 2;
	}
	period = (struct timespec){ 0, 1000000000 / atoi(argv[2]) };
	ticks = (int)(atof(argv[3]) * atoi(argv[2]));
	begin_ns = cpu_ns();
	for (int tick = 0; tick < ticks; tick++) {
		for (size_t i = 0; i < fd_count; i++)
			reads += pread(fds[i], text, sizeof text, 0) > 0;
		nanosleep(&period, NULL);
	}
	printf("%llu %llu\n", (unsigned long long)(cpu_ns() - begin_ns), (unsigned long long)reads);
	return 0;
}
