/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The flight recorder and its watchdog:
 *
 *     flight last SECONDS WINDOW    many dumps, each of the last WINDOW seconds; the helper's memory.  If SECONDS is
 *                                   at least 10 windows, threads never sleep, and the memory must not grow
 *     flight small                  little memory: the oldest samples and events are dropped and counted
 *     flight names                  threads with names come and go
 *     flight burst                  more events at once than the memory holds
 *     flight stall                  the event loop waits for another thread's lock, several times
 *     flight wedged                 the event loop waits forever
 *     flight run                    records until it is killed
 *     flight full DIRECTORY         dumps to a full disk, and to a directory that does not exist
 *     flight code                   names of JIT code
 *
 * All files are in the current directory.  No verdict depends on how soon a thread runs: a test waits until a dump
 * or a file has what it needs, for at most GUARD_MS.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/infile.h"
#include "libvgctl/vgctl.h"
#include "profile/reader.h"

enum { THREADS = 8, RUNNING = 2, DEPTH = 24, DUMPS = 8, SAMPLES_LEAST = 100 };

/* One second of samples and events takes less memory than this. */
#define SECOND_BYTES (UINT64_C(10) << 20)

static struct vgctl_session *session;
static struct vg_infile file;
static struct vg_profile profile;
static uint32_t kind, loop_label, save_label, index_label, mark_label;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool stop;
static long nap_ms;              /* a thread of run() sleeps that long after each interval */

/* A guard against waiting forever, and not an expectation. */
enum { GUARD_MS = 2400000 };

static _Noreturn void fail(const char *what)
{
	printf("%s\n", what);
	exit(1);
}

static void check(int rc, const char *what)
{
	if (rc == 0)
		return;
	printf("%s: %s\n", what, vgctl_strerror(rc));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

static void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&time, &time) != 0 && errno == EINTR)
		;
}

static _Noreturn void fail_value(const char *what, uint64_t expected, uint64_t found)
{
	printf("%s: expected %" PRIu64 ", found %" PRIu64 "\n", what, expected, found);
	exit(1);
}

/* Each path gives another stack.  There are so many paths that the recorder has to begin a new stack table. */
__attribute__((noinline)) static unsigned int descend(unsigned int path, int depth)
{
	volatile unsigned int left = depth > 0 && (path & 1) != 0 ? descend(path >> 1, depth - 1) : 1;
	volatile unsigned int right;

	if (depth > 0 && (path & 1) == 0)
		left += descend(path >> 1, depth - 1) + 1;
	right = 0;
	for (unsigned int i = 0; depth == 0 && i < 400000; i++)
		right += i;
	return left + right;
}

static void *run(void *argument)
{
	unsigned int path = (unsigned int)(uintptr_t)argument;

	while (!stop) {
		VGCTL_SCOPE(kind, loop_label);

		path = path * 1664525 + 1013904223;
		descend(path >> 8, DEPTH);
		vgctl_counter(loop_label, path);
		if (nap_ms != 0)
			sleep_ms(nap_ms);
	}
	return NULL;
}

static void *doze(void *argument)
{
	while (!stop)
		sleep_ms(20);
	return argument;
}

static void threads_start(pthread_t *threads)
{
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, i < RUNNING ? run : doze, (void *)i) != 0)
			fail("no thread");
}

static void threads_stop(pthread_t *threads)
{
	stop = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static struct vgctl_options options_for(unsigned int flight_s)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;

	options.flight_s = flight_s;
	kind = vgctl_intern("kind");
	loop_label = vgctl_intern("loop");
	save_label = vgctl_intern("save");
	index_label = vgctl_intern("index");
	mark_label = vgctl_intern("mark");
	return options;
}

/* ---- the helper ---- */

static long helper_kib(const char *which)
{
	char command[128], text[64] = "";
	FILE *pipe;

	snprintf(command, sizeof command, "cat /proc/$(cat pid)/status | "
		 "sed -n 's/^%s:[^0-9]*\\([0-9]*\\) kB/\\1/p'", which);
	pipe = popen(command, "r");
	if (pipe == NULL || fgets(text, sizeof text, pipe) == NULL)
		fail("the helper's memory cannot be read");
	pclose(pipe);
	return strtol(text, NULL, 10);
}

static long helper_rss_kib(void)
{
	return helper_kib("VmRSS");
}

/* The peaks of the helper's private memory: in the first third of the dumps, and in the last third.  The dumps begin
 * when two windows have passed.  The memory changes with the program's stacks and the machine's load.  Only a leak
 * makes the peak of the last third larger. */
