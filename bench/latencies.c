/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bench/latencies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void latencies_clear(struct latencies *latencies)
{
	memset(latencies, 0, sizeof *latencies);
}

void latencies_add(struct latencies *latencies, uint64_t us)
{
	latencies->by_us[us < LATENCY_MAX_US ? us : LATENCY_MAX_US - 1]++;
	latencies->count++;
}

/* Interpolates within one microsecond. */
static double p99_us(const struct latencies *latencies)
{
	double want = 0.99 * (double)latencies->count, below = 0;
	int us = 0;

	while (us < LATENCY_MAX_US - 1 && below + latencies->by_us[us] < want)
		below += latencies->by_us[us++];
	return us + (latencies->by_us[us] > 0 ? (want - below) / latencies->by_us[us] : 0);
}

struct figures latencies_figures(const struct latencies *latencies, uint64_t answers, uint64_t ns)
{
	if (latencies->count == 0) {
		fprintf(stderr, "toggle: the server has answered nothing in a window\n");
		exit(1);
	}
	return (struct figures){ (double)answers / (double)ns * 1e9, p99_us(latencies) };
}
