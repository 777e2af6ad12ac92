/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_SPIN_H
#define VG_TESTS_SPIN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Runs for at least so long, and for as long as a CPU was really there: of each gap between two looks
 * at the clock a millisecond counts, so that a machine that stands still for a second does not take the
 * samples that a test waits for.
 *
 *     for (struct spin spin = spin_begin(300); spin_on(&spin);)
 *             ;
 */
struct spin {
	uint64_t left_ns, looked_ns;
};

static inline uint64_t spin_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t spin_now_ns(void)
{
	return spin_clock_ns(CLOCK_MONOTONIC);
}

/* What the thread has used. */
static inline uint64_t spin_cpu_ns(void)
{
	return spin_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline struct spin spin_begin(uint64_t ms)
{
	return (struct spin){ ms * 1000000, spin_now_ns() };
}

static inline bool spin_on(struct spin *spin)
{
	uint64_t now_ns = spin_now_ns(), gap_ns = now_ns - spin->looked_ns;

	if (gap_ns > 1000000)
		gap_ns = 1000000;
	spin->looked_ns = now_ns;
	spin->left_ns -= gap_ns < spin->left_ns ? gap_ns : spin->left_ns;
	return spin->left_ns > 0;
}

#endif