struct growth {
	uint64_t begun_ms, all_ms, read_ms;
	long first_kib, last_kib;
};

static void growth_read(struct growth *growth, unsigned int dump)
{
	long *kib = dump < DUMPS / 3 ? &growth->first_kib : dump >= 2 * DUMPS / 3 ? &growth->last_kib : NULL;
	long seen_kib;

	if (kib == NULL || (*kib != 0 && now_ms() < growth->read_ms + 500))
		return;
	growth->read_ms = now_ms();
	seen_kib = helper_kib("RssAnon");
	if (seen_kib > *kib)
		*kib = seen_kib;
}

/* The helper frees memory when it begins a new stack table.  A short run may begin none, so only a long run is judged.
 * A short run has the limit of the memory. */
static void growth_check(const struct growth *growth)
{
	long more_kib = growth->first_kib / 4 + 2048;

	printf("own memory: %ld KiB at most in the first third, %ld KiB in the last\n",
	       growth->first_kib, growth->last_kib);
	if (growth->last_kib > growth->first_kib + more_kib)
		fail("the helper's memory grows");
}

/* ---- marks: events of the main thread with known times ---- */

enum { MARKS_MAX = 1 << 18 };

/* CLOCK_MONOTONIC before and after each mark was recorded; the mark's value is its index. */
static struct { uint64_t before_ns, after_ns; } marks[MARKS_MAX];
static uint32_t mark_count;

static void mark(void)
{
	if (mark_count == MARKS_MAX)
		return;
	marks[mark_count].before_ns = now_ns();
	vgctl_instant(kind, mark_label, mark_count);
	marks[mark_count++].after_ns = now_ns();
}

/* ---- a dump ---- */

static uint64_t stat_value(const char *name)
{
	const struct vg_count *count = vg_profile_count(&profile, &profile.stats, name);

	if (count == NULL)
		fail("a statistic is missing");
	return count->value;
}

static void profile_read(const char *path)
{
	struct vg_err err;

	vg_profile_free(&profile);
	vg_infile_close(&file);
	memset(&profile, 0, sizeof profile);
	if (vg_infile_open(&file, path, &err) != 0 || vg_profile_read(&profile, &file, &err) != 0)
		fail(err.text);
	if (profile.damage.count != 0 || profile.samples_without_stack != 0)
		fail("the dump is damaged");
	if (profile.end_reason == VG_NONE)
		fail("the dump has no end");
}

enum { TOLERANCE_NS = 1000000 };     /* times in a profile are in microseconds, or in nanoseconds */

/* The dump has all marks of its window and no others.  Returns in *low_ns and *high_ns the bounds of CLOCK_MONOTONIC at
 * the profile's time 0. */
static void marks_check(uint64_t *low_ns, uint64_t *high_ns)
{
	uint32_t first = MARKS_MAX, next = MARKS_MAX;

	*low_ns = 0;
	*high_ns = UINT64_MAX;
	for (size_t i = 0; i < profile.events.count; i++) {
		const struct vg_event *event = &profile.events.items[i];

		if (event->type != VG_EVENT_INSTANT)
			continue;
		if (first == MARKS_MAX)
			first = next = (uint32_t)event->value;
		if (event->value != next)
			fail_value("a mark is missing", next, event->value);
		if (next >= mark_count)
			fail_value("a mark was never recorded: the last one", mark_count - 1, next);
		if (marks[next].before_ns - event->time_ns > *low_ns)
			*low_ns = marks[next].before_ns - event->time_ns;
		if (marks[next].after_ns - event->time_ns < *high_ns)
			*high_ns = marks[next].after_ns - event->time_ns;
		next++;
	}
	if (next != mark_count)
		fail_value("marks from before the request are missing: the last one", mark_count - 1, next - 1);
	if (*low_ns > *high_ns + TOLERANCE_NS)
		fail("times of marks are wrong");
	if (first > 0 && marks[first - 1].before_ns > profile.header.window_begin_ns + *high_ns + TOLERANCE_NS)
		fail_value("the first marks of the window are missing: the first one", first - 1, first);
}

/* Most stacks are complete.  A dump with few samples shows nothing: dump_check() requests another. */
static void samples_check(void)
{
	size_t complete = 0;

	for (size_t i = 0; i < profile.samples.count; i++) {
		const struct vg_sample *sample = &profile.samples.items[i];

		complete += sample->stack != VG_NONE && sample->end == VG_WALK_ROOT;
	}
	if (profile.samples.count >= SAMPLES_LEAST && complete * 10 < profile.samples.count * 9)
		fail_value("stacks are incomplete: complete stacks", profile.samples.count, complete);
}

