/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A steady load that never ends.  no_tables.sh and unwind.sh build it without unwind information and frame pointers.
 *
 *     no_tables          several kinds of work in turn
 *     no_tables waits    four threads: in poll, in a condition variable, in read, and one that wakes the last two
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBERS = 4000, WAKE_MS = 5, DEPTH = 4 };

static volatile uint64_t sink;

/* ---- work ---- */

__attribute__((noinline)) static uint64_t fib(int n)
{
	return n < 2 ? (uint64_t)n : fib(n - 1) + fib(n - 2);
}

static int numbers_compare(const void *a, const void *b)
{
	const int *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

__attribute__((noinline)) static void sort(void)
{
	int numbers[NUMBERS];

	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = i * 7919 % 10007;
	qsort(numbers, NUMBERS, sizeof *numbers, numbers_compare);
	sink += (uint64_t)numbers[7];
}

__attribute__((noinline)) static void text(int count)
{
	char line[300];

	for (int i = 0; i < count; i++) {
		snprintf(line, sizeof line, "%d %s %f", i, "word", i * 1.5);
		sink += strlen(line);
	}
}

/* A frame whose size is known only at run time. */
__attribute__((noinline)) static void copy(const char *from, size_t bytes)
{
	char to[bytes];

	memcpy(to, from, bytes);
	sink += (uint64_t)to[bytes / 2];
}

__attribute__((noinline)) static void tree(int depth)
{
	char bytes[64 + DEPTH] = { 0 };

	for (int i = 1; i <= depth; i++)
		copy(bytes, (size_t)(64 + i));
	for (int i = 0; i < 3 && depth > 0; i++)
		tree(depth - 1);
	sink++;
}

/* ---- waits ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static int pipe_ends[2];

__attribute__((noinline)) static void wait_poll(void)
{
	poll(NULL, 0, WAKE_MS);
	sink++;
}

__attribute__((noinline)) static void wait_condition(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_wait(&woken, &mutex);
	pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void wait_read(void)
{
	char byte = 0;

	sink += (uint64_t)read(pipe_ends[0], &byte, 1) + (uint64_t)byte;
}

__attribute__((noinline)) static void wait_deep(void (*wait)(void), int depth)
{
	if (depth > 0)
		wait_deep(wait, depth - 1);
	else
		wait();
	sink++;
}

static void *wait_forever(void *wait)
{
	for (;;)
		wait_deep(*(void (**)(void))wait, DEPTH);
	return NULL;
}

static int waits(void)
{
	static void (*kinds[])(void) = { wait_poll, wait_condition, wait_read };
	pthread_t thread;

	if (pipe(pipe_ends) != 0)
		return 1;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (pthread_create(&thread, NULL, wait_forever, &kinds[i]) != 0)
			return 1;
	}
	while (write(pipe_ends[1], "", 1) == 1) {
		pthread_cond_broadcast(&woken);
		usleep(WAKE_MS * 1000);
	}
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "waits") == 0)
		return waits();
	for (;;) {
		sink += fib(18);
		sort();
		text(300);
		tree(DEPTH);
	}
}
