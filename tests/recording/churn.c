/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A process that creates threads, spawns programs or executes itself all the time.  Prints "done" and exits with 0
 * if all worked.
 *
 *     churn exec N        executes itself N times, alternately from its first and from another thread,
 *                         while other threads run
 *     churn spawn N       starts N programs by posix_spawn(3) and vfork(2), from three threads
 *     churn threads N     creates and joins 10 times N threads
 *     churn crowd MS      creates and joins threads for that time; in the last two thirds another thread
 *                         runs.  Prints, in ns, the wall time and the CPU time of crowd(), and the CPU
 *                         time of crowd_work()
 *     churn relay MS      two threads take turns for that time: one works for 0.5 ms while the other waits.
 *                         Prints, in ns, the CPU time and the wall time of relay(), each the sum of both
 *                         threads
 *     churn rally MS      as relay, but without work; then one of the threads runs for the same time
 */
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/spin.h"

enum { SPINNERS = 3, SPAWNERS = 3, JOINED_AT_ONCE = 50 };

static char *self;
static atomic_bool stopping;

static void *spin(void *argument)
{
	while (!stopping)
		;
	return argument;
}

static void *execute(void *count)
{
	execl(self, "churn", "exec", count, NULL);
	perror("execl");
	exit(1);
}

static int exec_run(int left)
{
	char count[16];
	pthread_t thread;

	if (left == 0)
		return 0;
	snprintf(count, sizeof count, "%d", left - 1);
	for (int i = 0; i < SPINNERS; i++)
		pthread_create(&thread, NULL, spin, NULL);
	/* Long enough to be sampled, and each time at another point of the sampling period. */
	usleep((useconds_t)(500 + left % 40 * 100));
	if (left % 2 == 0)
		execute(count);
	pthread_create(&thread, NULL, execute, count);
	pthread_join(thread, NULL);
	return 1;
}

static bool child_good(pid_t child)
{
	int status;

	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 7;
}

static char *const child_arguments[] = { (char *)"churn", (char *)"child", NULL };

static pid_t spawn_posix(void)
{
	pid_t child;

	return posix_spawn(&child, self, NULL, NULL, child_arguments, environ) == 0 ? child : -1;
}

static pid_t spawn_vfork(void)
{
	pid_t child = vfork();

	if (child == 0) {
		execv(self, child_arguments);
		_exit(1);
	}
	return child;
}

static void *spawn(void *count)
{
	for (int i = *(int *)count; i > 0; i--) {
		if (!child_good(i % 2 == 0 ? spawn_posix() : spawn_vfork()))
			return (void *)1;
	}
	return NULL;
}

static int spawn_run(int count)
{
	pthread_t threads[SPAWNERS];
	int each = count / SPAWNERS, bad = 0;

	for (int i = 0; i < SPAWNERS; i++)
		pthread_create(&threads[i], NULL, spawn, &each);
	for (int i = 0; i < SPAWNERS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		bad += result != NULL;
	}
	return bad != 0;
}

static void *short_thread(void *argument)
{
	++*(int *)argument;
	return argument;
}

static int batch_run(void)
{
	pthread_t threads[JOINED_AT_ONCE];
	int runs[JOINED_AT_ONCE] = { 0 };

	for (int i = 0; i < JOINED_AT_ONCE; i++) {
		if (pthread_create(&threads[i], NULL, short_thread, &runs[i]) != 0)
			return 1;
	}
	for (int i = 0; i < JOINED_AT_ONCE; i++) {
		if (pthread_join(threads[i], NULL) != 0 || runs[i] != 1)
			return 1;
	}
	return 0;
}

static int threads_run(int count)
{
	for (int done = 0; done < 10 * count; done += JOINED_AT_ONCE) {
		if (batch_run() != 0)
			return 1;
	}
	return 0;
}

static void *crowd_work(void *used_ns)
{
	while (!stopping)
		;
	*(uint64_t *)used_ns = spin_cpu_ns();
	return NULL;
}

static __attribute__((noinline)) int crowd(uint64_t end_ns)
{
	while (spin_now_ns() < end_ns) {
		if (batch_run() != 0)
			return 1;
	}
	return 0;
}

static int crowd_run(int ms)
{
	uint64_t begin_ns = spin_now_ns(), cpu_ns = spin_cpu_ns(), worked_ns = 0;
	pthread_t worker;
	int status = crowd(begin_ns + (uint64_t)ms * 1000000 / 3);

	if (status != 0 || pthread_create(&worker, NULL, crowd_work, &worked_ns) != 0)
		return 1;
	status = crowd(begin_ns + (uint64_t)ms * 1000000);
	cpu_ns = spin_cpu_ns() - cpu_ns;
	begin_ns = spin_now_ns() - begin_ns;
	stopping = true;
	pthread_join(worker, NULL);
	printf("%llu %llu %llu\n", (unsigned long long)begin_ns, (unsigned long long)cpu_ns,
	       (unsigned long long)worked_ns);
	return status;
}

static int relay_ends[2][2];
static uint64_t relay_ns = 500000;

static void relay_turn(int from, int to, uint64_t end_ns)
{
	char token;

	while (read(from, &token, 1) == 1) {
		bool last = token == 0 || spin_now_ns() >= end_ns;

		for (uint64_t until_ns = spin_now_ns() + relay_ns; spin_now_ns() < until_ns;)
			;
		if (write(to, last ? "" : "x", 1) != 1 || last)
			break;
	}
}

static __attribute__((noinline)) void *relay(void *end_ns)
{
	static atomic_int turns;
	int own = turns++;
	uint64_t begin_ns = spin_now_ns(), *used = calloc(2, sizeof *used);

	relay_turn(relay_ends[own][0], relay_ends[!own][1], *(uint64_t *)end_ns);
	used[0] = spin_cpu_ns();
	used[1] = spin_now_ns() - begin_ns;
	return used;
}

static int relay_run(int ms)
{
	uint64_t end_ns = spin_now_ns() + (uint64_t)ms * 1000000, sums[2] = { 0 }, *used;
	pthread_t threads[2];

	if (pipe(relay_ends[0]) != 0 || pipe(relay_ends[1]) != 0 || write(relay_ends[0][1], "x", 1) != 1)
		return 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, relay, &end_ns);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], (void **)&used);
		sums[0] += used[0];
		sums[1] += used[1];
		free(used);
	}
	printf("%llu %llu\n", (unsigned long long)sums[0], (unsigned long long)sums[1]);
	return 0;
}

static int rally_run(int ms)
{
	uint64_t end_ns = spin_now_ns() + 2 * (uint64_t)ms * 1000000;
	int status;

	relay_ns = 0;
	status = relay_run(ms);
	while (spin_now_ns() < end_ns)
		;
	return status;
}

static int run(const char *mode, int count)
{
	if (strcmp(mode, "exec") == 0)
		return exec_run(count);
	if (strcmp(mode, "spawn") == 0)
		return spawn_run(count);
	if (strcmp(mode, "crowd") == 0)
		return crowd_run(count);
	if (strcmp(mode, "relay") == 0)
		return relay_run(count);
	if (strcmp(mode, "rally") == 0)
		return rally_run(count);
	return strcmp(mode, "threads") == 0 ? threads_run(count) : 2;
}

int main(int argc, char **argv)
{
	static char path[4096];
	int status;

	if (argc == 2 && strcmp(argv[1], "child") == 0)
		return 7;
	if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
		return 1;
	self = path;
	status = argc == 3 ? run(argv[1], atoi(argv[2])) : 2;
	if (status == 0)
		puts("done");
	return status;
}
