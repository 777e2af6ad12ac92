/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_LOAD_H
#define VG_BENCH_LOAD_H

#include <stdint.h>

/*
 * A closed load on redis-server or nginx, as redis-benchmark and wrk make it: so many connections,
 * and as soon as one has its answers it asks again.  Those tools tell one percentile of a whole run;
 * this one knows for every answer whether it came while a sampler was at work.
 *
 * A benchmark's: what fails ends it.
 */

/* What is compared with nothing: on() and off() are not measured, run() lasts as long as it is told. */
struct load_sampler {
	void (*on)(void);
	void (*run)(uint64_t window_ns);
	void (*off)(void);
};

/* Starts the load that is named redis, redis-pipelined or nginx, on the server at that port of this
 * machine, in a process of its own. */
void load_start(const char *name, int port);

/* Windows without the sampler and with it follow one another; each of the latter is compared with the
 * mean of its two neighbours.  Prints for each pair
 *     pair THROUGHPUT P99 PER_S P99_US
 * the changes of throughput and of the 99th percentile of latency in %, and both without the sampler;
 * then that percentile over all windows of each kind,
 *     p99 WITHOUT_US WITH_US
 */
void load_compare(const struct load_sampler *sampler, int pairs, uint64_t window_ns);

/* A run() that does nothing. */
void load_wait(uint64_t window_ns);

uint64_t load_now_ns(void);

#endif
