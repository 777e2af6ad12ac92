/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Programs of which one thread is recorded (tests/recording/one_thread.sh).
 *
 * one_thread crowd SLEEPERS   SLEEPERS threads that wait, a busy thread and a chosen thread.  Prints the ids of the
 *                             chosen thread, the busy thread and a waiting thread.  The chosen thread ends at the first
 *                             byte of input, and the process at the end of the input.
 * one_thread leader           The first thread works and ends at the first byte of input.  Another thread ends the
 *                             process at the end of the input.  Prints the first thread's id.
 * one_thread sample PROFILE   Samples single threads in a session on demand, and checks the results.
 * one_thread rate PROFILE     The same in a session with a rate, in which a busy thread is sampled too.
 * one_thread option PROFILE   A session of one thread; then one in which that thread ends.
 * one_thread old PROFILE      The helper is of the first release: single threads are refused, and the rest works.
 * one_thread listen DIRECTORY A chosen and a busy thread, with events, in a process that listens.  Prints the ids.  At
 *                             each byte of input, prints "steps" when both threads have had an interval.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libvgctl/vgctl.h"

static atomic_bool end_chosen;
static atomic_int chosen_tid, busy_tid, waiting_tid;
static atomic_uint chosen_steps, busy_steps; /* intervals that have ended */
static int never[2];

static int own_tid(void)
{
	return (int)syscall(SYS_gettid);
}

static void check(int rc, int expected, const char *what)
{
	if (rc == expected)
		return;
	fprintf(stderr, "%s: %d (%s), not %d\n", what, rc, vgctl_strerror(rc), expected);
	exit(1);
}

__attribute__((noinline)) static void chosen_work(void)
{
	VGCTL_SCOPE(vgctl_intern("step"), vgctl_intern("of the chosen thread"));
	for (volatile int i = 0; i < 1000000; i++)
		;
	atomic_fetch_add(&chosen_steps, 1);
}

__attribute__((noinline)) static void busy_work(void)
{
	VGCTL_SCOPE(vgctl_intern("step"), vgctl_intern("of the busy thread"));
	for (volatile int i = 0; i < 1000000; i++)
		;
	atomic_fetch_add(&busy_steps, 1);
}

/* Waits until both threads have begun and ended an interval. */
static void steps_await(void)
{
	unsigned chosen_before = atomic_load(&chosen_steps), busy_before = atomic_load(&busy_steps);

	while (atomic_load(&chosen_steps) - chosen_before < 3 || atomic_load(&busy_steps) - busy_before < 3)
		usleep(1000);
}

static void *chosen(void *unused)
{
	atomic_store(&chosen_tid, own_tid());
	while (!atomic_load(&end_chosen))
		chosen_work();
	return unused;
}

static void *busy(void *unused)
{
	atomic_store(&busy_tid, own_tid());
	for (;;)
		busy_work();
	return unused;
}

/* Waits until the end of the process. */
__attribute__((noinline)) static void *wait_long(void *tid)
{
	char byte;

	atomic_store((atomic_int *)tid, own_tid());
	while (read(never[0], &byte, 1) != 1)
		;
	return NULL;
}

static pthread_t start(void *(*run)(void *), void *argument)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	check(pthread_create(&thread, &small, run, argument), 0, "pthread_create");
	pthread_attr_destroy(&small);
	return thread;
}

static int started(const atomic_int *tid)
{
	while (atomic_load(tid) == 0)
		usleep(1000);
	return atomic_load(tid);
}

/* Returns the id of a thread of wait_long() when it waits in read(2).  Before, a sample of it needs a stop, which may
 * take too long on a busy machine. */
static int waiting(const atomic_int *tid)
{
	char path[64], text[256], *name_end = NULL;
	int waiter = started(tid);

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", waiter);
	while (name_end == NULL || strncmp(name_end, ") S", 3) != 0) {
		FILE *file = fopen(path, "re");

		if (file == NULL || fgets(text, sizeof text, file) == NULL)
			exit(1);
		fclose(file);
		name_end = strrchr(text, ')');
		usleep(1000);
	}
	return waiter;
}