/* The dump has the window before the request.  It was requested and answered at these times. */
static void window_check(unsigned int window_s, uint64_t asked_ns, uint64_t answered_ns)
{
	uint64_t window_ns = window_s * UINT64_C(1000000000), begin_ns = profile.header.window_begin_ns;
	uint64_t end_ns = profile.duration_ns, from_ns = end_ns > window_ns ? end_ns - window_ns : 0;
	uint64_t low_ns, high_ns;

	marks_check(&low_ns, &high_ns);
	samples_check();
	if (end_ns + high_ns + TOLERANCE_NS < asked_ns || end_ns + low_ns > answered_ns + TOLERANCE_NS)
		fail("the dump does not end at the request");
	if (begin_ns > from_ns + TOLERANCE_NS)
		fail_value("the window begins later, in nanoseconds", from_ns, begin_ns);
}

/* The main thread's interval has been open since the recording began.  The dump has the begin of this interval, because
 * samples name the interval. */
static void open_check(uint64_t token)
{
	bool begun = false;

	for (size_t i = 0; i < profile.events.count; i++) {
		const struct vg_event *event = &profile.events.items[i];

		if (event->token != token)
			continue;
		if (event->type != VG_EVENT_BEGIN || event->value != 77 || begun)
			fail("the open interval has another begin, or two");
		begun = true;
	}
	if (!begun)
		fail("the interval that was open when the window began is missing");
}

static bool interval_is_named(uint64_t token)
{
	bool named = false;

	for (size_t i = 0; i < profile.samples.count; i++)
		named |= profile.samples.items[i].interval == token;
	return named;
}

/* Each end has its begin.  This includes intervals that were open when the window began. */
static void intervals_check(void)
{
	static uint64_t begun[1 << 16];
	size_t missing = 0;

	memset(begun, 0, sizeof begun);
	for (size_t i = 0; i < profile.events.count; i++) {
		const struct vg_event *event = &profile.events.items[i];

		uint64_t at = event->token * UINT64_C(0x9e3779b97f4a7c15) >> 48;

		if (event->type == VG_EVENT_BEGIN)
			begun[at] = event->token;
		else if (event->type == VG_EVENT_END)
			missing += begun[at] != event->token;
	}
	/* Two tokens may share an entry of `begun`.  Then a begin seems to be missing. */
	if (missing > profile.events.count / 100)
		fail_value("ends have no begin", 0, missing);
}

/* ---- last ---- */

/* Requests dumps until one has enough samples.  The checks of a dump do not depend on their number. */
static void dump_check(const char *path, unsigned int window_s, uint64_t token)
{
	uint64_t end_ms = now_ms() + GUARD_MS;
	bool enough;

	do {
		uint64_t asked_ns;

		mark();
		asked_ns = now_ns();
		check(vgctl_dump(session, path), "vgctl_dump");
		if (access(path, R_OK) != 0)
			fail("the dump's file does not exist");
		profile_read(path);
		window_check(window_s, asked_ns, now_ns());
		open_check(token);
		intervals_check();
		if (strcmp(vg_profile_text(&profile, profile.end_reason), "requested by the program") != 0)
			fail("the dump has another end reason");
		/* A sample of the main thread names the open interval. */
		enough = profile.samples.count >= SAMPLES_LEAST && profile.stacks.count >= SAMPLES_LEAST &&
			 interval_is_named(token);
	} while (!enough && now_ms() < end_ms);
	if (!enough)
		fail_value("the dump has too few samples", SAMPLES_LEAST, profile.samples.count);
}

static uint64_t events_between(uint64_t from_ns, uint64_t to_ns)
{
	uint64_t count = 0;

	for (size_t i = 0; i < profile.events.count; i++)
		count += profile.events.items[i].time_ns >= from_ns && profile.events.items[i].time_ns <= to_ns;
	return count;
}

static uint64_t samples_between(uint64_t from_ns, uint64_t to_ns)
{
	uint64_t count = 0;

	for (size_t i = 0; i < profile.samples.count; i++)
		count += profile.samples.items[i].time_ns >= from_ns && profile.samples.items[i].time_ns <= to_ns;
	return count;
}

/* A dump ends at the time of the request, and not when it is written.  So up to its end it has the same events as the
 * next dump.  Each other thread may have been about to record one event, with a time before the request.  The next dump
 * still has all of the samples.  Returns the number of events. */
