/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Has COUNT threads, the first one included.  All of them sleep forever, in the system calls in which threads of
 * servers sleep.
 *
 *     sleepers COUNT
 *
 * Prints a line when all threads are started.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 5, STACK_BYTES = 64 * 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int empty_pipe[2], epoll_fd;

static void *sleep_thread(void *argument)
{
	struct pollfd pollfd = { .fd = empty_pipe[0], .events = POLLIN };
	struct epoll_event event;
	struct timespec day = { 86400, 0 };
	char byte;

	for (;;) {
		switch ((long)argument % CALLS) {
		case 0:
			pthread_mutex_lock(&lock);
			pthread_cond_wait(&never, &lock);
			pthread_mutex_unlock(&lock);
			break;
		case 1:
			poll(&pollfd, 1, -1);
			break;
		case 2:
			epoll_wait(epoll_fd, &event, 1, -1);
			break;
		case 3:
			if (read(empty_pipe[0], &byte, 1) == 0)
				return NULL;
			break;
		case 4:
			nanosleep(&day, NULL);
			break;
		}
	}
}

int main(int argc, char **argv)
{
	long count = argc == 2 ? atol(argv[1]) : 0;
	pthread_attr_t attributes;
	pthread_t thread;

	if (count <= 0) {
		fprintf(stderr, "usage: sleepers COUNT\n");
		return 2;
	}
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (epoll_fd < 0 || pipe(empty_pipe) != 0) {
		perror("sleepers");
		return 1;
	}
	for (long i = 1; i < count; i++) {
		if (pthread_create(&thread, &attributes, sleep_thread, (void *)i) != 0) {
			fprintf(stderr, "sleepers: only %ld threads\n", i);
			return 1;
		}
	}
	printf("%ld threads\n", count);
	fflush(stdout);
	sleep_thread(NULL);
	return 0;
}
