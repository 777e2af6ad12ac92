/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_CLOCK_H
#define VG_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t vg_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC. */
static inline uint64_t vg_now_ns(void)
{
	return vg_clock_ns(CLOCK_MONOTONIC);
}

/* The CPU time of this process, user and system. */
static inline uint64_t vg_own_cpu_ns(void)
{
	return vg_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* From one tick of the scheduler to the next: the coarse clock moves at ticks. */
static inline uint64_t vg_scheduler_tick_ns(void)
{
	struct timespec tick = { .tv_nsec = 4000 * 1000 };

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	return (uint64_t)tick.tv_nsec;
}

#endif
