/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_FLOORS_H
#define VG_BENCH_FLOORS_H

#include <stdint.h>
#include <sys/types.h>

#include "bench/compare.h"

/*
 * A floor is a sampler that does one part of a sampler's work and nothing else.  Its cost is the cost of that part: a
 * sampler that needs the part cannot cost less.
 *
 *     waking      wakes at each tick
 *     stopping    wakes at each tick, stops the process's first thread and continues it
 *     timers      opens a timer on every thread, and fetches no sample
 *
 * An error ends the benchmark.
 */

/* Returns the floor with that name, or NULL if there is none.  A process can begin only one floor. */
const struct sampler *floors_begin(const char *name, pid_t pid, uint64_t period_ns);

#endif
