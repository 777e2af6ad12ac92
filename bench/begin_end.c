/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Measures how long vgctl_begin() and vgctl_end() take.
 *
 *     begin_end KIND THREADS COUNT FILE
 *
 * Begins and ends COUNT sessions with the profile FILE, in a process with THREADS threads.  All but the first thread
 * sleep.  KIND is one of:
 *
 *     ordinary     an ordinary process, or the first one of a pid namespace
 *     subreaper    PR_SET_CHILD_SUBREAPER
 *     locked       all memory locked
 *     real-time    SCHED_FIFO
 *
 * Prints a line for each session: the microseconds that vgctl_begin() took, the microseconds that vgctl_end() took, and
 * how many KiB more memory is locked during the session than before the first session.
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

static sem_t started;

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void *sleep_thread(void *none)
{
	sem_post(&started);
	for (;;)
		pause();
	return none;
}

static void threads_start(int count)
{
	pthread_attr_t attributes;
	pthread_t thread;

	sem_init(&started, 0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (int i = 1; i < count; i++) {
		if (pthread_create(&thread, &attributes, sleep_thread, NULL) != 0)
			abort();
		sem_wait(&started);
	}
}

/* Returns 1 if the process is now of that kind, and 0 after an error (errno). */
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
