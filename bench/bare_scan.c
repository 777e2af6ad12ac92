/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reads the list of threads at a steady rate.  For each new thread it reads two files: `stat`, which says whether the
 * thread can be stopped, and `schedstat`, which has its CPU time.  It stops no thread and keeps nothing.  A sampler
 * that must know all threads and their CPU time cannot do less.
 *
 *     bare_scan HZ COMMAND [ARGUMENT ...]
 *
 * Ends when the command ends, with the command's exit status.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#include "vignetted/capture/priority.h"
#include "vignetted/session/ticks.h"

enum { TIDS_MAX = 1 << 22 };     /* the kernel's PID_MAX_LIMIT */

static void file_read(int directory, const char *tid, const char *name)
{
	char path[64], text[1024];
	int fd;

	snprintf(path, sizeof path, "%.20s/%s", tid, name);
	fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* ESRCH: the thread has exited since the file was opened. */
	if (read(fd, text, sizeof text) < 0 && errno != ESRCH)
		perror(path);
	close(fd);
}

/* A thread is new if the previous scan did not find its id.  Older scans do not count: the kernel reuses ids. */
static void scan(DIR *tasks)
{
	static uint32_t seen_in[TIDS_MAX], scans = 1;
	struct dirent *entry;

	scans++;
	rewinddir(tasks);
	while ((entry = readdir(tasks)) != NULL) {
		uint32_t tid = (uint32_t)atoi(entry->d_name) % TIDS_MAX;
		bool is_new = seen_in[tid] + 1 != scans;

		seen_in[tid] = scans;
		if (tid == 0 || !is_new)
			continue;
		file_read(dirfd(tasks), entry->d_name, "stat");
		file_read(dirfd(tasks), entry->d_name, "schedstat");
	}
}

static DIR *tasks_open(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	return opendir(path);
}

int main(int argc, char **argv)
{
	struct vg_priority priority;
	struct vg_ticks ticks = { 0 };
	DIR *tasks;
	pid_t pid;
	int status;

	if (argc < 3 || atoi(argv[1]) <= 1) {
		fprintf(stderr, "usage: bare_scan HZ COMMAND [ARGUMENT ...]\n");
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	tasks = tasks_open(pid);
	if (tasks == NULL) {
		perror("/proc");
		return 1;
	}
	vg_priority_begin(&priority);
	vg_ticks_start(&ticks, 1000000000 / (uint64_t)atoi(argv[1]), vg_now_ns());
	while (waitpid(pid, &status, WNOHANG) == 0) {
		uint64_t now_ns = vg_now_ns();
		struct timespec left = { 0, ticks.due_ns > now_ns ? (long)(ticks.due_ns - now_ns) : 0 };

		nanosleep(&left, NULL);
		if (vg_ticks_due(&ticks, vg_now_ns()))
			scan(tasks);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
