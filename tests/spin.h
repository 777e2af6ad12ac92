/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_SPIN_H
#define VG_TESTS_SPIN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * A busy loop that runs until it has had the CPU for a given time.  At most 1 ms of each gap between two clock reads
 * counts.  So a test gets its samples even on a machine that stands still for a second.
 *
 *     for (struct spin spin = spin_begin(300); spin_on(&spin);)
 *             ;
 */
struct spin {
	uint64_t left_ns, read_ns;
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

/* CPU time of the thread. */
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
	uint64_t now_ns = spin_now_ns(), gap_ns = now_ns - spin->read_ns;

	if (gap_ns > 1000000)
		gap_ns = 1000000;
	spin->read_ns = now_ns;
	spin->left_ns -= gap_ns < spin->left_ns ? gap_ns : spin->left_ns;
	return spin->left_ns > 0;
}

#endif
