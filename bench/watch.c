/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Measures the gaps in which a thread does not run.  The thread reads the clock all the time, 30 frames deep.
 *
 *     watch SECONDS PERIOD_US
 *
 * Prints, for each period, the longest time between two clock reads, in ns.  A sampler stops the thread once a period,
 * so it causes one gap in each period.  Most gaps with other causes, such as the timer interrupt, are shorter than the
 * sampler's.  A run without a sampler shows how many of them are longer.
 *
 * Periods in which another process took the thread's CPU are left out.  The kernel counts a stop for a tracer as a
 * voluntary context switch, and the loss of the CPU to another process as an involuntary one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { DEPTH = 30 };

/* A context switch takes longer than this. */
static const uint64_t SWITCH_MIN_NS = 2000;

static const uint64_t SETTLE_NS = 1000000000; /* time for a sampler to attach */

static uint64_t period_ns, period_count;
static uint64_t *longest_ns;             /* one for each period; 0: left out */
static volatile int sink;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether another process took the CPU since the last call. */
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
	uint64_t begin_ns = now_ns() + SETTLE_NS, previous_ns = 0, preempted_period = UINT64_MAX;

	while (now_ns() < begin_ns)
		;
	preempted();
	previous_ns = now_ns();
	for (;;) {
		uint64_t ns = now_ns(), period = (ns - begin_ns) / period_ns;

		if (period >= period_count)
			return;
		if (ns - previous_ns >= SWITCH_MIN_NS && preempted())
			preempted_period = period;
		/* A gap across the end of a period counts for the period in which it ends. */
		if (period == preempted_period)
			longest_ns[period] = 0;
		else if (ns - previous_ns > longest_ns[period])
			longest_ns[period] = ns - previous_ns;
		previous_ns = ns;
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
	/* Touch the pages now: a page fault would be a gap. */
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
