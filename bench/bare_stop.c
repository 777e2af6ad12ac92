/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The least that a sampler which stops a thread can do to it: stops it and lets it go, at a
 * steady rate, COUNT times or until it is gone.  Nothing is read from it.  Ends with 0 if it could at all.
 *
 *     bare_stop PID HZ [COUNT]
 *
 * The stop is polled for up to 100 us and then waited for, as any sampler that minds the pause
 * would: it is the floor of vignetted's pause, not a straw man.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

static const uint64_t POLL_NS = 100 * 1000;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* 0, or -1: the thread is gone. */
static int stop_and_go(pid_t tid)
{
	uint64_t since_ns = now_ns();
	int status;
	pid_t got;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return -1;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	do
		got = waitpid(tid, &status, WNOHANG | __WALL);
	while (got == 0 && now_ns() - since_ns < POLL_NS);
	if (got == 0)
		got = waitpid(tid, &status, __WALL);
	if (got < 0 || !WIFSTOPPED(status))
		return -1;
	ptrace(PTRACE_DETACH, tid, NULL, status >> 16 == 0 ? WSTOPSIG(status) : 0);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t period_ns, next_ns = now_ns();
	long left = argc == 4 ? atol(argv[3]) : -1, stops = 0;
	pid_t tid;

	if (argc < 3 || argc > 4 || atoi(argv[1]) <= 0 || atoi(argv[2]) <= 0) {
		fprintf(stderr, "usage: bare_stop PID HZ [COUNT]\n");
		return 2;
	}
	tid = atoi(argv[1]);
	period_ns = 1000000000u / (uint64_t)atoi(argv[2]);
	while (left-- != 0 && stop_and_go(tid) == 0) {
		struct timespec when;

		stops++;
		do
			next_ns += period_ns;
		while (next_ns <= now_ns());
		when = (struct timespec){ (time_t)(next_ns / 1000000000u),
					  (long)(next_ns % 1000000000u) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
	}
	return stops > 0 ? 0 : 1;
}
