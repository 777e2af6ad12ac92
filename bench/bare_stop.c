/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stops a thread and continues it, at a steady rate, COUNT times or until the thread exits.  Reads nothing from it.  A
 * sampler that stops threads cannot do less.  The exit status is 0 if the thread was stopped at least once.
 *
 *     bare_stop PID HZ [COUNT]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#include "bench/stop.h"

int main(int argc, char **argv)
{
	uint64_t period_ns, next_ns = vg_now_ns();
	long left = argc == 4 ? atol(argv[3]) : -1, stops = 0;
	pid_t tid;

	if (argc < 3 || argc > 4 || atoi(argv[1]) <= 0 || atoi(argv[2]) <= 0) {
		fprintf(stderr, "usage: bare_stop PID HZ [COUNT]\n");
		return 2;
	}
	tid = atoi(argv[1]);
	period_ns = 1000000000u / (uint64_t)atoi(argv[2]);
	while (left-- != 0 && stop_and_continue(tid) == 0) {
		struct timespec when;

		stops++;
		do
			next_ns += period_ns;
		while (next_ns <= vg_now_ns());
		when = (struct timespec){ (time_t)(next_ns / 1000000000u),
					  (long)(next_ns % 1000000000u) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
	}
	return stops > 0 ? 0 : 1;
}
