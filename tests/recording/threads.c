/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * threads PROFILE ROUNDS: many threads use the library at the same time.  Some threads begin sessions, and one
 * session at a time succeeds.  Other threads sample the open session.  All threads read messages.
 * tests/recording/threads.sh compiles this program with ThreadSanitizer.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libvgctl/vgctl.h"

enum { BEGINNERS = 4, SAMPLERS = 4 };

static const char *path;
static int rounds;
static atomic_int sessions_begun, samples_taken, failures;

/* Samplers hold the read lock while they use the session.  A thread that ends the session holds the write lock: callers
 * must not use an ended session. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static struct vgctl_session *shared;

static void failure(const char *what, int rc)
{
	fprintf(stderr, "%s: %s\n", what, vgctl_strerror(rc));
	atomic_fetch_add(&failures, 1);
}

static void *beginner(void *unused)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;

	options.rate_hz = 1000;
	for (int i = 0; i < rounds; i++) {
		struct vgctl_session *session;
		int rc = vgctl_begin(path, &options, &session);

		if (rc == -EUSERS || rc == -EBUSY) {
			if (strlen(vgctl_strerror(rc)) == 0)
				failure("no message", rc);
			continue;
		}
		if (rc != 0) {
			failure("begin", rc);
			continue;
		}
		atomic_fetch_add(&sessions_begun, 1);
		pthread_rwlock_wrlock(&lock);
		shared = session;
		pthread_rwlock_unlock(&lock);
		rc = vgctl_sample(session);
		if (rc != 0)
			failure("sample", rc);
		pthread_rwlock_wrlock(&lock);
		shared = NULL;
		rc = vgctl_end(session, &summary);
		pthread_rwlock_unlock(&lock);
		if (rc != 0)
			failure("end", rc);
	}
	return unused;
}

static atomic_bool done;

static void *sampler(void *unused)
{
	while (!atomic_load(&done)) {
		int rc;

		pthread_rwlock_rdlock(&lock);
		rc = shared != NULL ? vgctl_sample(shared) : -EINVAL;
		pthread_rwlock_unlock(&lock);
		if (rc == 0)
			atomic_fetch_add(&samples_taken, 1);
		else if (strlen(vgctl_strerror(rc)) == 0)
			failure("no message", rc);
		if (vgctl_sample(NULL) != -EINVAL)
			failure("no session", 0);
		/* With or without an open session. */
		vgctl_thread_name(rc == 0 ? "sampler" : "idle");
		for (int i = 0; i < 20; i++) {
			VGCTL_SCOPE(vgctl_intern("kind"), vgctl_intern(i % 2 == 0 ? "even" : "odd"));
			vgctl_counter(vgctl_intern("count"), i);
		}
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[BEGINNERS + SAMPLERS];

	if (argc != 3)
		return 2;
	path = argv[1];
	rounds = atoi(argv[2]);
	for (int i = 0; i < BEGINNERS + SAMPLERS; i++) {
		if (pthread_create(&threads[i], NULL, i < BEGINNERS ? beginner : sampler, NULL) != 0)
			return 2;
	}
	for (int i = 0; i < BEGINNERS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&done, 1);
	for (int i = BEGINNERS; i < BEGINNERS + SAMPLERS; i++)
		pthread_join(threads[i], NULL);
	printf("%d sessions, %d samples by others, %d failures\n", sessions_begun, samples_taken, failures);
	return failures == 0 && sessions_begun > 0 ? 0 : 1;
}
