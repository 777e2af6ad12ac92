/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_TRANSACTIONS_H
#define VG_BENCH_TRANSACTIONS_H

#include <stdint.h>

#include "bench/latencies.h"

/*
 * The transactions that a pgbench has done, by the file that it writes with --log: a line for each, of
 * which the third column is its latency in us, the fifth and sixth the seconds and us at its end
 * (pgbench(1), "Per-Transaction Logging").
 *
 * A benchmark's: what fails ends it.
 */

/* The file of a pgbench that runs. */
void transactions_open(const char *path);

/* Now, by the clock that pgbench tells. */
uint64_t transactions_now_us(void);

/* What ended in that time, which begins after that of the call before.  Waits for the line of one that
 * ended later: pgbench writes many at once. */
struct figures transactions_between(uint64_t begin_us, uint64_t end_us);

#endif
