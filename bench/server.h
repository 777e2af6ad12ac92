/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_SERVER_H
#define VG_BENCH_SERVER_H

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A client of redis-server or nginx that asks how much they have done, and for how long one request
 * takes.  A benchmark's: what fails ends it. */
struct server {
	const char *ask, *count, *counted; /* a request, one for the counter, what it stands behind */
	int skip;                    /* numbers between that and the counter */
};

static const struct server server_redis = {
	"PING\r\n", "INFO stats\r\n", "total_commands_processed:", 0,
};
static const struct server server_nginx = {
	"GET /page HTTP/1.1\r\nHost: x\r\n\r\n", "GET /status HTTP/1.1\r\nHost: x\r\n\r\n",
	"server accepts handled requests", 2,
};

static inline const struct server *server_named(const char *name)
{
	return strcmp(name, "nginx") == 0 ? &server_nginx : &server_redis;
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void server_fail(const char *what)
{
	perror(what);
	exit(1);
}

static inline int server_connect(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		server_fail("connect");
	return fd;
}

/* Answers to small requests arrive whole; a long one has as many bytes as the first time. */
static inline size_t server_ask(int fd, const char *request, char *answer, size_t size,
				size_t at_least)
{
	size_t got = 0;

	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		server_fail("send");
	do {
		ssize_t more = recv(fd, answer + got, size - 1 - got, 0);

		if (more <= 0)
			server_fail("recv");
		got += (size_t)more;
	} while (got < at_least);
	answer[got] = '\0';
	return got;
}

/* Requests that the server has answered. */
static inline double server_counter(int fd, const struct server *server)
{
	static char answer[1 << 16];
	char *at;

	server_ask(fd, server->count, answer, sizeof answer, 0);
	at = strstr(answer, server->counted);
	if (at == NULL)
		server_fail("the server's counter");
	at += strlen(server->counted);
	for (int i = 0; i < server->skip; i++)
		strtod(at, &at);
	return strtod(at, NULL);
}

static inline int server_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

#endif
