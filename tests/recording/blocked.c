/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* blocked THREADS: that many threads wait in system calls until the program is killed.  Prints a line when all wait. */
#include <dirent.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int empty[2], epoll;
static atomic_int begun;

static void wait_once(long how)
{
	static int word = 1;
	struct timespec long_time = { 3600, 0 };
	struct pollfd entry = { .fd = empty[0], .events = POLLIN };
	struct epoll_event event;
	char byte;

	switch (how) {
	case 0: syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0); break;
	case 1: poll(&entry, 1, -1); break;
	case 2: epoll_wait(epoll, &event, 1, -1); break;
	case 3: if (read(empty[0], &byte, 1) < 0) perror("read"); break;
	case 4: clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, NULL); break;
	}
}

static void *wait_always(void *how)
{
	begun++;
	for (;;)
		wait_once((long)how);
	return NULL;
}

/* Whether all other threads wait. */
static bool all_wait(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	bool all = true;

	while (tasks != NULL && all && (task = readdir(tasks)) != NULL) {
		char path[64], text[256] = "", *close;
		FILE *file;

		if (task->d_name[0] == '.' || atoi(task->d_name) == getpid())
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%d/stat", atoi(task->d_name));
		file = fopen(path, "re");
		if (file == NULL)
			continue;
		text[fread(text, 1, sizeof text - 1, file)] = '\0';
		fclose(file);
		close = strrchr(text, ')');
		all = close != NULL && close[2] == 'S';
	}
	if (tasks != NULL)
		closedir(tasks);
	return all;
}

int main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0;
	struct epoll_event event = { .events = EPOLLIN };
	pthread_attr_t attributes;
	pthread_t thread;

	epoll = epoll_create1(0);
	if (count <= 0 || pipe(empty) != 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, empty[0], &event) != 0)
		return 2;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 * 1024);
	for (long i = 0; i < count; i++) {
		if (pthread_create(&thread, &attributes, wait_always, (void *)(i % 5)) != 0)
			return 2;
	}
	while (begun < count || !all_wait())
		usleep(1000);
	puts("blocked");
	fflush(stdout);
	for (;;)
		pause();
}
