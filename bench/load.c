/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bench/load.h"

#include <arpa/inet.h>
#include <math.h>
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
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 64, REQUESTS_BYTES = 1 << 12, ANSWER_BYTES = 1 << 16, ANSWER_WAIT_US = 100 * 1000, NOTED_US = 1000 };

/* Latencies are told apart by the microsecond; what takes longer than the last is in the last. */
enum { LATENCY_MAX_US = 100 * 1000 };

static const struct shape {
	const char *name, *request;
	int connections, pipeline;
} shapes[] = {
	/* What redis-benchmark sends for "-t get", from as many clients as it has by default. */
	{ "redis", "*2\r\n$3\r\nGET\r\n$16\r\nkey:__rand_int__\r\n", 50, 1 },
	{ "redis-pipelined", "*2\r\n$3\r\nGET\r\n$16\r\nkey:__rand_int__\r\n", 50, 16 },
	/* wrk's default. */
	{ "nginx", "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n", 10, 1 },
};

struct connection {
	int fd;
	size_t got_bytes;            /* of the answers to what was asked last */
	uint64_t asked_ns;
};

static struct {
	int port;
	int pipeline;
	char requests[REQUESTS_BYTES];
	size_t requests_bytes, answers_bytes;
	struct connection connections[CONNECTIONS_MAX];
	int connection_count;
} load;

struct latencies {
	uint64_t count;
	uint32_t by_us[LATENCY_MAX_US];
};

/* The load is a process of its own, as a client is: a sampler that shared its memory would take a CPU
 * from it too easily. */
static struct shared {
	_Atomic uint64_t answers;
	_Atomic bool noting;         /* latencies are noted */
	struct latencies noted;
} *shared;

static void load_fail(const char *what)
{
	perror(what);
	exit(1);
}

uint64_t load_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void connection_ask(struct connection *connection)
{
	connection->got_bytes = 0;
	connection->asked_ns = load_now_ns();
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
	uint64_t us = (load_now_ns() - connection->asked_ns) / 1000;

	if (atomic_load(&shared->noting)) {
		shared->noted.by_us[us < LATENCY_MAX_US ? us : LATENCY_MAX_US - 1]++;
		shared->noted.count++;
	}
	atomic_fetch_add_explicit(&shared->answers, (uint64_t)load.pipeline, memory_order_relaxed);
	connection_ask(connection);
}

static _Noreturn void load_run(void)
{
	struct epoll_event events[CONNECTIONS_MAX];
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	for (int i = 0; i < load.connection_count; i++) {
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

/* How long answers are: they all are alike. */
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
	load.port = port;
	load.pipeline = shape->pipeline;
	load.connection_count = shape->connections;
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

void load_wait(uint64_t window_ns)
{
	struct timespec left = { (time_t)(window_ns / 1000000000), (long)(window_ns % 1000000000) };

	nanosleep(&left, NULL);
}

/* Within a microsecond, latencies are taken to be spread evenly. */
static double p99_us(const struct latencies *of)
{
	double want = 0.99 * (double)of->count, below = 0;
	int us = 0;

	while (us < LATENCY_MAX_US - 1 && below + of->by_us[us] < want)
		below += of->by_us[us++];
	return us + (of->by_us[us] > 0 ? (want - below) / of->by_us[us] : 0);
}

struct window {
	double per_s, p99_us;
};

/* Adds its latencies to those of all windows of the kind. */
static struct window window_run(void (*run)(uint64_t window_ns), uint64_t window_ns,
				struct latencies *all)
{
	struct latencies *own = &shared->noted;
	uint64_t begin_ns, before;
	struct window window;

	memset(own, 0, sizeof *own);
	begin_ns = load_now_ns();
	before = shared->answers;
	atomic_store(&shared->noting, true);
	run(window_ns);
	atomic_store(&shared->noting, false);
	window.per_s = (double)(shared->answers - before) / (double)(load_now_ns() - begin_ns) * 1e9;
	usleep(NOTED_US);
	if (own->count == 0) {
		fprintf(stderr, "the server has stopped answering\n");
		exit(1);
	}
	window.p99_us = p99_us(own);
	all->count += own->count;
	for (int us = 0; us < LATENCY_MAX_US; us++)
		all->by_us[us] += own->by_us[us];
	return window;
}

/* In %, against the geometric mean of the two: noise that doubles a figure as often as it halves it is
 * no change. */
static double change(double with, double before, double after)
{
	return 100 * log(with / sqrt(before * after));
}

void load_compare(const struct load_sampler *sampler, int pairs, uint64_t window_ns)
{
	static struct latencies all[2];
	struct window before = window_run(load_wait, window_ns, &all[0]), with, after;

	for (int i = 0; i < pairs; i++) {
		sampler->on();
		with = window_run(sampler->run, window_ns, &all[1]);
		sampler->off();
		after = window_run(load_wait, window_ns, &all[0]);
		printf("pair %.4f %.4f %.1f %.2f\n", change(with.per_s, before.per_s, after.per_s),
		       change(with.p99_us, before.p99_us, after.p99_us), after.per_s, after.p99_us);
		before = after;
	}
	printf("p99 %.2f %.2f\n", p99_us(&all[0]), p99_us(&all[1]));
}
