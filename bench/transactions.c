/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bench/transactions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 256, WAIT_US = 1000, WAITS_MAX = 10 * 1000 };

static FILE *log_file;

uint64_t transactions_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Waits for the end of the line: pgbench may have written only a part of the line. */
static void line_read(char line[LINE_BYTES])
{
	for (int waits = 0; waits < WAITS_MAX; waits++) {
		long at = ftell(log_file);

		if (fgets(line, LINE_BYTES, log_file) != NULL && strchr(line, '\n') != NULL)
			return;
		fseek(log_file, at, SEEK_SET);
		usleep(WAIT_US);
	}
	fprintf(stderr, "toggle: pgbench has written nothing to its log for 10 s\n");
	exit(1);
}

/* The end of the file may be within a line, which is skipped. */
void transactions_open(const char *path)
{
	char line[LINE_BYTES];

	log_file = fopen(path, "re");
	if (log_file == NULL || fseek(log_file, 0, SEEK_END) != 0) {
		perror(path);
		exit(1);
	}
	line_read(line);
}

/* Returns the time of the transaction's end, in us. */
static uint64_t transaction_read(uint64_t *latency_us)
{
	char line[LINE_BYTES];
	uint64_t s, us;

	line_read(line);
	if (sscanf(line, "%*u %*u %" SCNu64 " %*u %" SCNu64 " %" SCNu64, latency_us, &s, &us) == 3)
		return s * 1000000 + us;
	fprintf(stderr, "toggle: not a line of pgbench's log: %s", line);
	exit(1);
}

struct figures transactions_between(uint64_t begin_us, uint64_t end_us)
{
	static struct latencies latencies;
	uint64_t latency_us, at_us;

	latencies_clear(&latencies);
	while ((at_us = transaction_read(&latency_us)) < end_us) {
		if (at_us >= begin_us)
			latencies_add(&latencies, latency_us);
	}
	return latencies_figures(&latencies, latencies.count, (end_us - begin_us) * 1000);
}
