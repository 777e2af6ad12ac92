/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_LATENCIES_H
#define VG_BENCH_LATENCIES_H

#include <stdint.h>

/*
 * How long answers took, and what they come to.
 *
 * A benchmark's: what fails ends it.
 */

/* What takes longer than the last microsecond is in the last. */
enum { LATENCY_MAX_US = 100 * 1000 };

struct latencies {
	uint64_t count;
	uint32_t by_us[LATENCY_MAX_US];
};

struct figures {
	double per_s, p99_us;        /* throughput, and the 99th percentile of latency */
};

void latencies_clear(struct latencies *latencies);
void latencies_note(struct latencies *latencies, uint64_t us);

/* Of so many answers in that time; of a pipeline's, one latency is noted.  Fails where none is. */
struct figures latencies_figures(const struct latencies *latencies, uint64_t answers, uint64_t ns);

#endif
