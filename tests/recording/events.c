/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The application's events in hard conditions:
 *
 *     events storm COUNT PROFILE        four threads record events as fast as they can
 *     events overwrite COUNT PROFILE    the same, and new events overwrite the oldest
 *     events killed ROUNDS PROFILE      the program is killed in an interval
 *     events hostile SECONDS PROFILE    the program writes random bytes into the whole ring
 *     events within COUNT PROFILE       COUNT short intervals; each sample is within the interval that it names
 */
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/infile.h"
#include "libvgctl/vgctl.h"
#include "profile/reader.h"

enum { THREADS = 4, ROUND_EVENTS = 6, COMPLETE_MAX_MS = 120000, WITHIN_TRIES = 8 };

static struct vg_infile file;
static struct vg_profile profile;
static uint32_t kind, label;

static _Noreturn void fail(const char *what)
{
	printf("%s\n", what);
	exit(1);
}

static void profile_read(const char *path)
{
	struct vg_err err;

	if (vg_infile_open(&file, path, &err) != 0 || vg_profile_read(&profile, &file, &err) != 0)
		fail(err.text);
}

static struct vgctl_session *begin(const char *path, int overwrite)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;

	options.max_file_bytes = 0;
	options.events_overwrite = overwrite;
	if (vgctl_begin(path, &options, &session) != 0)
		fail("vgctl_begin failed");
	return session;
}

static void sleep_us(long us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&time, NULL);
}

/* ---- storm ---- */

static long rounds;

/* Six events per round: an interval in an interval, an instant with the round's number, and a counter. */
static void *storm(void *argument)
{
	for (long i = 0; i < rounds; i++) {
		struct vgctl_interval outer = vgctl_interval_begin(kind, label, (uint64_t)i), inner;

		vgctl_instant(kind, 0, (uint64_t)i);
		inner = i % 2 == 0 ? vgctl_interval_begin(kind, 0, (uint64_t)i) :
			vgctl_interval_begin_detached(kind, 0, (uint64_t)i);
		vgctl_counter(label, -i);
		vgctl_interval_end(inner);
		vgctl_interval_end(outer);
	}
	return argument;
}

static int by_token(const void *left, const void *right)
{
	const struct vg_event *a = left, *b = right;

	if (a->token != b->token)
		return a->token < b->token ? -1 : 1;
	return (int)a->type - (int)b->type;
}

/* The events of each thread are in the order in which it recorded them. */
static void order_check(void)
{
	uint64_t instants[THREADS + 1], times[THREADS + 1] = { 0 };
	int64_t counters[THREADS + 1];

	if (profile.threads.count > THREADS + 1)
		fail("the profile has more threads than the program");
	for (int i = 0; i <= THREADS; i++) {
		instants[i] = UINT64_MAX;
		counters[i] = 1;
	}
	for (size_t i = 0; i < profile.events.count; i++) {
		const struct vg_event *event = &profile.events.items[i];
		uint32_t at = event->thread;

		if (event->time_ns < times[at])
			fail("an event is earlier than the one before it");
		times[at] = event->time_ns;
		if (event->type == VG_EVENT_INSTANT) {
			if (instants[at] != UINT64_MAX && event->value <= instants[at])
				fail("instants are out of order");
			instants[at] = event->value;
		} else if (event->type == VG_EVENT_COUNTER) {
			if ((int64_t)event->value >= counters[at])
				fail("counters are out of order");
			counters[at] = (int64_t)event->value;
		}
	}
}

/* Sorts the events by token.  `whole`: each end must have its begin, and each begin its end.  The begin of a
 * detached interval may be without its end. */
