/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bench/load.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	CONNECTIONS_MAX = 64,
	REQUESTS_BYTES = 1 << 12,
	ANSWER_BYTES = 1 << 16,
	ANSWER_WAIT_US = 100 * 1000,
	SETTLE_US = 1000,
};

static const struct shape {
	const char *name, *request;
	int connections, pipeline;
} shapes[] = {
	/* As redis-benchmark -t get, with its default of 50 clients. */
	{ "redis", "*2\r\n$3\r\nGET\r\n$16\r\nkey:__rand_int__\r\n", 50, 1 },
	{ "redis-pipelined", "*2\r\n$3\r\nGET\r\n$16\r\nkey:__rand_int__\r\n", 50, 16 },
	/* With wrk's default of 10 connections. */
	{ "nginx", "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n", 10, 1 },
};

struct connection {
	int fd;
	size_t got_bytes;            /* of the answers to the latest requests */
	uint64_t asked_ns;
};

static struct {
	const struct shape *shape;
	int port;
	char requests[REQUESTS_BYTES];
	size_t requests_bytes, answers_bytes;
	struct connection connections[CONNECTIONS_MAX];
	uint64_t window_begin_ns, answers_before;
} load;

/* The load runs in its own process, as a client does, and shares only this memory with the sampler.  If both were
 * threads of one process, the sampler would take the CPU from the load more easily. */
static struct shared {
	_Atomic uint64_t answers;
	_Atomic bool measuring;      /* latencies are added to the histogram */
	struct latencies latencies;
} *shared;

static void load_fail(const char *what)
{
	perror(what);
	exit(1);
}

static void connection_ask(struct connection *connection)
{
	connection->got_bytes = 0;
	connection->asked_ns = vg_now_ns();
	if (send(connection->fd, load.requests, load.requests_bytes, MSG_NOSIGNAL) !=
	    (ssize_t)load.requests_bytes)
		load_fail("send");
}

static void connection_open(struct connection *connection)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)load.port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection->fd < 0 ||
	    connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0)
		load_fail("connect");
}

static void connection_read(struct connection *connection)
{
	static char answers[ANSWER_BYTES];
	ssize_t got = recv(connection->fd, answers, sizeof answers, 0);

	if (got <= 0)
		load_fail("recv");
	connection->got_bytes += (size_t)got;
}

static void connection_answered(struct connection *connection)
{
	uint64_t us = (vg_now_ns() - connection->asked_ns) / 1000;

	if (atomic_load(&shared->measuring))
		latencies_add(&shared->latencies, us);
	atomic_fetch_add_explicit(&shared->answers, (uint64_t)load.shape->pipeline, memory_order_relaxed);
	connection_ask(connection);
}

static _Noreturn void load_run(void)
{
	struct epoll_event events[CONNECTIONS_MAX];
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	for (int i = 0; i < load.shape->connections; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = &load.connections[i] };

		connection_open(&load.connections[i]);
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, load.connections[i].fd, &event) != 0)
			load_fail("epoll_ctl");
		connection_ask(&load.connections[i]);
	}
	for (;;) {
		int count = epoll_wait(epoll, events, CONNECTIONS_MAX, -1);

		for (int i = 0; i < count; i++) {
			struct connection *connection = events[i].data.ptr;

			connection_read(connection);
			if (connection->got_bytes >= load.answers_bytes)
				connection_answered(connection);
		}
	}
}

/* All answers have the same length. */
static void answers_measure(void)
{
	struct connection connection;

	connection_open(&connection);
	connection_ask(&connection);
	usleep(ANSWER_WAIT_US);
	connection_read(&connection);
	load.answers_bytes = connection.got_bytes;
	close(connection.fd);
}

void load_start(const char *name, int port)
{
	const struct shape *shape = shapes;
	pid_t parent = getpid(), pid;

	while (shape < shapes + sizeof shapes / sizeof *shapes && strcmp(shape->name, name) != 0)
		shape++;
	if (shape == shapes + sizeof shapes / sizeof *shapes) {
		fprintf(stderr, "%s: no such load\n", name);
		exit(2);
	}
	load.shape = shape;
	load.port = port;
	for (int i = 0; i < shape->pipeline; i++)
		strcat(load.requests, shape->request);
	load.requests_bytes = strlen(load.requests);
	answers_measure();
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		load_fail("mmap");
	pid = fork();
	if (pid < 0)
		load_fail("fork");
	if (pid != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() == parent)
		load_run();
	_exit(1);
}

void load_begin(void)
{
	latencies_clear(&shared->latencies);
	load.window_begin_ns = vg_now_ns();
	load.answers_before = shared->answers;
	atomic_store(&shared->measuring, true);
}

struct figures load_end(void)
{
	uint64_t answers, ns;

	atomic_store(&shared->measuring, false);
	answers = shared->answers - load.answers_before;
	ns = vg_now_ns() - load.window_begin_ns;
	usleep(SETTLE_US);
	return latencies_figures(&shared->latencies, answers, ns);
}
