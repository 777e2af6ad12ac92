/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bench/compare.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/around.h"
#include "bench/load.h"
#include "bench/transactions.h"

enum { CSV_BYTES = 4096, SLACK_NS = 50 * 1000 };
static const uint64_t SETTLE_NS = UINT64_C(3) * 1000 * 1000 * 1000;

/* Short, 0.2 s: what else the machine does is alike in neighbours only. */
enum { REQUESTS = 20000, STEP_US = 8 };

static struct {
	enum { LOAD_OURS, LOAD_BENCHMARK, LOAD_PGBENCH } kind;
	const char *where;
	char requests[12];
	uint64_t window_ns;
	pid_t pid;                   /* of redis-benchmark */
	int output;
} load;

void compare_fail(const char *what)
{
	fprintf(stderr, "%s fails\n", what);
	exit(1);
}

/* ---- redis-benchmark ---- */

/* As a shell would start it, whatever the sampler that we are has asked of the kernel for itself: with
 * no slice of its own, no better nice value, and the default slack. */
static _Noreturn void program_become(int output)
{
	/* struct sched_attr of sched_setattr(2): its size, and 0 for all else. */
	static const uint32_t ordinary[12] = { sizeof ordinary };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	syscall(SYS_sched_setattr, 0, ordinary, 0);
	prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
	dup2(output, STDOUT_FILENO);
	execlp("redis-benchmark", "redis-benchmark", "-p", load.where, "-t", "get", "-n",
	       load.requests, "--csv", (char *)NULL);
	_exit(127);
}

/* A descriptor that can be read when it has ended. */
static int program_start(void)
{
	int ends[2], end_fd;

	if (pipe(ends) != 0)
		compare_fail("pipe");
	load.pid = fork();
	if (load.pid == 0)
		program_become(ends[1]);
	close(ends[1]);
	load.output = ends[0];
	end_fd = load.pid > 0 ? pidfd_open(load.pid, 0) : -1;
	if (end_fd < 0)
		compare_fail("redis-benchmark");
	return end_fd;
}

static struct figures program_figures(void)
{
	FILE *output = fdopen(load.output, "r");
	struct figures figures;
	char line[CSV_BYTES];
	double p99_ms;

	/* Below a line of names: test, rps, avg, min, p50, p95, p99, max. */
	if (output == NULL || fgets(line, sizeof line, output) == NULL ||
	    fgets(line, sizeof line, output) == NULL ||
	    sscanf(line, "\"GET\",\"%lf\",\"%*f\",\"%*f\",\"%*f\",\"%*f\",\"%lf\"", &figures.per_s,
		   &p99_ms) != 2)
		compare_fail("redis-benchmark");
	fclose(output);
	waitpid(load.pid, NULL, 0);
	/* It tells the end of a step of 8 us, and divides by whole milliseconds: a median of so few
	 * different values would stand still until it jumps. */
	figures.p99_us = 1000 * p99_ms - STEP_US * drand48();
	figures.per_s = REQUESTS / (REQUESTS / figures.per_s + 0.001 * (drand48() - 0.5));
	return figures;
}

/* ---- windows ---- */

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
	int end_fd = load.kind == LOAD_BENCHMARK ? program_start() : timer_start(load.window_ns);
	uint64_t begin_us = transactions_now_us();
	struct figures figures;

	if (load.kind == LOAD_OURS)
		load_note();
	run(end_fd);
	switch (load.kind) {
	case LOAD_OURS: figures = load_noted(); break;
	case LOAD_BENCHMARK: figures = program_figures(); break;
	case LOAD_PGBENCH: figures = transactions_between(begin_us, transactions_now_us()); break;
	}
	close(end_fd);
	return figures;
}

void compare_load(const char *name, const char *where, uint64_t window_ns)
{
	load.where = where;
	load.window_ns = window_ns;
	snprintf(load.requests, sizeof load.requests, "%d", REQUESTS);
	if (strcmp(name, "redis-benchmark") == 0) {
		load.kind = LOAD_BENCHMARK;
	} else if (strcmp(name, "pgbench") == 0) {
		load.kind = LOAD_PGBENCH;
		transactions_open(where);
	} else {
		load_start(name, atoi(where));
	}
}

void compare_settle(const struct sampler *sampler)
{
	uint64_t end_ns = vg_now_ns() + SETTLE_NS;

	while (vg_now_ns() < end_ns)
		window_run(sampler->run);
}

/* What doubles as often as it halves is no change to a median of such. */
static void compared(const struct figures *with, const struct figures *without)
{
	printf("%.4f %.4f %.1f %.2f\n", 100 * (with->per_s / without->per_s - 1),
	       100 * (with->p99_us / without->p99_us - 1), without->per_s, without->p99_us);
}

void compare_run(const struct sampler *sampler, int windows)
{
	struct figures without = window_run(compare_wait), with;
	double percent, error;

	for (int i = 0; i < windows; i++) {
		around_begin();
		sampler->on();
		with = window_run(sampler->run);
		sampler->off();
		around_end();
		compared(&with, &without);
		without = window_run(compare_wait);
		compared(&with, &without);
	}
	if (load.kind == LOAD_PGBENCH && around_p99(&percent, &error))
		printf("around %.4f %.4f\n", percent, error);
}