static void intervals_check(bool whole)
{
	size_t begun = 0, ended = 0, lone_begins = 0, lone_ends = 0;
	const struct vg_event *before = NULL;

	qsort(profile.events.items, profile.events.count, sizeof *profile.events.items, by_token);
	for (size_t i = 0; i < profile.events.count; i++) {
		const struct vg_event *event = &profile.events.items[i];
		bool begins = event->type == VG_EVENT_BEGIN || event->type == VG_EVENT_DETACHED_BEGIN;

		if (event->token == 0)
			continue;
		begun += begins;
		ended += !begins;
		if (before != NULL && before->token == event->token) {
			if (event->type != before->type + 1 || begins ||
			    event->thread != before->thread || event->time_ns < before->time_ns)
				fail("a begin and its end do not match");
			lone_begins--;
			before = NULL;
			continue;
		}
		lone_begins += begins;
		lone_ends += !begins;
		before = event;
	}
	printf("%zu begins, %zu ends; %zu begins without an end, %zu ends without a begin\n", begun, ended,
	       lone_begins, lone_ends);
	if (begun == 0 || (whole && lone_ends != 0))
		fail("no begins, or ends without a begin");
	/* The end of a detached interval may be lost, because no room is reserved for it.  No other end may be lost. */
	for (size_t i = 0; whole && i < profile.events.count; i++) {
		const struct vg_event *event = &profile.events.items[i];

		if (event->type == VG_EVENT_BEGIN &&
		    (i + 1 == profile.events.count || event[1].token != event->token))
			fail("an interval has no end");
	}
}

static uint64_t lost_count(const char *reason)
{
	const struct vg_count *lost = vg_profile_count(&profile, &profile.lost, reason);

	return lost != NULL ? lost->value : 0;
}

static int storm_run(long count, const char *path, bool overwrite)
{
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session = begin(path, overwrite);
	pthread_t threads[THREADS];
	uint64_t sent;
	int rc;

	rounds = count / THREADS / ROUND_EVENTS + 1;
	sent = (uint64_t)rounds * THREADS * ROUND_EVENTS;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, storm, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	rc = vgctl_end(session, &summary);
	if (rc != 0)
		fail(vgctl_strerror(rc));
	profile_read(path);
	printf("%llu sent, %llu recorded, %llu dropped\n", (unsigned long long)sent,
	       (unsigned long long)summary.events, (unsigned long long)summary.events_dropped);
	if (summary.events + summary.events_dropped != sent)
		fail("the recorded and the dropped events together are not as many as were sent");
	if (profile.events.count != summary.events || lost_count("events_dropped") != summary.events_dropped)
		fail("the counts of the profile differ from the summary's");
	if (summary.events < 10000)
		fail("fewer than 10,000 events were recorded");
	if (profile.damage.count > 0)
		fail(profile.damage.items[0].problem);
	order_check();
	intervals_check(!overwrite);
	return 0;
}

/* ---- killed ---- */

static _Atomic uint64_t *progress;

static _Noreturn void record_until_killed(const char *path)
{
	begin(path, 0);
	vgctl_interval_begin(kind, label, 77);
	for (uint64_t i = 1;; i++) {
		vgctl_instant(kind, 0, i);
		atomic_store(progress, i);
		/* About 20 us: slow enough for the helper to fetch all events. */
		for (volatile int spin = 0; spin < 10000; spin++)
			;
	}
}

static bool part_done(const char *part)
{
	struct vg_err err;
	bool done;

	vg_profile_free(&profile);
	vg_infile_close(&file);
	if (vg_infile_open(&file, part, &err) != 0)
		return false;
	done = vg_profile_read(&profile, &file, &err) == 0 && profile.end_reason != VG_NONE;
	return done;
}

