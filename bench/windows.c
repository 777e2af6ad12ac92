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
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SETTLE_US = 500 * 1000, CALM_US = 100 * 1000, ASK_EVERY_US = 500, ASKS_MAX = 1 << 16 };

struct server {
	const char *ask, *count, *counted; /* a request, one for the counter, what it stands behind */
	int skip;                    /* numbers between that and the counter */
};

static const struct server redis = { "PING\r\n", "INFO stats\r\n", "total_commands_processed:", 0 };
static const struct server nginx = {
	"GET /page HTTP/1.1\r\nHost: x\r\n\r\n", "GET /status HTTP/1.1\r\nHost: x\r\n\r\n",
	"server accepts handled requests", 2,
};

struct window {
	double per_s, p99_us;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int server_connect(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		fail("connect");
	return fd;
}

/* Answers to small requests arrive whole; a long one has as many bytes as the first time. */
static size_t ask(int fd, const char *request, char *answer, size_t size, size_t at_least)
{
	size_t got = 0;

	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		fail("send");
	do {
		ssize_t more = recv(fd, answer + got, size - 1 - got, 0);

		if (more <= 0)
			fail("recv");
		got += (size_t)more;
	} while (got < at_least);
	answer[got] = '\0';
	return got;
}

static double counter_read(int fd, const struct server *server)
{
	static char answer[1 << 16];
	char *at;

	ask(fd, server->count, answer, sizeof answer, 0);
	at = strstr(answer, server->counted);
	if (at == NULL)
		fail("the server's counter");
	at += strlen(server->counted);
	for (int i = 0; i < server->skip; i++)
		strtod(at, &at);
	return strtod(at, NULL);
}

static int order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct window window_watch(int fd, const struct server *server, uint64_t window_ns)
{
	static uint64_t waited_ns[ASKS_MAX];
	static size_t length;
	static char answer[1 << 16];
	double before = counter_read(fd, server);
	uint64_t begin_ns = now_ns(), end_ns = begin_ns;
	struct window window;
	size_t count = 0;

	while (end_ns - begin_ns < window_ns && count < ASKS_MAX) {
		uint64_t since_ns = now_ns();

		length = ask(fd, server->ask, answer, sizeof answer, length);
		end_ns = now_ns();
		waited_ns[count++] = end_ns - since_ns;
		usleep(ASK_EVERY_US);
	}
	window.per_s = (counter_read(fd, server) - before) / (double)(now_ns() - begin_ns) * 1e9;
	qsort(waited_ns, count, sizeof *waited_ns, order);
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
	server = strcmp(argv[1], "nginx") == 0 ? &nginx : &redis;
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
