/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bench/compare.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/load.h"
#include "bench/transactions.h"

static const uint64_t SETTLE_NS = UINT64_C(3) * 1000 * 1000 * 1000;

static struct {
	bool is_pgbench;             /* otherwise a load of load.h */
	uint64_t window_ns;
} load;

void compare_fail(const char *what)
{
	fprintf(stderr, "toggle: %s failed\n", what);
	exit(1);
}

static int timer_start(uint64_t ns)
{
	struct itimerspec timer = {
		.it_value = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) },
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd < 0 || timerfd_settime(fd, 0, &timer, NULL) != 0)
		compare_fail("timerfd");
	return fd;
}

void compare_wait(int end_fd)
{
	struct pollfd end = { .fd = end_fd, .events = POLLIN };

	poll(&end, 1, -1);
}

static struct figures window_run(void (*run)(int end_fd))
{
	int end_fd = timer_start(load.window_ns);
	uint64_t begin_us = transactions_now_us();
	struct figures figures;

	if (!load.is_pgbench)
		load_begin();
	run(end_fd);
	figures = load.is_pgbench ? transactions_between(begin_us, transactions_now_us()) : load_end();
	close(end_fd);
	return figures;
}

void compare_load(const char *name, const char *where, uint64_t window_ns)
{
	load.window_ns = window_ns;
	load.is_pgbench = strcmp(name, "pgbench") == 0;
	if (load.is_pgbench)
		transactions_open(where);
	else
		load_start(name, atoi(where));
}

void compare_settle(const struct sampler *sampler)
{
	uint64_t end_ns = vg_now_ns() + SETTLE_NS;

	while (vg_now_ns() < end_ns)
		window_run(sampler->run);
}

/* Prints changes in %.  Evaluate them by their median.  If a figure doubles as often as it halves, the mean of its
 * changes is above 0. */
static void changes_print(const struct figures *with, const struct figures *without)
{
	printf("%.4f %.4f %.1f %.2f\n", 100 * (with->per_s / without->per_s - 1),
	       100 * (with->p99_us / without->p99_us - 1), without->per_s, without->p99_us);
}

void compare_run(const struct sampler *sampler, int windows)
{
	struct figures without = window_run(compare_wait), with;

	for (int i = 0; i < windows; i++) {
		sampler->on();
		with = window_run(sampler->run);
		sampler->off();
		changes_print(&with, &without);
		without = window_run(compare_wait);
		changes_print(&with, &without);
	}
}