static int crowd(int sleepers)
{
	pthread_t thread;

	for (int i = 0; i < sleepers; i++)
		start(wait_long, &waiting_tid);
	start(busy, NULL);
	thread = start(chosen, NULL);
	printf("%d %d %d\n", started(&chosen_tid), started(&busy_tid), waiting(&waiting_tid));
	fflush(stdout);
	getchar();
	atomic_store(&end_chosen, true);
	pthread_join(thread, NULL);
	while (getchar() != EOF)
		;
	return 0;
}

static void *leader_rest(void *unused)
{
	getchar();
	atomic_store(&end_chosen, true);
	while (getchar() != EOF)
		;
	exit(0);
	return unused;
}

static int leader(void)
{
	start(leader_rest, NULL);
	printf("%d\n", own_tid());
	fflush(stdout);
	while (!atomic_load(&end_chosen))
		chosen_work();
	pthread_exit(NULL);
}

static struct vgctl_session *begin(const char *path, unsigned int rate_hz, int thread)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;

	options.rate_hz = rate_hz;
	options.thread = (uint64_t)thread;
	check(vgctl_begin(path, &options, &session), 0, "vgctl_begin");
	return session;
}

static struct vgctl_summary end(struct vgctl_session *session)
{
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;

	check(vgctl_end(session, &summary), 0, "vgctl_end");
	return summary;
}

__attribute__((noinline)) static void sample_here(struct vgctl_session *session)
{
	check(vgctl_sample_thread(session, 0), 0, "the calling thread");
}

/* Takes 6 samples of `waiting`, 2 of this thread and 1 of a thread that is created here. */
static void sample_threads(struct vgctl_session *session, int waiting_thread)
{
	static atomic_int late_tid, ended_tid;
	pthread_t ended;

	for (int i = 0; i < 6; i++)
		check(vgctl_sample_thread(session, waiting_thread), 0, "a waiting thread");
	sample_here(session);
	check(vgctl_sample_thread(session, own_tid()), 0, "the calling thread by its id");
	atomic_store(&late_tid, 0);
	start(wait_long, &late_tid);
	check(vgctl_sample_thread(session, waiting(&late_tid)), 0, "a new thread");
	atomic_store(&end_chosen, true);
	ended = start(chosen, NULL);
	pthread_join(ended, NULL);
	/* pthread_join() returns a little before the kernel has removed the thread. */
	while (syscall(SYS_tgkill, getpid(), atomic_load(&chosen_tid), 0) == 0)
		usleep(1000);
	atomic_store(&ended_tid, atomic_load(&chosen_tid));
	check(vgctl_sample_thread(session, atomic_load(&ended_tid)), -ESRCH, "a thread that has ended");
	check(vgctl_sample_thread(session, getppid()), -ESRCH, "a thread of another process");
	check(vgctl_sample_thread(session, -1), -EINVAL, "a negative id");
	check(vgctl_sample_thread(session, 0x7fffffff), -ESRCH, "an id that no thread can have");
}

/* A waiting thread is stopped if its stack cannot be read otherwise.  On a busy machine it may not stop in time, and
 * the sample is lost.  Then all is done again. */
static int sample(const char *path)
{
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	static atomic_int other_tid;

	start(wait_long, &waiting_tid);
	start(wait_long, &other_tid);
	waiting(&waiting_tid);
	waiting(&other_tid);
	for (int attempt = 0; attempt == 0 || (summary.lost != 0 && attempt < 50); attempt++) {
		struct vgctl_session *session = begin(path, VGCTL_ON_DEMAND, 0);

		sample_threads(session, atomic_load(&waiting_tid));
		summary = end(session);
	}
	/* The other waiting thread is in the profile, without a sample. */
	if (summary.samples != 9 || summary.lost != 0)
		fprintf(stderr, "%llu samples, %llu lost; expected 9 and 0\n", (unsigned long long)summary.samples,
			(unsigned long long)summary.lost);
	return summary.samples != 9 || summary.lost != 0;
}