static uint64_t end_check(void)
{
	uint64_t from_ns, to_ns, events, samples, later_events, later_samples;

	mark();
	check(vgctl_dump(session, "first.vgp"), "vgctl_dump");
	check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
	profile_read("dump.vgp");
	/* The begin of a window is in microseconds. */
	from_ns = profile.header.window_begin_ns + 1000;
	profile_read("first.vgp");
	to_ns = profile.duration_ns;
	events = events_between(from_ns, to_ns);
	samples = samples_between(from_ns, to_ns);
	profile_read("dump.vgp");
	later_events = events_between(from_ns, to_ns);
	later_samples = samples_between(from_ns, to_ns);
	if (later_events < events || later_events > events + RUNNING)
		fail_value("a dump lacks events from before its end, or the next dump does", later_events, events);
	if (later_samples < samples)
		fail_value("the next dump lacks samples of its window", samples, later_samples);
	return events;
}

static int last(unsigned int seconds, unsigned int window_s)
{
	struct vgctl_options options = options_for(window_s);
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct growth growth = { .all_ms = seconds * UINT64_C(1000) };
	bool is_long = seconds >= 10 * window_s;
	uint64_t before_ns = 0, asked_ns;
	struct vgctl_interval open;
	pthread_t threads[THREADS];
	long rss_kib;

	nap_ms = is_long ? 0 : 2;
	options.rate_hz = 999;
	options.max_file_bytes = 65536;  /* does not apply to dumps */
	options.flight_memory_bytes = window_s * SECOND_BYTES;
	if (options.max_memory_bytes < 2 * options.flight_memory_bytes)
		options.max_memory_bytes = 2 * options.flight_memory_bytes;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	open = vgctl_interval_begin(kind, loop_label, 77);
	threads_start(threads);
	/* Marks before the first window, in it and after it. */
	for (uint64_t end_ms = now_ms() + window_s * UINT64_C(2000); now_ms() < end_ms; sleep_ms(5))
		mark();
	growth.begun_ms = now_ms();
	for (unsigned int i = 0; i < DUMPS; i++) {
		dump_check("dump.vgp", window_s, open.token);
		if (profile.duration_ns <= before_ns)
			fail("the recording does not continue");
		before_ns = profile.duration_ns;
		rss_kib = helper_rss_kib();
		printf("%u: %llu samples, %zu events, %zu stacks, %llu bytes; helper %ld KiB, %llu tables, "
		       "dropped %llu\n", i, (unsigned long long)profile.samples_total, profile.events.count,
		       profile.stacks.count, (unsigned long long)profile.file_bytes, rss_kib,
		       (unsigned long long)stat_value("stack_tables"),
		       (unsigned long long)stat_value("flight_dropped"));
		do {
			if (is_long)
				growth_read(&growth, i);
			mark();
			sleep_ms(5);
		} while (now_ms() - growth.begun_ms < growth.all_ms * (i + 1) / DUMPS);
	}
	/* Dumps without time in between. */
	for (int i = 0; i < DUMPS; i++)
		dump_check("dump.vgp", window_s, open.token);
	/* On a very slow machine the windows of two dumps may not overlap. */
	for (uint64_t end_ms = now_ms() + GUARD_MS, done = 0, events = 0; done < DUMPS || events == 0; done++) {
		if (now_ms() > end_ms)
			fail("no two dumps have the same events");
		events += end_check();
	}
	rss_kib = helper_rss_kib();
	if (getenv("SANITIZE") == NULL || *getenv("SANITIZE") == '\0') {
		uint64_t most_kib = (options.flight_memory_bytes >> 10) + (32 << 10);

		if ((uint64_t)rss_kib > most_kib)
			fail_value("the helper's memory in KiB exceeds its limit", most_kib, (uint64_t)rss_kib);
		if (is_long)
			growth_check(&growth);
	}
	threads_stop(threads);
	mark();
	asked_ns = now_ns();
	check(vgctl_end(session, &summary), "vgctl_end");
	profile_read("last.vgp");
	window_check(window_s, asked_ns, now_ns());
	if (summary.samples != profile.samples_total || summary.samples == 0 ||
	    summary.file_bytes != profile.file_bytes || summary.events != profile.events.count)
		fail("the summary differs from the file");
	return 0;
}