static void killed_once(const char *path, const char *part)
{
	uint64_t sent, last = 0, open = 0;
	pid_t child = fork();

	if (child == 0)
		record_until_killed(path);
	while (atomic_load(progress) < 100)
		sleep_us(1000);
	sleep_us(rand() % 100000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	sent = atomic_exchange(progress, 0);
	for (int ms = 0; !part_done(part); ms++) {
		if (ms > COMPLETE_MAX_MS)
			fail("the helper has not completed the profile");
		sleep_us(1000);
	}
	for (size_t i = 0; i < profile.events.count; i++) {
		const struct vg_event *event = &profile.events.items[i];

		if (event->type == VG_EVENT_INSTANT && event->value == last + 1)
			last++;
		open += event->type == VG_EVENT_BEGIN && event->value == 77;
		if (event->type == VG_EVENT_END)
			fail("the interval has an end, although the program has not ended it");
	}
	if (lost_count("events_dropped") == 0 && last < sent)
		fail("events from before the kill are missing");
	if (last < 100 || open != 1)
		fail("the open interval is not in the profile");
	unlink(part);
}

static int killed_run(long count, const char *path)
{
	char part[4096];

	snprintf(part, sizeof part, "%s.part", path);
	progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	for (long i = 0; i < count; i++)
		killed_once(path, part);
	printf("%ld programs killed in an interval: the interval is open, and no event before the kill is missing\n",
	       count);
	return 0;
}

/* ---- hostile ---- */

static atomic_bool stopping;
static unsigned char *ring;
static size_t ring_bytes;

/* Maps the ring a second time.  Tests that the ring's file cannot be truncated: otherwise the helper could get
 * SIGBUS. */
static void ring_find(void)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	struct stat status;

	while ((entry = readdir(directory)) != NULL) {
		int fd = atoi(entry->d_name);
		char target[256] = "";

		if (readlinkat(dirfd(directory), entry->d_name, target, sizeof target - 1) <= 0 ||
		    strstr(target, "/memfd:vgctl") == NULL)
			continue;
		if (ftruncate(fd, 0) == 0 || errno != EPERM)
			fail("the ring can be truncated");
		if (fstat(fd, &status) != 0)
			fail("the ring has no size");
		ring_bytes = (size_t)status.st_size;
		ring = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	closedir(directory);
	if (ring == NULL || ring == MAP_FAILED)
		fail("there is no ring");
}

static void *write_random_bytes(void *argument)
{
	unsigned int seed = 1;
	size_t head_bytes = 40 * 1024;

	while (!stopping) {
		/* Mostly lanes and counts, sometimes labels and records. */
		size_t area = rand_r(&seed) % 4 != 0 ? head_bytes : ring_bytes - 8;
		size_t at = ((size_t)rand_r(&seed) << 16 ^ (size_t)rand_r(&seed)) % area / 4 * 4;
		uint64_t value = (uint64_t)rand_r(&seed) << (rand_r(&seed) % 48);

		if (rand_r(&seed) % 8 == 0)
			value = UINT64_MAX;
		memcpy(ring + at, &value, rand_r(&seed) % 2 == 0 ? 4 : 8);
		if (rand_r(&seed) % 64 == 0)
			sleep_us(50);
	}
	return argument;
}

static int hostile_run(long seconds, const char *path)
{
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session = begin(path, 0);
	pthread_t threads[2];
	int rc;

	ring_find();
	pthread_create(&threads[0], NULL, write_random_bytes, NULL);
	for (long ms = 0; ms < seconds * 1000; ms += 20) {
		rounds = 200;
		storm(NULL);
		vgctl_thread_name(ms % 40 == 0 ? "a name" : "another");
		sleep_us(20000);
	}
	stopping = true;
	pthread_join(threads[0], NULL);
	rc = vgctl_end(session, &summary);
	if (rc != 0)
		fail(vgctl_strerror(rc));
	profile_read(path);
	printf("%llu events, %llu dropped, %llu samples\n", (unsigned long long)summary.events,
	       (unsigned long long)summary.events_dropped, (unsigned long long)summary.samples);
	if (profile.damage.count > 0 || profile.end_reason == VG_NONE)
		fail("the profile is damaged or has no end");
	if (summary.samples + lost_count("ticks_skipped") < 10)
		fail("the helper has stopped taking samples");
	return 0;
}

/* ---- within ---- */

/* Whether the sample is within the interval that it names.  The events must be sorted by token. */
static bool is_within(const struct vg_sample *sample)
{
	const struct vg_event key = { .token = sample->interval, .type = VG_EVENT_BEGIN };
	const struct vg_event *begin = bsearch(&key, profile.events.items, profile.events.count, sizeof key, by_token);
	const struct vg_event *after = profile.events.items + profile.events.count;
	uint64_t end_ns;

	if (begin == NULL)
		fail("a sample names an interval that is not in the profile");
	end_ns = begin + 1 < after && begin[1].token == sample->interval ? begin[1].time_ns : UINT64_MAX;
	/* Times of samples are in whole microseconds. */
	if (sample->time_ns + 1000 >= begin->time_ns && sample->time_ns <= end_ns)
		return true;
	printf("sample at %llu ns, wall %llu, cpu %llu, count %u; interval from %llu to %llu ns\n",
	       (unsigned long long)sample->time_ns, (unsigned long long)sample->wall_ns,
	       (unsigned long long)sample->cpu_ns, sample->count,
	       (unsigned long long)begin->time_ns, (unsigned long long)end_ns);
	return false;
}

/* Returns the number of samples that name an interval. */
static size_t within_once(long count, const char *path, int stop_always)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	size_t named = 0, misplaced = 0;

	options.stop_always = stop_always;
	options.rate_hz = 499;
	if (vgctl_begin(path, &options, &session) != 0)
		fail("vgctl_begin failed");
	for (long i = 0; i < count; i++) {
		struct vgctl_interval interval = vgctl_interval_begin(kind, label, 0);

		/* About 8 us. */
		for (volatile int spin = 0; spin < 20000; spin++)
			;
		vgctl_interval_end(interval);
	}
	if (vgctl_end(session, NULL) != 0)
		fail("vgctl_end failed");
	vg_profile_free(&profile);
	vg_infile_close(&file);
	profile_read(path);
	qsort(profile.events.items, profile.events.count, sizeof *profile.events.items, by_token);
	for (size_t i = 0; i < profile.samples.count; i++) {
		const struct vg_sample *sample = &profile.samples.items[i];

		if (sample->interval == 0)
			continue;
		named++;
		misplaced += !is_within(sample);
	}
	printf("%zu of %zu samples name an interval, %zu are not within it\n", named, (size_t)profile.samples.count,
	       misplaced);
	/* The time of a stop is computed, and a thread can lose its CPU after it has read the clock for an event and
	 * before the helper sees the event.  On a busy machine that is the case for less than one of 1,000 samples.
	 * Then the probability that more than 13 of 250 are not within their intervals is below 1e-9.  A wrong interval
	 * would be the rule and not the exception. */
	if (misplaced > (getenv("TIMING") != NULL && *getenv("TIMING") != '\0' ? 0 : 3 + named / 20))
		fail("samples are not within their intervals");
	return named;
}

/* If a slow machine gave the helper no time to take samples, tries again with twice as many intervals. */
static void within_run(long count, const char *path, int stop_always)
{
	size_t within = 0;

	for (int tries = 0; tries < WITHIN_TRIES && within < 10; tries++)
		within += within_once(count << tries, path, stop_always);
	if (within < 10)
		fail("fewer than 10 samples name an interval");
}

int main(int argc, char **argv)
{
	long number = argc == 4 ? atol(argv[2]) : 0;

	if (number < 1)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	kind = vgctl_intern("test");
	label = vgctl_intern("a label");
	if (strcmp(argv[1], "storm") == 0)
		return storm_run(number, argv[3], false);
	if (strcmp(argv[1], "overwrite") == 0)
		return storm_run(number, argv[3], true);
	if (strcmp(argv[1], "killed") == 0)
		return killed_run(number, argv[3]);
	if (strcmp(argv[1], "hostile") == 0)
		return hostile_run(number, argv[3]);
	if (strcmp(argv[1], "within") != 0)
		return 2;
	within_run(number, argv[3], 0);
	within_run(number, argv[3], 1);
	return 0;
}
