/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_FLOORS_H
#define VG_BENCH_FLOORS_H

#include <stdint.h>
#include <sys/types.h>

#include "bench/compare.h"

/*
 * Samplers that do one part of a sampler's work, in the plain way, and no more: what this part costs.
 *
 *     waking      wakes as often: whatever looks at the server so often from outside
 *     stopping    wakes as often, stops the process's first thread and lets it go
 *     timers      has the kernel sample all threads, and fetches nothing
 *
 * A benchmark's: what fails ends it.
 */

/* NULL: there is none of that name. */
const struct sampler *floors_begin(const char *name, pid_t pid, uint64_t period_ns);

#endif
