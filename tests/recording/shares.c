/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * shares SECONDS: two threads run four functions until each thread has used that much CPU time.  Then prints the CPU
 * time of each function, measured with the thread's clock, and how often it was called:
 *
 *     NAME NANOSECONDS CALLS
 *
 * Then the threads wait until standard input ends.
 *
 * The kernel counts the profile's CPU times in scheduler ticks.  So a call is longer than a tick: it takes 25 to 340
 * ms.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/spin.h"

enum { FUNCTIONS = 4, THREADS = 2, TURN_NS = 25 * 1000 * 1000 };

static uint64_t used_ns[THREADS][FUNCTIONS];
static unsigned calls[THREADS][FUNCTIONS];
static pthread_barrier_t all_used, all_end;
static uint64_t budget_ns;

/* Equal functions; the factor keeps the linker from folding them into one. */
#define FUNCTION(name, factor) \
static __attribute__((noinline)) uint64_t name(uint64_t until_ns) \
{ \
	uint64_t value = until_ns; \
\
	while (spin_cpu_ns() < until_ns) { \
		for (int i = 0; i < 20000; i++) \
			value = value * factor + 1; \
		__asm__ volatile ("" : "+r" (value)); \
	} \
	return value; \
}
FUNCTION(percent_50, 3)
FUNCTION(percent_30, 5)
FUNCTION(percent_15, 7)
FUNCTION(percent_5, 9)

static const struct {
	const char *name;
	uint64_t (*function)(uint64_t until_ns);
	unsigned share;              /* in percent */
} functions[FUNCTIONS] = {
	{ "percent_50", percent_50, 50 },
	{ "percent_30", percent_30, 30 },
	{ "percent_15", percent_15, 15 },
	{ "percent_5", percent_5, 5 },
};

/* Returns the function that is furthest below its share. */
static int next(const uint64_t *used)
{
	uint64_t least = UINT64_MAX;
	int found = 0;

	for (int i = 0; i < FUNCTIONS; i++) {
		uint64_t level = used[i] / functions[i].share;

		if (level < least) {
			least = level;
			found = i;
		}
	}
	return found;
}

static void *thread_run(void *thread)
{
	uint64_t *used = used_ns[(long)thread], now = spin_cpu_ns();
	unsigned seed = (unsigned)(long)thread + 1;

	while (now < budget_ns) {
		int i = next(used);
		uint64_t turn_ns = TURN_NS + (uint64_t)rand_r(&seed) % (TURN_NS * functions[i].share / 4);

		functions[i].function(now + turn_ns);
		used[i] += spin_cpu_ns() - now;
		calls[(long)thread][i]++;
		now = spin_cpu_ns();
	}
	pthread_barrier_wait(&all_used);
	pthread_barrier_wait(&all_end);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	budget_ns = argc == 2 ? strtoull(argv[1], NULL, 10) * 1000000000u : 0;
	if (budget_ns == 0)
		return 2;
	pthread_barrier_init(&all_used, NULL, THREADS + 1);
	pthread_barrier_init(&all_end, NULL, THREADS + 1);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread_run, (void *)i);
	pthread_barrier_wait(&all_used);
	for (int i = 0; i < FUNCTIONS; i++)
		printf("%s %lu %u\n", functions[i].name, (unsigned long)(used_ns[0][i] + used_ns[1][i]),
		       calls[0][i] + calls[1][i]);
	fflush(stdout);
	while (getchar() != EOF)
		;
	pthread_barrier_wait(&all_end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
