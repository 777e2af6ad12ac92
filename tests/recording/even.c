/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * even cpu|wall SECONDS: runs four functions in turn, each for 2.5 ms, so that the cycle repeats 100 times a second.
 * "cpu": the functions run, and times are CPU time.  "wall": the functions sleep, and times are wall time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/spin.h"

enum { QUARTER_NS = 2500 * 1000 };

static clockid_t by;

static void until(uint64_t end_ns)
{
	struct timespec end = { (time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000) };

	if (by == CLOCK_MONOTONIC) {
		clock_nanosleep(by, TIMER_ABSTIME, &end, NULL);
		return;
	}
	while (spin_cpu_ns() < end_ns)
		;
}

/* The asm after the call prevents a tail call. */
#define FUNCTION(name) \
static __attribute__((noinline)) void name(uint64_t end_ns) \
{ \
	until(end_ns); \
	__asm__ volatile ("# " #name); \
}
FUNCTION(quarter_first)
FUNCTION(quarter_second)
FUNCTION(quarter_third)
FUNCTION(quarter_fourth)

int main(int argc, char **argv)
{
	uint64_t at_ns, end_ns;

	if (argc != 3)
		return 2;
	by = strcmp(argv[1], "cpu") == 0 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
	at_ns = spin_clock_ns(by);
	end_ns = at_ns + strtoull(argv[2], NULL, 10) * 1000000000;
	while (at_ns < end_ns) {
		quarter_first(at_ns += QUARTER_NS);
		quarter_second(at_ns += QUARTER_NS);
		quarter_third(at_ns += QUARTER_NS);
		quarter_fourth(at_ns += QUARTER_NS);
	}
	return 0;
}
