/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How long vgctl_begin() and vgctl_end() take:
 *
 *     begin_end KIND THREADS COUNT FILE
 *
 * COUNT sessions into FILE, of a process with so many threads, the first one included, which sleep.  KIND is
 * "ordinary", also for the first process of a pid namespace; "subreaper"; "locked", with all memory locked; or
 * "real-time", with SCHED_FIFO.  Prints of each session the microseconds of both calls, and by how many KiB the
 * process's locked memory had grown between them.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "libvgctl/vgctl.h"

enum { STACK_BYTES = 64 * 1024, PRIORITY = 10 };

static sem_t there;

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void *sleep_thread(void *none)
{
	sem_post(&there);
	for (;;)
		pause();
	return none;
}

static void threads_start(int count)
{
	pthread_attr_t attributes;
	pthread_t thread;

	sem_init(&there, 0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (int i = 1; i < count; i++) {
		if (pthread_create(&thread, &attributes, sleep_thread, NULL) != 0)
			abort();
		sem_wait(&there);
	}
}

/* Whether the process could become one of that kind. */
static int become(const char *kind)
{
	const struct sched_param priority = { .sched_priority = PRIORITY };

	if (strcmp(kind, "subreaper") == 0)
		return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
	if (strcmp(kind, "locked") == 0)
		return mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
	if (strcmp(kind, "real-time") == 0)
		return sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
	return 1;
}

static long locked_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long kib = 0;

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		sscanf(line, "VmLck: %ld", &kib);
	if (file != NULL)
		fclose(file);
	return kib;
}

int main(int argc, char **argv)
{
	long before_kib, session_kib;
	int count = argc == 5 ? atoi(argv[3]) : 0;

	if (count < 1 || atoi(argv[2]) < 1)
		return 2;
	threads_start(atoi(argv[2]));
	if (!become(argv[1])) {
		perror(argv[1]);
		return 1;
	}
	before_kib = locked_kib();
	for (int i = 0; i < count; i++) {
		struct vgctl_session *session;
		double since_us = now_us(), begun_us, ending_us;
		int rc = vgctl_begin(argv[4], NULL, &session);

		begun_us = now_us();
		session_kib = locked_kib();
		ending_us = now_us();
		if (rc == 0)
			rc = vgctl_end(session, NULL);
		if (rc != 0) {
			fprintf(stderr, "begin_end: %s\n", vgctl_strerror(rc));
			return 1;
		}
		printf("%.0f %.0f %ld\n", begun_us - since_us, now_us() - ending_us, session_kib - before_kib);
	}
	return 0;
}
