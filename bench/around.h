/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_AROUND_H
#define VG_BENCH_AROUND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a sampler's ticks do to the requests that they meet.  Beside each tick is the moment halfway to the next
 * one, when nothing is done: had there been no ticks, those requests that met one would have taken as long as
 * those that met such a moment do.  Whatever else the machine does is alike around both, so that some minutes
 * tell the 99th percentile to half a percent; windows with a sampler and without would have to be 30 times as
 * many.
 *
 * It tells of ticks only, not of what a sampler does all the time, as the kernel's timers do; and of what they do
 * to requests that begin within a millisecond: what lasts until the moment halfway is not seen.  Windows are
 * for that.  For requests of one connection, whose answers come in order, and ticks that are some times farther
 * apart than these last.  Times are in microseconds of the wall clock.
 *
 * A benchmark's: what fails ends it.
 */

/* A window with a sampler.  Outside of one, nothing is noted. */
void around_begin(void);
void around_end(void);

/* Nothing of the window counts: ticks are not all that the sampler does. */
void around_drop(void);

void around_tick(uint64_t at_us);
void around_answer(uint64_t at_us, uint64_t latency_us);

/* By how many percent the 99th percentile is higher for the ticks, and the standard error of that, by windows
 * drawn again and again.  False: nothing was noted. */
bool around_p99(double *percent, double *error);

#endif