static int small(void)
{
	struct vgctl_options options = options_for(3600);
	uint64_t end_ms = now_ms() + GUARD_MS;
	pthread_t threads[THREADS];
	long rss_kib;

	options.rate_hz = 2000;
	options.flight_memory_bytes = 1 << 20;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	threads_start(threads);
	/* Until memory is used up, and some dumps more. */
	for (int dumps = 0; dumps < DUMPS; dumps += stat_value("flight_dropped") != 0) {
		if (now_ms() > end_ms)
			fail("nothing was dropped, although there is little memory");
		sleep_ms(100);
		check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
		profile_read("dump.vgp");
	}
	rss_kib = helper_rss_kib();
	printf("small: %llu samples, %zu events, %llu dropped, from %llu ms of %llu; %llu tables; helper %ld KiB\n",
	       (unsigned long long)profile.samples_total, profile.events.count,
	       (unsigned long long)stat_value("flight_dropped"),
	       (unsigned long long)profile.header.window_begin_ns / 1000000,
	       (unsigned long long)profile.duration_ns / 1000000,
	       (unsigned long long)stat_value("stack_tables"), rss_kib);
	if (stat_value("flight_dropped") == 0 || profile.header.window_begin_ns == 0 ||
	    profile.samples_total == 0)
		fail("nothing was dropped, or no sample is left");
	threads_stop(threads);
	check(vgctl_end(session, NULL), "vgctl_end");
	return 0;
}

/* ---- stalls ---- */

/* No heartbeat is due but in a stall, so that the recorder sees no other stall, however slow the machine is.  Only
 * a pause of this length between two calls, the heartbeat and vgctl_heartbeat_pause(), would be one. */
enum { WATCHDOG_MS = 1000 };

typedef bool stall_seen(void);

static atomic_bool locked;
static const char *stall_path;           /* the file of the stall in progress */
static uint64_t stalls_expected;

static void heartbeat_pause(void)
{
	vgctl_heartbeat();
	vgctl_heartbeat_pause();
}

/* Whether the main thread sleeps.  In a stall it sleeps only when it waits for the lock. */
static bool main_sleeps(void)
{
	char path[64], line[512] = "";
	const char *state;
	FILE *stat;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
	stat = fopen(path, "r");
	if (stat == NULL || fgets(line, sizeof line, stat) == NULL)
		fail(path);
	fclose(stat);
	state = strrchr(line, ')');
	return state != NULL && strncmp(state, ") S", 3) == 0;
}

/* Returns false if the file has no profile yet. */
static bool part_read(void)
{
	char part[4096];
	struct vg_err err;

	snprintf(part, sizeof part, "%s.part", stall_path);
	vg_profile_free(&profile);
	vg_infile_close(&file);
	memset(&profile, 0, sizeof profile);
	return vg_infile_open(&file, part, &err) == 0 && vg_profile_read(&profile, &file, &err) == 0 &&
	       profile.samples_total > 0;
}

/* The stall's file has samples from after the moment at which the main thread waited. */
static bool file_continues(void)
{
	static uint64_t since_ns;
	static const char *since_path;

	if (!main_sleeps() || !part_read())
		return false;
	if (since_path != stall_path) {
		since_path = stall_path;
		since_ns = profile.duration_ns;
	}
	return profile.duration_ns > since_ns;
}

/* The recorder has counted the stall. */
static bool stall_counted(void)
{
	if (!main_sleeps())
		return false;
	check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
	profile_read("dump.vgp");
	return stat_value("stalls") == stalls_expected;
}

static bool never(void)
{
	return false;
}

/* Has the lock until the stall is seen, or for the time of the guard. */
__attribute__((noinline)) static void documents_index(stall_seen *seen)
{
	uint64_t end_ms = now_ms() + GUARD_MS;

	VGCTL_SCOPE(kind, index_label);
	pthread_mutex_lock(&lock);
	atomic_store(&locked, true);
	while (!seen()) {
		if (now_ms() > end_ms)
			fail("the recorder has not noticed a stall");
		sleep_ms(50);
	}
	pthread_mutex_unlock(&lock);
}

static void *indexer(void *seen)
{
	documents_index(*(stall_seen **)seen);
	return NULL;
}

