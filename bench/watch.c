/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A thread that watches the clock, from 30 frames down, and notices when it did not run.
 *
 *     watch SECONDS PERIOD_US
 *
 * Prints, for each period, the longest time in it between two looks at the clock, in ns.  A
 * sampler stops the thread once a period, so one of the gaps in a period is its doing; the
 * longest is taken because whatever else interrupts the thread (the timer) is mostly shorter, and
 * what is left of that is told by watching with no sampler at all.
 *
 * Periods in which another process took the thread's CPU are left out: being stopped for a tracer
 * is a voluntary context switch to the kernel, and losing the CPU to somebody an involuntary one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { DEPTH = 30 };

/* Gaps below are never a context switch. */
static const uint64_t LOOK_CLOSER_NS = 2000;

static const uint64_t SETTLE_NS = 1000000000; /* for a sampler to attach */

static uint64_t period_ns, period_count;
static uint64_t *longest_ns;             /* period_count of them */
static volatile int sink;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether the CPU was given to somebody else since the last call. */
static int preempted(void)
{
	static long before;
	struct rusage usage;
	long more;

	getrusage(RUSAGE_THREAD, &usage);
	more = usage.ru_nivcsw - before;
	before = usage.ru_nivcsw;
	return more != 0;
}

static void watch(void)
{
	uint64_t begin_ns = now_ns() + SETTLE_NS, last_ns = 0, spoilt = UINT64_MAX;

	while (now_ns() < begin_ns)
		;
	preempted();
	last_ns = now_ns();
	for (;;) {
		uint64_t ns = now_ns(), period = (ns - begin_ns) / period_ns;

		if (period >= period_count)
			return;
		if (ns - last_ns >= LOOK_CLOSER_NS && preempted())
			spoilt = period;
		/* A gap that reaches over a boundary counts where it ends. */
		if (period == spoilt)
			longest_ns[period] = 0;
		else if (ns - last_ns > longest_ns[period])
			longest_ns[period] = ns - last_ns;
		last_ns = ns;
	}
}

static __attribute__((noinline)) void descend(int depth)
{
	if (depth > 1)
		descend(depth - 1);
	else
		watch();
	sink++;                          /* no tail call */
}

int main(int argc, char **argv)
{
	if (argc != 3 || atof(argv[1]) <= 0 || atoi(argv[2]) <= 0) {
		fprintf(stderr, "usage: watch SECONDS PERIOD_US\n");
		return 2;
	}
	period_ns = (uint64_t)atoi(argv[2]) * 1000;
	period_count = (uint64_t)(atof(argv[1]) * 1e9 / (double)period_ns);
	longest_ns = calloc(period_count, sizeof *longest_ns);
	if (longest_ns == NULL) {
		fprintf(stderr, "watch: out of memory\n");
		return 1;
	}
	/* Touched now: a page fault later is a gap too. */
	for (uint64_t i = 0; i < period_count; i++)
		((volatile uint64_t *)longest_ns)[i] = 0;
	descend(DEPTH);
	for (uint64_t i = 0; i < period_count; i++) {
		if (longest_ns[i] == 0)
			continue;
		printf("%llu\n", (unsigned long long)longest_ns[i]);
	}
	return 0;
}
