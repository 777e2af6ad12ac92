/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_COMPARE_H
#define VG_BENCH_COMPARE_H

#include <stdint.h>

/*
 * A server under load with a sampler and without: windows of both kinds follow one another.  The load
 * is one of load.h or a pgbench; it goes on.
 *
 * A benchmark's: what fails ends it.
 */

/* on() and off() are not measured; run() lasts until the descriptor can be read. */
struct sampler {
	void (*on)(void);
	void (*run)(int end_fd);
	void (*off)(void);
};

/* Says that this fails, and ends. */
_Noreturn void compare_fail(const char *what);

/* A run() that does nothing. */
void compare_wait(int end_fd);

/* The load: one of load.h by its name, on the server at that port; or a pgbench that runs, and writes that log. */
void compare_load(const char *name, const char *where, uint64_t window_ns);

/* Windows with a sampler that is on, which nobody looks at: until it has found its pace. */
void compare_settle(const struct sampler *sampler);

/* Each window with the sampler is compared with the one before it and with the one after it, which have
 * none.  Prints a line for each of the two:
 *     THROUGHPUT P99 PER_S P99_US
 * the changes of throughput and of the 99th percentile of latency in %, and both without the sampler. */
void compare_run(const struct sampler *sampler, int windows);

#endif
