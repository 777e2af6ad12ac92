/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_TRANSACTIONS_H
#define VG_BENCH_TRANSACTIONS_H

#include <stdint.h>

#include "bench/latencies.h"

/*
 * Reads the latencies of transactions from the file that `pgbench --log` writes.  Each line is a transaction: column 3
 * is its latency in us, columns 5 and 6 are the seconds and microseconds of its end (pgbench(1), "Per-Transaction
 * Logging").
 *
 *     transactions_open("transactions.4711");
 *     begin_us = transactions_now_us();
 *     ...
 *     figures = transactions_between(begin_us, transactions_now_us());
 *
 * An error ends the benchmark.
 */

/* Opens the file of a running pgbench, at its end. */
void transactions_open(const char *path);

/* The present time on the clock that the file uses: CLOCK_REALTIME. */
uint64_t transactions_now_us(void);

/* Returns the figures of the transactions that ended in that window.  Windows must not overlap, and must be passed in
 * the order of time.  Waits until the file has a transaction that ended after the window: pgbench writes many lines at
 * once. */
struct figures transactions_between(uint64_t begin_us, uint64_t end_us);

#endif
