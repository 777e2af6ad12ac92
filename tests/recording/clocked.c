/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * clocked PROGRAM SECONDS [NUMBER]...: programs that measure themselves.  Each calls work_a(), work_b() and rest(),
 * below called a, b and rest, and reads the clocks before and after each call.  At the end it prints the sum of all
 * threads for each function:
 *
 *     FUNCTION WALL_NS CPU_NS
 *
 * The line "all" has the times of the whole threads.
 *
 *     turns SECONDS HZ PERCENT       HZ periods a second: a for PERCENT of the period, then b
 *     naps SECONDS BUSY_US REST_US   a, then rests
 *     chance SECONDS BUSY_US REST_US as naps, but with random lengths; BUSY_US and REST_US are their means
 *     yield SECONDS                  a for 2 us, then sched_yield(); another process runs on the same CPU
 *     pipe SECONDS A_US B_US         a, then sends a byte to another thread, which does b and answers; each thread
 *                                    rests while the other works
 *     births SECONDS HZ A_US B_US    creates HZ threads a second, which do a and b
 *     row SECONDS A_MS B_MS          threads that do a and b, one thread after the other
 *     crowd SECONDS COUNT A_US REST_MS  COUNT threads that do a and rest
 *     alarms SECONDS                 an interval timer sends signals to the process; one thread runs, one polls; prints
 *                                    "polls N": the number of polls that a signal interrupted
 */
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/spin.h"

enum part { WORK_A, WORK_B, REST, ALL, PARTS };

struct times {
	uint64_t wall_ns[PARTS], cpu_ns[PARTS];
};

static const char *const part_names[PARTS] = { "work_a", "work_b", "rest", "all" };
static struct times sums;
static pthread_mutex_t sums_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct times own;
static uint64_t end_ns;
static double numbers[3];

/* Two equal functions; the factor keeps the linker from folding them into one. */
#define WORK(name, factor) \
static __attribute__((noinline)) void name(clockid_t clock, uint64_t until_ns) \
{ \
	uint64_t value = until_ns; \
\
	do { \
		for (int i = 0; i < 200; i++) \
			value = value * factor + 1; \
		__asm__ volatile ("" : "+r" (value)); \
	} while (spin_clock_ns(clock) < until_ns); \
}
WORK(work_a, 3)
WORK(work_b, 5)

/* Returns the CPU time that the thread will have after `ns` more. */
static uint64_t cpu_until(uint64_t ns)
{
	return spin_cpu_ns() + ns;
}

static __attribute__((noinline)) void rest(uint64_t ns)
{
	struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	nanosleep(&time, NULL);
	__asm__ volatile ("" ::: "memory");
}

static __attribute__((noinline)) void rest_by_yield(void)
{
	sched_yield();
	__asm__ volatile ("" ::: "memory");
}

static __attribute__((noinline)) void rest_by_read(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		abort();
}

static __attribute__((noinline)) void rest_by_join(pthread_t thread)
{
	pthread_join(thread, NULL);
	__asm__ volatile ("" ::: "memory");
}

#define TIMED(part, call) do { \
	uint64_t wall_ns_ = spin_now_ns(), cpu_ns_ = spin_cpu_ns(); \
	call; \
	own.cpu_ns[part] += spin_cpu_ns() - cpu_ns_; \
	own.wall_ns[part] += spin_now_ns() - wall_ns_; \
} while (0)

static void times_add(uint64_t since_ns)
{
	own.wall_ns[ALL] = spin_now_ns() - since_ns;
	own.cpu_ns[ALL] = spin_cpu_ns();
	pthread_mutex_lock(&sums_lock);
	for (int part = 0; part < PARTS; part++) {
		sums.wall_ns[part] += own.wall_ns[part];
		sums.cpu_ns[part] += own.cpu_ns[part];
	}
	pthread_mutex_unlock(&sums_lock);
	own = (struct times){ 0 };
}

static void thread_start(pthread_t *thread, void *(*function)(void *), void *data)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	if (pthread_create(thread, &attr, function, data) != 0)
		abort();
	pthread_attr_destroy(&attr);
}

static void turns(void)
{
	uint64_t period_ns = (uint64_t)(1e9 / numbers[0]), begin_ns = spin_now_ns();

	for (uint64_t at_ns = begin_ns; at_ns < end_ns; at_ns += period_ns) {
		uint64_t change_ns = at_ns + (uint64_t)((double)period_ns * numbers[1] / 100);

		/* In wall time, so that the program keeps its rate. */
		TIMED(WORK_A, work_a(CLOCK_MONOTONIC, change_ns));
		TIMED(WORK_B, work_b(CLOCK_MONOTONIC, at_ns + period_ns));
	}
}

/* Returns 1, or a random number that is exponentially distributed with mean 1. */
static double factor(bool is_random)
{
	return is_random ? -log(1 - drand48()) : 1;
}

static void naps(bool is_random)
{
	while (spin_now_ns() < end_ns) {
		uint64_t busy_ns = (uint64_t)(numbers[0] * 1e3 * factor(is_random));

		TIMED(WORK_A, work_a(CLOCK_THREAD_CPUTIME_ID, cpu_until(busy_ns)));
		TIMED(REST, rest((uint64_t)(numbers[1] * 1e3 * factor(is_random))));
	}
}

static void yield(void)
{
	cpu_set_t cpus;
	pid_t other;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof cpus, &cpus);
	other = fork();
	if (other == 0) {
		execlp("sh", "sh", "-c", "while :; do :; done", (char *)NULL);
		_exit(127);
	}
	while (spin_now_ns() < end_ns) {
		TIMED(WORK_A, work_a(CLOCK_THREAD_CPUTIME_ID, cpu_until(2000)));
		TIMED(REST, rest_by_yield());
	}
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