__attribute__((noinline)) static void document_save(void)
{
	VGCTL_SCOPE(kind, save_label);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

/* A loop that stalls until the stall is seen. */
__attribute__((noinline)) static void loop_run(stall_seen *seen)
{
	pthread_t thread;

	atomic_store(&locked, false);
	if (pthread_create(&thread, NULL, indexer, &seen) != 0)
		fail("no thread");
	while (!atomic_load(&locked))
		sleep_ms(1);
	vgctl_heartbeat();
	document_save();
	heartbeat_pause();
	pthread_join(thread, NULL);
}

/* The stall's file gets its name at a heartbeat after the stall, when the file is complete. */
static void stall_await(const char *path)
{
	for (uint64_t end_ms = now_ms() + GUARD_MS; access(path, R_OK) != 0; sleep_ms(10)) {
		if (now_ms() > end_ms)
			fail_value("a stall's file is missing: its number", stalls_expected, 0);
		heartbeat_pause();
	}
}

static void stall_recorded(const char *path)
{
	stalls_expected++;
	stall_path = path;
	loop_run(file_continues);
	stall_await(path);
}

/* No stall is noticed before the first heartbeat, nor while the heartbeat pauses. */
static void no_stall_check(void)
{
	sleep_ms(WATCHDOG_MS + 200);
	heartbeat_pause();
	sleep_ms(WATCHDOG_MS + 200);
	check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
	profile_read("dump.vgp");
	if (stat_value("stalls") != 0 || access("stall.vgp.1", F_OK) == 0)
		fail_value("a pause was taken for a stall", 0, stat_value("stalls"));
}

static int stall(void)
{
	struct vgctl_options options = options_for(5);

	options.watchdog_ms = WATCHDOG_MS;
	options.watchdog_path = "stall.vgp";
	options.watchdog_files = 2;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	no_stall_check();
	stall_recorded("stall.vgp.1");
	check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
	stall_recorded("stall.vgp.2");
	stalls_expected++;
	loop_run(stall_counted);
	if (access("stall.vgp.3", F_OK) == 0 || access("stall.vgp.3.part", F_OK) == 0)
		fail("there are more than two files");
	profile_read("stall.vgp.2");
	check(vgctl_end(session, NULL), "vgctl_end");
	profile_read("last.vgp");
	if (stat_value("stalls") != stalls_expected)
		fail_value("the recorder has counted other stalls", stalls_expected, stat_value("stalls"));
	/* A file of the earlier session stays. */
	remove("stall.vgp.1");
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	stall_recorded("stall.vgp.1");
	check(vgctl_end(session, NULL), "vgctl_end");
	if (access("stall.vgp.2", R_OK) != 0 || access("stall.vgp.2.part", F_OK) == 0)
		fail("the earlier session's file is lost, or a .part is left");
	return 0;
}

static int wedged(void)
{
	struct vgctl_options options = options_for(5);

	options.watchdog_ms = WATCHDOG_MS;
	options.watchdog_path = "wedged.vgp";
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	loop_run(never);
	return 1;
}

/* Requests dumps until one has a sample of each thread, and that many samples. */
static void samples_await(uint64_t samples)
{
	uint64_t end_ms = now_ms() + GUARD_MS;

	do {
		if (now_ms() > end_ms)
			fail_value("too few samples", samples, profile.samples_total);
		sleep_ms(100);
		check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
		profile_read("dump.vgp");
	} while (profile.samples_total < samples || profile.threads.count < THREADS + 1);
}

static int until_killed(void)
{
	struct vgctl_options options = options_for(60);
	pthread_t threads[THREADS];

	options.rate_hz = 500;
	check(vgctl_begin("killed.vgp", &options, &session), "vgctl_begin");
	threads_start(threads);
	samples_await(1000);
	printf("ready\n");
	fflush(stdout);
	pause();
	return 1;
}

/* ---- disks ---- */

static void refused(const char *path, int code)
{
	char part[4096];
	int rc = vgctl_dump(session, path);

	if (rc != code) {
		printf("%s: %s\n", path, rc == 0 ? "no error" : vgctl_strerror(rc));
		exit(1);
	}
	snprintf(part, sizeof part, "%s.part", path);
	if (access(path, F_OK) == 0 || access(part, F_OK) == 0)
		fail("a dump that failed has left a file");
}

static int full(const char *directory)
{
	struct vgctl_options options = options_for(60);
	pthread_t threads[THREADS];
	char path[4096], filler[4096];
	static char bytes[65536];
	int fd;

	options.rate_hz = 2000;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	threads_start(threads);
	samples_await(1000);
	snprintf(path, sizeof path, "%s/dump.vgp", directory);
	snprintf(filler, sizeof filler, "%s/filler", directory);
	fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (fd >= 0 && write(fd, bytes, sizeof bytes) > 0)
		;
	if (fd < 0 || close(fd) != 0)
		fail("the disk cannot be filled");
	refused(path, -ENOSPC);
	remove(filler);
	check(vgctl_dump(session, path), "vgctl_dump after the disk was full");
	profile_read(path);
	if (profile.samples_total == 0)
		fail("the dump has no samples");
	snprintf(path, sizeof path, "%s/nowhere/dump.vgp", directory);
	refused(path, -ENOENT);
	if (vgctl_dump(session, "") != -EINVAL || vgctl_dump(NULL, "dump.vgp") != -EINVAL)
		fail("an invalid argument is accepted");
	threads_stop(threads);
	check(vgctl_end(session, NULL), "vgctl_end");
	/* A session without a flight recorder has no dumps. */
	options.flight_s = 0;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	refused("none.vgp", -ENOTSUP);
	check(vgctl_end(session, NULL), "vgctl_end");
	/* Invalid options */
	options.watchdog_ms = 300;
	options.watchdog_path = "stall.vgp";
	if (vgctl_begin("last.vgp", &options, &session) != -EINVAL)
		fail("a watchdog without a flight recorder is accepted");
	options.flight_s = 5;
	options.flight_memory_bytes = 1000;
	if (vgctl_begin("last.vgp", &options, &session) != -EINVAL)
		fail("a flight recorder without memory is accepted");
	return 0;
}

/* ---- code ---- */

enum { CODE_BYTES = 4096, CODE_AT = 512 };

/* Whether the profile names that JIT code. */
static bool code_is_named(const char *path, const char *wanted)
{
	bool named = false;

	profile_read(path);
	for (size_t i = 0; i < profile.jit_code.count; i++)
		named |= strcmp(vg_profile_text(&profile, profile.jit_code.items[i].name), wanted) == 0;
	return named;
}

/* Runs the code until a dump names `wanted`, and does not name `unwanted`. */
static void code_run(unsigned char *at, const char *wanted, const char *unwanted)
{
	uint64_t end_ms = now_ms() + GUARD_MS;
	bool is_wanted, is_unwanted;

	do {
		if (now_ms() > end_ms)
			fail("the dumps have other names than those of the code that ran in the window");
		for (uint64_t slice_ms = now_ms() + 100; now_ms() < slice_ms;)
			((void (*)(unsigned long))(uintptr_t)at)(1000000);
		check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
		is_wanted = code_is_named("dump.vgp", wanted);
		is_unwanted = code_is_named("dump.vgp", unwanted);
	} while (!is_wanted || is_unwanted);
}

static int code(void)
{
	/* dec %rdi; jnz; ret */
	static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	struct vgctl_options options = options_for(1);
	unsigned char *at = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	if (at == MAP_FAILED)
		fail("no memory for code");
	memcpy(at, loop, sizeof loop);
	memcpy(at + CODE_AT, loop, sizeof loop);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (map == NULL)
		fail(path);
	fprintf(map, "%lx %zx early\n%lx %zx late\n", (unsigned long)at, sizeof loop,
		(unsigned long)at + CODE_AT, sizeof loop);
	fclose(map);
	options.rate_hz = 499;
	options.perf_map = 1;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	code_run(at, "early", "late");
	/* Until `early` has left the window */
	code_run(at + CODE_AT, "late", "early");
	check(vgctl_end(session, NULL), "vgctl_end");
	remove(path);
	if (code_is_named("last.vgp", "early"))
		fail("the profile names code that no sample of the window was in");
	return 0;
}

/* ---- threads that come and go ---- */

/* Names itself, and records its number. */
static void *named(void *argument)
{
	uint64_t number = (uint64_t)(uintptr_t)argument;
	char name[32];

	snprintf(name, sizeof name, "w%" PRIu64, number);
	vgctl_thread_name(name);
	vgctl_instant(kind, mark_label, number);
	vgctl_interval_begin(kind, loop_label, number);
	if (number % 4 == 0)
		sleep_ms(20);
	return NULL;
}

/* Each event with a number belongs to the thread with that name, and each thread to the process.  At most `most`
 * threads have neither events nor samples.  An interval that was open when the window began can have lost its thread's
 * name.  Returns the number of these intervals. */
static size_t names_check(size_t most)
{
	bool *seen = calloc(profile.threads.count, sizeof *seen);
	size_t unseen = 0, before = 0;
	char name[32];

	for (size_t i = 0; i < profile.samples.count; i++)
		seen[profile.samples.items[i].thread] = true;
	for (size_t i = 0; i < profile.events.count; i++) {
		const struct vg_event *event = &profile.events.items[i];
		const struct vg_thread *thread = &profile.threads.items[event->thread];

		seen[event->thread] = true;
		if (event->type == VG_EVENT_BEGIN && event->time_ns < profile.header.window_begin_ns) {
			before++;
			continue;
		}
		snprintf(name, sizeof name, "w%" PRIu64, event->value);
		if (strcmp(vg_profile_text(&profile, thread->name), name) != 0)
			fail("an event belongs to another thread");
	}
	for (size_t i = 0; i < profile.threads.count; i++) {
		if (profile.threads.items[i].tid == 0)
			fail("a thread has no id");
		unseen += !seen[i];
	}
	free(seen);
	/* A thread that exits just now is two threads, if another one has taken its place in the event ring. */
	if (unseen > most + profile.threads.count / 50)
		fail_value("threads of other times are in the profile", most, unseen);
	return before;
}

/* Threads with names of their own end all the time, and their ids in the profile are used again.  Another session
 * begins while the flight recorder records. */
static int names(void)
{
	struct vgctl_options options = options_for(1), other_options = VGCTL_OPTIONS_INIT;
	uint64_t end_ms = now_ms() + GUARD_MS, number = 0, lowest;
	struct vgctl_session *other;
	pthread_t thread;
	size_t before;

	options.rate_hz = 200;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	/* Until dumps begin after the first threads. */
	do {
		for (int i = 0; i < 50; i++) {
			if (pthread_create(&thread, NULL, named, (void *)(uintptr_t)number++) != 0)
				fail("a thread cannot be created");
			pthread_join(thread, NULL);
		}
		if (number == 100)
			check(vgctl_begin("other.vgp", &other_options, &other), "vgctl_begin");
		check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
		profile_read("dump.vgp");
		/* The main thread, and one that lived when the window began */
		before = names_check(2);
		lowest = UINT64_MAX;
		for (size_t i = 0; i < profile.events.count; i++)
			if (profile.events.items[i].type == VG_EVENT_INSTANT && profile.events.items[i].value < lowest)
				lowest = profile.events.items[i].value;
		if (now_ms() > end_ms)
			fail_value("no dump begins after many threads; the first one", 500, lowest);
	} while (lowest < 500);
	printf("names: %" PRIu64 " threads; the last dump has %zu, from %" PRIu64 " on, and %zu intervals from "
	       "before\n", number, profile.threads.count, lowest, before);
	/* All threads left an interval open.  That of a thread that is seen to have ended is forgotten. */
	if (before > lowest / 2)
		fail_value("intervals of ended threads are kept", lowest / 2, before);
	check(vgctl_end(other, NULL), "vgctl_end");
	profile_read("other.vgp");
	names_check(1);
	check(vgctl_end(session, NULL), "vgctl_end");
	return 0;
}

/* ---- more events at once than the memory holds ---- */

enum { BURST = 16000 };

static void *burst_run(void *unused)
{
	for (int i = 0; i < BURST; i++)
		vgctl_instant(kind, mark_label, 0);
	return unused;
}

static void helper_signal(const char *signal)
{
	char command[64];

	snprintf(command, sizeof command, "kill -%s $(cat pid)", signal);
	if (system(command) != 0)
		fail("the helper does not get a signal");
}

/* The newest events are kept, about as many as the memory holds. */
static int burst(void)
{
	struct vgctl_options options = options_for(3600);
	pthread_t threads[THREADS];

	options.flight_memory_bytes = 1 << 20;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	/* The helper finds all events at once. */
	helper_signal("STOP");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, burst_run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	helper_signal("CONT");
	/* The first dump fetches the events. */
	for (int i = 0; i < 2; i++) {
		check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
		profile_read("dump.vgp");
		if (profile.header.window_begin_ns > profile.duration_ns)
			fail("the window begins after its end");
		sleep_ms(200);
	}
	printf("burst: %zu events, %llu dropped\n", profile.events.count,
	       (unsigned long long)stat_value("flight_dropped"));
	if (profile.events.count < BURST)
		fail_value("the dump has few events", BURST, profile.events.count);
	check(vgctl_end(session, NULL), "vgctl_end");
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setlinebuf(stdout);
	if (argc == 4 && strcmp(what, "last") == 0)
		return last((unsigned int)atoi(argv[2]), (unsigned int)atoi(argv[3]));
	if (argc == 2 && strcmp(what, "small") == 0)
		return small();
	if (argc == 2 && strcmp(what, "names") == 0)
		return names();
	if (argc == 2 && strcmp(what, "burst") == 0)
		return burst();
	if (argc == 2 && strcmp(what, "stall") == 0)
		return stall();
	if (argc == 2 && strcmp(what, "wedged") == 0)
		return wedged();
	if (argc == 2 && strcmp(what, "run") == 0)
		return until_killed();
	if (argc == 2 && strcmp(what, "code") == 0)
		return code();
	if (argc == 3 && strcmp(what, "full") == 0)
		return full(argv[2]);
	return 2;
}