static int rate(const char *path)
{
	struct vgctl_session *session;
	struct vgctl_summary summary;

	start(wait_long, &waiting_tid);
	start(busy, NULL);
	started(&busy_tid);
	session = begin(path, 99, 0);
	for (int i = 0; i < 20; i++)
		sample_threads(session, waiting(&waiting_tid));
	summary = end(session);
	return summary.samples + summary.lost < 20 * 9;
}

static int option(const char *path)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session, *all;
	struct vgctl_summary summary;
	pthread_t thread;
	int rc = 0;

	start(busy, NULL);
	thread = start(chosen, NULL);
	options.thread = (uint64_t)getppid();
	check(vgctl_begin(path, &options, &session), -ESRCH, "a session of another process's thread");
	options.thread = UINT64_MAX;
	check(vgctl_begin(path, &options, &session), -EINVAL, "a session of an id that is out of range");
	session = begin(path, 999, started(&chosen_tid));
	started(&busy_tid);
	check(vgctl_sample(session), 0, "vgctl_sample");
	check(vgctl_sample_thread(session, atomic_load(&chosen_tid)), 0, "the session's thread");
	check(vgctl_sample_thread(session, 0), -EINVAL, "another thread");
	/* Another session has all threads, for a while. */
	all = begin("all.vgp", 199, 0);
	check(vgctl_sample_thread(all, 0), 0, "another thread in a session of all threads");
	steps_await();
	if (end(all).threads < 3)
		return fprintf(stderr, "all: too few threads\n"), 1;
	for (int i = 0; i < 10; i++)
		steps_await();
	atomic_store(&end_chosen, true);
	pthread_join(thread, NULL);
	while (rc == 0)
		rc = vgctl_sample(session);
	check(rc, -ESRCH, "a sample after the end of the thread");
	if (strstr(vgctl_strerror(rc), "the thread ended") == NULL)
		return fprintf(stderr, "%s\n", vgctl_strerror(rc)), 1;
	summary = end(session);
	/* On a busy machine most samples may be lost, because the thread does not stop in time. */
	if (summary.threads != 1 || summary.samples < 1 || summary.samples + summary.lost < 3 || summary.limited != 1) {
		fprintf(stderr, "%u threads, %llu samples, %llu lost, limited: %u; expected 1, 3 with lost ones, 1\n",
			summary.threads, (unsigned long long)summary.samples, (unsigned long long)summary.lost,
			summary.limited);
		return 1;
	}
	return 0;
}

static int old(const char *path)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;

	options.thread = (uint64_t)own_tid();
	check(vgctl_begin(path, &options, &session), -ENOTSUP, "a session of one thread");
	if (strstr(vgctl_strerror(-ENOTSUP), "too old") == NULL)
		return 1;
	session = begin(path, VGCTL_ON_DEMAND, 0);
	check(vgctl_sample_thread(session, 0), -ENOTSUP, "a sample of one thread");
	check(vgctl_sample(session), 0, "vgctl_sample");
	end(session);
	return 0;
}

static int listens(const char *directory)
{
	check(vgctl_listen(directory, NULL), 0, "vgctl_listen");
	start(busy, NULL);
	start(chosen, NULL);
	printf("%d %d\n", started(&chosen_tid), started(&busy_tid));
	fflush(stdout);
	/* At each byte of input, waits until both threads have had an interval. */
	while (getchar() != EOF) {
		steps_await();
		puts("steps");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (pipe(never) != 0 || argc < 2)
		return 2;
	if (strcmp(argv[1], "leader") == 0)
		return leader();
	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "crowd") == 0)
		return crowd(atoi(argv[2]));
	if (strcmp(argv[1], "sample") == 0)
		return sample(argv[2]);
	if (strcmp(argv[1], "rate") == 0)
		return rate(argv[2]);
	if (strcmp(argv[1], "option") == 0)
		return option(argv[2]);
	if (strcmp(argv[1], "old") == 0)
		return old(argv[2]);
	return strcmp(argv[1], "listen") == 0 ? listens(argv[2]) : 2;
}
