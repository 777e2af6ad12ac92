/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a sampler costs a server that is under load all the time: windows with the sampler and
 * windows without follow one another, and each of the former is compared with the mean of its two
 * neighbours.  A server that goes on, and windows of a second, leave little room for drift.
 *
 *     windows redis|nginx PORT PAIRS WINDOW_MS COMMAND [ARGUMENT ...]
 *
 * COMMAND is the sampler; it is started anew for each of its windows, given time to attach, and
 * ended with SIGINT.  Throughput is what the server itself counts; latency is that of a client of
 * its own, which asks once in half a millisecond.  Prints for each pair the change of throughput
 * and of the 99th percentile of latency in %, then requests a second and that percentile in us
 * without the sampler.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "bench/server.h"

enum { SETTLE_US = 500 * 1000, CALM_US = 100 * 1000, ASK_EVERY_US = 500, ASKS_MAX = 1 << 16 };

struct window {
	double per_s, p99_us;
};

static struct window window_watch(int fd, const struct server *server, uint64_t window_ns)
{
	static uint64_t waited_ns[ASKS_MAX];
	static size_t length;
	static char answer[1 << 16];
	double before = server_counter(fd, server);
	uint64_t begin_ns = now_ns(), end_ns = begin_ns;
	struct window window;
	size_t count = 0;

	while (end_ns - begin_ns < window_ns && count < ASKS_MAX) {
		uint64_t since_ns = now_ns();

		length = server_ask(fd, server->ask, answer, sizeof answer, length);
		end_ns = now_ns();
		waited_ns[count++] = end_ns - since_ns;
		usleep(ASK_EVERY_US);
	}
	window.per_s = (server_counter(fd, server) - before) / (double)(now_ns() - begin_ns) * 1e9;
	qsort(waited_ns, count, sizeof *waited_ns, server_order);
	window.p99_us = (double)waited_ns[count - 1 - count / 100] / 1000;
	return window;
}

static pid_t sampler_start(char **command)
{
	pid_t pid = fork();

	if (pid == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	usleep(SETTLE_US);
	if (waitpid(pid, NULL, WNOHANG) != 0) {
		fprintf(stderr, "windows: %s has ended\n", command[0]);
		exit(1);
	}
	return pid;
}

static void sampler_stop(pid_t pid)
{
	kill(pid, SIGINT);
	waitpid(pid, NULL, 0);
	usleep(CALM_US);
}

int main(int argc, char **argv)
{
	const struct server *server;
	struct window before, with, after;
	uint64_t window_ns;
	int fd, pairs;

	if (argc < 6) {
		fprintf(stderr, "usage: windows redis|nginx PORT PAIRS WINDOW_MS COMMAND [ARGUMENT ...]\n");
		return 2;
	}
	server = server_named(argv[1]);
	fd = server_connect(atoi(argv[2]));
	pairs = atoi(argv[3]);
	window_ns = (uint64_t)atoi(argv[4]) * 1000000;
	before = window_watch(fd, server, window_ns);
	for (int i = 0; i < pairs; i++) {
		pid_t pid = sampler_start(argv + 5);

		with = window_watch(fd, server, window_ns);
		sampler_stop(pid);
		after = window_watch(fd, server, window_ns);
		printf("%.4f %.4f %.1f %.1f\n",
		       100 * (with.per_s / ((before.per_s + after.per_s) / 2) - 1),
		       100 * (with.p99_us / ((before.p99_us + after.p99_us) / 2) - 1),
		       after.per_s, after.p99_us);
		before = after;
	}
	return 0;
}
