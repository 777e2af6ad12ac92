/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_COMPARE_H
#define VG_BENCH_COMPARE_H

#include <stdint.h>

/*
 * Measures a server under load with a sampler and without, in windows of time that alternate.  The load is a load of
 * load.h, or pgbench.  It never pauses.
 *
 *     compare_load("redis", "6379", 300000000);
 *     compare_run(&sampler, 20);
 *
 * An error ends the benchmark.
 */

/* run() returns when end_fd can be read.  The time that on() and off() take belongs to no window. */
struct sampler {
	void (*on)(void);
	void (*run)(int end_fd);
	void (*off)(void);
};

/* Prints that `what` failed, and exits with status 1. */
_Noreturn void compare_fail(const char *what);

/* A run() that only waits. */
void compare_wait(int end_fd);

/* Sets the load, and starts it unless it is "pgbench".  `where` is the server's port, or the log that the running
 * pgbench writes. */
void compare_load(const char *name, const char *where, uint64_t window_ns);

/* Runs the sampler for three seconds without measuring, until its cost is steady. */
void compare_settle(const struct sampler *sampler);

/* Compares each window with the sampler to the windows without the sampler directly before and after it.  Prints a line
 * for each of the two comparisons:
 *
 *     THROUGHPUT P99 PER_S P99_US
 *
 * THROUGHPUT and P99 are the changes of throughput and of the 99th percentile of latency, in %.  PER_S and P99_US are
 * both figures without the sampler, in answers per second and microseconds.
 */
void compare_run(const struct sampler *sampler, int windows);

#endif
