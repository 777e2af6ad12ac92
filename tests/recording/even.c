/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * even cpu|wall SECONDS: a cycle of four functions, 2.5 ms each and 100 times a second, for so long: by what the
 * thread has used, which it does all the time; or by the clock, asleep.
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

/* What follows the call keeps it from becoming a jump. */
#define FUNCTION(name) \
static __attribute__((noinline)) void name(uint64_t end_ns) \
{ \
	until(end_ns); \
	__asm__ volatile ("# " #name); \
}
FUNCTION(spend_first)
FUNCTION(spend_second)
FUNCTION(spend_third)
FUNCTION(spend_fourth)

int main(int argc, char **argv)
{
	uint64_t at_ns, end_ns;

	if (argc != 3)
		return 2;
	by = strcmp(argv[1], "cpu") == 0 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
	at_ns = spin_clock_ns(by);
	end_ns = at_ns + strtoull(argv[2], NULL, 10) * 1000000000;
	while (at_ns < end_ns) {
		spend_first(at_ns += QUARTER_NS);
		spend_second(at_ns += QUARTER_NS);
		spend_third(at_ns += QUARTER_NS);
		spend_fourth(at_ns += QUARTER_NS);
	}
	return 0;
}
