/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_LATENCIES_H
#define VG_BENCH_LATENCIES_H

#include <stdint.h>

/*
 * A histogram of a server's latencies, and its figures.  An error ends the benchmark.
 */

/* A longer latency is counted as LATENCY_MAX_US - 1. */
enum { LATENCY_MAX_US = 100 * 1000 };

struct latencies {
	uint64_t count;              /* of all latencies */
	uint32_t by_us[LATENCY_MAX_US];
};

struct figures {
	double per_s, p99_us;        /* throughput in answers per second, and the 99th percentile of latency */
};

void latencies_clear(struct latencies *latencies);
void latencies_add(struct latencies *latencies, uint64_t us);

/* Returns the figures of a window in which `answers` answers arrived in `ns` nanoseconds.  There are more answers than
 * latencies if requests are pipelined.  Exits if there is no latency. */
struct figures latencies_figures(const struct latencies *latencies, uint64_t answers, uint64_t ns);

#endif
