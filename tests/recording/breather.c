/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * breather SECONDS: alternately runs for 110 ms of CPU time and sleeps for 10 ms.  At the end prints how long it slept
 * and how long the whole run took, in nanoseconds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/spin.h"

enum { WORK_NS = 110 * 1000 * 1000, WAIT_NS = 10 * 1000 * 1000 };

static __attribute__((noinline)) void work(void)
{
	uint64_t until_ns = spin_cpu_ns() + WORK_NS;

	while (spin_cpu_ns() < until_ns)
		__asm__ volatile ("" ::: "memory");
}

static __attribute__((noinline)) void breathe(void)
{
	struct timespec pause = { 0, WAIT_NS };

	nanosleep(&pause, NULL);
	__asm__ volatile ("" ::: "memory"); /* prevents a tail call */
}

int main(int argc, char **argv)
{
	uint64_t begin_ns = spin_now_ns(), waited_ns = 0, now_ns = begin_ns;
	uint64_t length_ns = argc == 2 ? strtoull(argv[1], NULL, 10) * 1000000000u : 0;

	while (now_ns - begin_ns < length_ns) {
		work();
		now_ns = spin_now_ns();
		breathe();
		waited_ns += spin_now_ns() - now_ns;
	}
	printf("%lu %lu\n", (unsigned long)waited_ns,
	       (unsigned long)(spin_now_ns() - begin_ns));
	return 0;
}