static int request_pipe[2], answer_pipe[2];

static void *pipe_thread(void *unused)
{
	uint64_t since_ns = spin_now_ns();

	for (char byte = 0; byte == 0;) {
		TIMED(REST, rest_by_read(request_pipe[0]));
		TIMED(WORK_B, work_b(CLOCK_THREAD_CPUTIME_ID, cpu_until((uint64_t)(numbers[1] * 1e3))));
		byte = spin_now_ns() >= end_ns;
		if (write(answer_pipe[1], &byte, 1) != 1)
			abort();
	}
	times_add(since_ns);
	return unused;
}

static void pipes(void)
{
	pthread_t thread;

	if (pipe(request_pipe) != 0 || pipe(answer_pipe) != 0)
		abort();
	thread_start(&thread, pipe_thread, NULL);
	/* Ends 1 ms early, so that the last request below is after end_ns: the other thread ends when it has answered
	 * a request after end_ns. */
	while (spin_now_ns() < end_ns - 1000000) {
		TIMED(WORK_A, work_a(CLOCK_THREAD_CPUTIME_ID, cpu_until((uint64_t)(numbers[0] * 1e3))));
		if (write(request_pipe[1], "", 1) != 1)
			abort();
		TIMED(REST, rest_by_read(answer_pipe[0]));
	}
	while (spin_now_ns() < end_ns)
		;
	if (write(request_pipe[1], "", 1) != 1)
		abort();
	pthread_join(thread, NULL);
}

static void *short_thread(void *microseconds)
{
	const double *us = microseconds;
	uint64_t since_ns = spin_now_ns();

	TIMED(WORK_A, work_a(CLOCK_THREAD_CPUTIME_ID, cpu_until((uint64_t)(us[0] * 1e3))));
	TIMED(WORK_B, work_b(CLOCK_THREAD_CPUTIME_ID, cpu_until((uint64_t)(us[1] * 1e3))));
	times_add(since_ns);
	return NULL;
}

static void births(void)
{
	uint64_t period_ns = (uint64_t)(1e9 / numbers[0]);
	pthread_t thread;

	for (uint64_t next_ns = spin_now_ns(); next_ns < end_ns; next_ns += period_ns) {
		uint64_t now_ns = spin_now_ns();

		if (now_ns < next_ns)
			TIMED(REST, rest(next_ns - now_ns));
		thread_start(&thread, short_thread, &numbers[1]);
		pthread_detach(thread);
	}
	TIMED(REST, rest(100 * 1000 * 1000));
}

static void row(void)
{
	double microseconds[] = { numbers[0] * 1e3, numbers[1] * 1e3 };
	pthread_t thread;

	while (spin_now_ns() < end_ns) {
		thread_start(&thread, short_thread, microseconds);
		TIMED(REST, rest_by_join(thread));
	}
}

static void *crowd_thread(void *unused)
{
	uint64_t since_ns = spin_now_ns();

	while (spin_now_ns() < end_ns) {
		TIMED(WORK_A, work_a(CLOCK_THREAD_CPUTIME_ID, cpu_until((uint64_t)(numbers[1] * 1e3))));
		TIMED(REST, rest((uint64_t)(numbers[2] * 1e6)));
	}
	times_add(since_ns);
	return unused;
}

static void crowd(void)
{
	size_t count = (size_t)numbers[0];
	pthread_t *threads = calloc(count, sizeof *threads);

	for (size_t i = 0; i < count; i++)
		thread_start(&threads[i], crowd_thread, NULL);
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void *running_thread(void *unused)
{
	while (spin_now_ns() < end_ns)
		TIMED(WORK_A, work_a(CLOCK_THREAD_CPUTIME_ID, cpu_until(1000000)));
	return unused;
}

static void on_alarm(int unused)
{
	(void)unused;
}

static void alarms(void)
{
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_alarm };
	unsigned int polls = 0;
	pthread_t thread;

	sigaction(SIGALRM, &action, NULL);
	thread_start(&thread, running_thread, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (spin_now_ns() < end_ns)
		polls += poll(NULL, 0, 100) < 0;
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_join(thread, NULL);
	printf("polls %u\n", polls);
}

int main(int argc, char **argv)
{
	const char *program = argc > 2 ? argv[1] : "";
	uint64_t begin_ns = spin_now_ns();

	for (int i = 0; i < 3 && i + 3 < argc; i++)
		numbers[i] = atof(argv[i + 3]);
	end_ns = begin_ns + (uint64_t)(argc > 2 ? atof(argv[2]) * 1e9 : 0);
	if (strcmp(program, "turns") == 0)
		turns();
	else if (strcmp(program, "naps") == 0 || strcmp(program, "chance") == 0)
		naps(program[0] == 'c');
	else if (strcmp(program, "yield") == 0)
		yield();
	else if (strcmp(program, "pipe") == 0)
		pipes();
	else if (strcmp(program, "births") == 0)
		births();
	else if (strcmp(program, "row") == 0)
		row();
	else if (strcmp(program, "crowd") == 0)
		crowd();
	else if (strcmp(program, "alarms") == 0)
		alarms();
	else
		return 2;
	times_add(begin_ns);
	for (int part = 0; part < PARTS; part++)
		printf("%s %llu %llu\n", part_names[part], (unsigned long long)sums.wall_ns[part],
		       (unsigned long long)sums.cpu_ns[part]);
	return 0;
}
