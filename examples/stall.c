/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An event loop with a stall.  A flight recorder keeps the last 10 seconds in memory.  When the loop's
 * heartbeat is late by 500 ms, the helper writes these seconds and the stacks of all threads during the
 * stall to stall.vgp.1.
 *
 *     stall [PROFILE]      writes the last 10 seconds of the program to PROFILE (default: last.vgp)
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <vgctl.h>

enum { TURNS = 150, STALLS_AT = 100, HELD_S = 3 };

static pthread_mutex_t documents = PTHREAD_MUTEX_INITIALIZER;
static uint32_t turn, save, index_all;
static int jobs[2];

/* The indexer thread holds the lock for HELD_S seconds. */
__attribute__((noinline)) static void documents_index(void)
{
	struct timespec held = { HELD_S, 0 };

	VGCTL_SCOPE(index_all, 0);
	pthread_mutex_lock(&documents);
	while (nanosleep(&held, &held) != 0 && errno == EINTR)
		;
	pthread_mutex_unlock(&documents);
}

static void *indexer(void *argument)
{
	char job;

	if (read(jobs[0], &job, 1) == 1)
		documents_index();
	return argument;
}

__attribute__((noinline)) static void document_save(void)
{
	VGCTL_SCOPE(save, 0);
	pthread_mutex_lock(&documents);
	pthread_mutex_unlock(&documents);
}

/* A little work, and a document to save. */
__attribute__((noinline)) static void event_handle(int number)
{
	volatile unsigned int sum = 0;

	VGCTL_SCOPE(turn, 0);
	for (unsigned int i = 0; i < 1000000; i++)
		sum += i;
	if (number == STALLS_AT) {
		if (write(jobs[1], "", 1) != 1)
			return;
		usleep(100 * 1000);      /* until the indexer has the lock */
	}
	document_save();
}

static void loop_run(void)
{
	for (int i = 0; i < TURNS; i++) {
		vgctl_heartbeat();
		event_handle(i);
		/* Waiting for events is not a stall. */
		vgctl_heartbeat_pause();
		poll(NULL, 0, 10);
	}
}

int main(int argc, char **argv)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	pthread_t thread;
	int rc;

	turn = vgctl_intern("turn");
	save = vgctl_intern("save");
	index_all = vgctl_intern("index");
	options.flight_s = 10;
	options.watchdog_ms = 500;
	options.watchdog_path = "stall.vgp";
	rc = vgctl_begin(argc > 1 ? argv[1] : "last.vgp", &options, &session);
	if (rc < 0) {
		fprintf(stderr, "%s\n", vgctl_strerror(rc));
		return 1;
	}
	if (pipe(jobs) != 0 || pthread_create(&thread, NULL, indexer, NULL) != 0)
		return 1;
	loop_run();
	pthread_join(thread, NULL);
	rc = vgctl_end(session, NULL);
	if (rc < 0)
		fprintf(stderr, "%s\n", vgctl_strerror(rc));
	return rc < 0;
}
