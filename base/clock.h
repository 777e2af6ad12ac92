/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_CLOCK_H
#define VG_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* 0: the clock cannot be read, for example the CPU time of a process that has ended. */
static inline uint64_t vg_clock_ns(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Current time of CLOCK_MONOTONIC. */
static inline uint64_t vg_now_ns(void)
{
	return vg_clock_ns(CLOCK_MONOTONIC);
}

/* CPU time that this process has used, user and system. */
static inline uint64_t vg_own_cpu_ns(void)
{
	return vg_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* CPU time that this thread has used. */
static inline uint64_t vg_thread_cpu_ns(void)
{
	return vg_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Returns the CLOCK_MONOTONIC time at which this thread got a CPU after a wait.  cpu_ns: vg_thread_cpu_ns() immediately
 * before the wait. */
static inline uint64_t vg_got_cpu_ns(uint64_t cpu_ns)
{
	return vg_now_ns() - (vg_thread_cpu_ns() - cpu_ns);
}

/* Time from one scheduler tick to the next.  The resolution of the coarse clock is one tick.  If the resolution cannot
 * be read, returns 4 ms, the tick of kernels with 250 Hz. */
static inline uint64_t vg_scheduler_tick_ns(void)
{
	struct timespec tick = { .tv_nsec = 4000 * 1000 };

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	return (uint64_t)tick.tv_nsec;
}

#endif
