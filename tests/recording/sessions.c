/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A program whose helper listens, for tests/recording/sessions.sh:
 *
 *     sessions DIRECTORY STOP [PROFILE [NAP_MS]]
 *
 * One thread runs, 60 % of its time in one function and 40 % in another.  With NAP_MS it sleeps that long after each
 * 7 ms of CPU time.  The first thread reads commands, prints a line for each, and ends when its input ends:
 *
 *     begin       begins a session at 199 Hz with the file PROFILE
 *     flight      begins a flight recorder of 1 s with the file PROFILE
 *     end         ends the session
 *     unlisten    calls vgctl_unlisten()
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libvgctl/vgctl.h"

static volatile unsigned long sink;
static atomic_bool stopping;
static long nap_ms;

static unsigned long long cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (unsigned long long)used.tv_sec * 1000000000u + (unsigned long long)used.tv_nsec;
}

/* Both functions together take about 7 ms.  The length is random, so that it cannot be in step with the
 * sampling. */
#define SPIN(name, us) \
	static __attribute__((noinline)) void name(unsigned int percent) \
	{ \
		unsigned long long end_ns = cpu_ns() + (us) * 10ull * percent; \
		while (cpu_ns() < end_ns) { \
			for (int i = 0; i < 5000; i++) \
				sink += (unsigned long)i; \
		} \
	}
SPIN(spin_long, 4200)
SPIN(spin_short, 2800)

static void *worker(void *none)
{
	unsigned int seed = 1;

	while (!atomic_load(&stopping)) {
		unsigned int percent = 70 + (unsigned int)rand_r(&seed) % 61;

		spin_long(percent);
		spin_short(percent);
		if (nap_ms != 0)
			nanosleep(&(struct timespec){ .tv_nsec = nap_ms * 1000000 }, NULL);
	}
	return none;
}

static int answer(const char *what, int rc)
{
	printf("%s %s\n", what, rc == 0 ? "ok" : vgctl_strerror(rc));
	fflush(stdout);
	return rc;
}

int main(int argc, char **argv)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session = NULL;
	char line[64];
	pthread_t thread;

	if (argc < 3)
		return 2;
	options.rate_hz = 199;
	options.stop_always = atoi(argv[2]);
	nap_ms = argc > 4 ? atol(argv[4]) : 0;
	if (answer("listen", vgctl_listen(argv[1], &options)) != 0)
		return 1;
	pthread_create(&thread, NULL, worker, NULL);
	while (fgets(line, sizeof line, stdin) != NULL) {
		if (strcmp(line, "begin\n") == 0 && argc > 3) {
			options.flight_s = 0;
			answer("begin", vgctl_begin(argv[3], &options, &session));
		} else if (strcmp(line, "flight\n") == 0 && argc > 3) {
			options.flight_s = 1;
			answer("flight", vgctl_begin(argv[3], &options, &session));
		} else if (strcmp(line, "unlisten\n") == 0) {
			vgctl_unlisten();
			answer("unlisten", 0);
		} else if (strcmp(line, "end\n") == 0) {
			answer("end", vgctl_end(session, NULL));
			session = NULL;
		}
	}
	vgctl_unlisten();
	atomic_store(&stopping, true);
	pthread_join(thread, NULL);
	return 0;
}
