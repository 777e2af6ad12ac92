/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Measures the CPU time of one event, in nanoseconds of the thread that records it.
 *
 *     events loop|idle|instant|interval|clock|write THREADS FILE
 *
 *     instant, interval    events of a session; an interval is two events
 *     idle                 instants without a session
 *     clock, write         clock_gettime(2); write(2) of 32 bytes to FILE
 *     loop                 the empty loop
 *
 * Events come in bursts that fit into a lane.  Between two bursts the helper has time to fetch the events.  Only the
 * bursts are measured.  For `instant` and `interval`, FILE is the profile of the session.  Each thread has a median
 * over its bursts.  Prints the mean of these medians, in ns per event, and how many events were recorded and dropped.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libvgctl/vgctl.h"

enum { BURSTS = 40, BURST = 5000, PAUSE_US = 30000, THREADS_MAX = 64 };

static uint32_t kind, label;
static int file;

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void loop(void)
{
	for (int i = 0; i < BURST; i++)
		__asm__ volatile("" : : "r"(i));
}

static void instants(void)
{
	for (int i = 0; i < BURST; i++)
		vgctl_instant(kind, label, (uint64_t)i);
}

static void intervals(void)
{
	for (int i = 0; i < BURST / 2; i++) {
		VGCTL_SCOPE(kind, label);
		/* Keeps the compiler from merging two rounds. */
		__asm__ volatile("");
	}
}

static void clocks(void)
{
	struct timespec now;

	for (int i = 0; i < BURST; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

static void writes(void)
{
	char record[32] = "";

	for (int i = 0; i < BURST; i++) {
		if (write(file, record, sizeof record) != (ssize_t)sizeof record)
			abort();
	}
}

static void (*work)(void);

/* Sorts the bursts for their median.  The fastest burst would not be typical, so the minimum is not used. */
static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static void *run(void *result)
{
	double bursts[BURSTS];

	work();
	usleep(PAUSE_US);
	for (int i = 0; i < BURSTS; i++) {
		double since_ns = cpu_ns();

		work();
		bursts[i] = (cpu_ns() - since_ns) / BURST;
		usleep(PAUSE_US);
	}
	qsort(bursts, BURSTS, sizeof *bursts, compare);
	*(double *)result = bursts[BURSTS / 2];
	return NULL;
}

static double threads_run(int count)
{
	pthread_t threads[THREADS_MAX];
	double results[THREADS_MAX], sum = 0;

	for (int i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, run, &results[i]) != 0)
			abort();
	}
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		sum += results[i];
	}
	return sum / count;
}

int main(int argc, char **argv)
{
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session = NULL;
	int count = argc == 4 ? atoi(argv[2]) : 0, rc = 0;
	double ns;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	kind = vgctl_intern("bench");
	label = vgctl_intern("a label");
	work = strcmp(argv[1], "clock") == 0 ? clocks : strcmp(argv[1], "write") == 0 ? writes :
	       strcmp(argv[1], "interval") == 0 ? intervals :
	       strcmp(argv[1], "loop") == 0 ? loop : instants;
	if (work == writes)
		file = open(argv[3], O_CREAT | O_TRUNC | O_WRONLY, 0600);
	if (strcmp(argv[1], "instant") == 0 || strcmp(argv[1], "interval") == 0)
		rc = vgctl_begin(argv[3], NULL, &session);
	if (rc != 0) {
		fprintf(stderr, "events: %s\n", vgctl_strerror(rc));
		return 1;
	}
	ns = threads_run(count);
	if (session != NULL && vgctl_end(session, &summary) != 0)
		return 1;
	printf("%.3f %llu %llu\n", ns, (unsigned long long)summary.events,
	       (unsigned long long)summary.events_dropped);
	return 0;
}
