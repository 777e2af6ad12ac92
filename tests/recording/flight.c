/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The flight recorder and its watchdog:
 *
 *     flight last SECONDS WINDOW    many dumps, each of the last WINDOW seconds; the helper's memory
 *     flight small                  little memory: the oldest samples and events are dropped and counted
 *     flight stall                  the event loop waits for another thread's lock, several times
 *     flight wedged                 the event loop waits forever
 *     flight run                    records until it is killed
 *     flight full DIRECTORY         dumps to a full disk, and to a directory that does not exist
 *     flight code                   names of JIT code
 *
 * All files are in the current directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
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

enum { THREADS = 8, RUNNING = 2, DEPTH = 24, DUMPS = 8 };

/* One second of samples and events takes less memory than this. */
#define SECOND_BYTES (UINT64_C(10) << 20)

static struct vgctl_session *session;
static struct vg_infile file;
static struct vg_profile profile;
static uint32_t kind, loop_label, save_label, index_label;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool stop;

/* A test proves nothing if the machine stood still for a while.  stood_still_ms: when the machine last stood still.
 * beat_late: a heartbeat was late for this reason. */
static _Atomic uint64_t stood_still_ms;
static bool beat_late;
enum { STOOD_STILL_MS = 500, BEAT_LATE_MS = 200, STALL_MS = 1500, AGAIN = 75 };

static _Noreturn void fail(const char *what)
{
	printf("%s\n", what);
	exit(beat_late ? AGAIN : 1);
}

static void check(int rc, const char *what)
{
	if (rc == 0)
		return;
	printf("%s: %s\n", what, vgctl_strerror(rc));
	exit(1);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&time, &time) != 0 && errno == EINTR)
		;
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
	}
	return NULL;
}

static void *doze(void *argument)
{
	while (!stop) {
		uint64_t since_ms = now_ms();

		sleep_ms(20);
		if (now_ms() - since_ms > STOOD_STILL_MS)
			stood_still_ms = now_ms();
	}
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

/* The helper frees memory when it begins a new stack table.  In a short run it may begin none, so the limit of a short
 * run is wider. */
static void growth_check(const struct growth *growth, unsigned int window_s)
{
	bool is_long = growth->all_ms >= 10000ull * window_s;
	long more_kib = is_long ? growth->first_kib / 4 + 2048 : growth->first_kib / 2 + 16 * 1024;

	printf("own memory: %ld KiB at most in the first third, %ld KiB in the last\n",
	       growth->first_kib, growth->last_kib);
	if (growth->last_kib > growth->first_kib + more_kib)
		fail("the helper's memory grows");
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

/* The dump has the window and no more.  Samples fill the window, because some thread always runs. */
static void window_check(unsigned int window_s, uint64_t asked_ms)
{
	uint64_t slack_ns = (now_ms() - asked_ms + 500) * 1000000;
	uint64_t window_ns = window_s * UINT64_C(1000000000), first_ns = UINT64_MAX, last_ns = 0;
	uint64_t end_ns = profile.duration_ns, from_ns = end_ns > window_ns ? end_ns - window_ns : 0;
	size_t complete = 0;

	for (size_t i = 0; i < profile.samples.count; i++) {
		const struct vg_sample *sample = &profile.samples.items[i];

		complete += sample->stack != VG_NONE && sample->end == VG_WALK_ROOT;
		if (sample->time_ns < first_ns)
			first_ns = sample->time_ns;
		if (sample->time_ns > last_ns)
			last_ns = sample->time_ns;
		if (sample->time_ns > end_ns + 1000000 ||
		    sample->time_ns - sample->wall_ns + 2000000 < profile.header.window_begin_ns)
			fail("a sample is outside the window");
	}
	if (profile.stacks.count < 100 || complete * 10 < profile.samples.count * 9)
		fail("stacks are missing");
	if (profile.header.window_begin_ns + slack_ns < from_ns ||
	    profile.header.window_begin_ns > from_ns + slack_ns) {
		printf("from %" PRIu64 " to %" PRIu64 " us\n", profile.header.window_begin_ns / 1000, end_ns / 1000);
		fail("the window is not where it should be");
	}
	if (first_ns > profile.header.window_begin_ns + slack_ns || last_ns + slack_ns < end_ns)
		fail("the samples do not fill the window");
	for (size_t i = 0; i < profile.events.count; i++) {
		if (profile.events.items[i].token == 0 &&
		    profile.events.items[i].time_ns + 1000 < profile.header.window_begin_ns)
			fail("an event is from before the window");
	}
}

/* The main thread's interval has been open since the recording began.  The dump has the begin of this interval, because
 * samples name the interval. */
static void open_check(uint64_t token)
{
	bool begun = false, named = false;

	for (size_t i = 0; i < profile.events.count; i++) {
		const struct vg_event *event = &profile.events.items[i];

		if (event->token != token)
			continue;
		if (event->type != VG_EVENT_BEGIN || event->value != 77 || begun)
			fail("the open interval has another begin, or two");
		begun = true;
	}
	for (size_t i = 0; i < profile.samples.count; i++)
		named |= profile.samples.items[i].interval == token;
	if (!begun || !named)
		fail("the interval that was open when the window began is missing");
}

/* Each end has its begin.  This includes intervals that were open when the window began. */
static void intervals_check(void)
{
	static uint64_t begun[1 << 16];
	size_t mask = sizeof begun / sizeof *begun - 1, missing = 0;

	memset(begun, 0, sizeof begun);
	for (size_t i = 0; i < profile.events.count; i++) {
		const struct vg_event *event = &profile.events.items[i];

		if (event->type == VG_EVENT_BEGIN)
			begun[event->token >> 8 & mask] = event->token;
		else if (event->type == VG_EVENT_END)
			missing += begun[event->token >> 8 & mask] != event->token;
	}
	/* Some begins seem to be missing: tokens of different lanes sometimes share an entry of `begun`. */
	if (missing > profile.events.count / 10)
		fail("ends have no begin");
}

/* ---- last ---- */

/* Returns the time of the request.  If the machine stood still, or the disk delayed the helper, the window has a gap:
 * then waits for the length of a window and requests another dump. */
static uint64_t dump_request(const char *path, unsigned int window_s)
{
	uint64_t asked_ms, window_ms = window_s * UINT64_C(1000);

	for (int tries = 0;; tries++) {
		asked_ms = now_ms();
		check(vgctl_dump(session, path), "vgctl_dump");
		if (now_ms() - asked_ms > STOOD_STILL_MS + window_ms / 10)
			stood_still_ms = now_ms();
		if (tries == 10 || stood_still_ms + window_ms + STOOD_STILL_MS < now_ms())
			return asked_ms;
		sleep_ms((long)window_ms);
	}
}

static void dump_check(const char *path, unsigned int window_s, uint64_t token)
{
	uint64_t asked_ms = dump_request(path, window_s);

	if (access(path, R_OK) != 0)
		fail("the dump's file does not exist");
	profile_read(path);
	window_check(window_s, asked_ms);
	open_check(token);
	intervals_check();
	if (strcmp(vg_profile_text(&profile, profile.end_reason), "requested by the program") != 0)
		fail("the dump has another end reason");
}

static uint64_t events_between(uint64_t from_ns, uint64_t to_ns)
{
	uint64_t count = 0;

	for (size_t i = 0; i < profile.events.count; i++)
		count += profile.events.items[i].time_ns >= from_ns && profile.events.items[i].time_ns <= to_ns;
	return count;
}

/* A dump ends at the time of the request, and not when it is written.  So up to its end it has the same events as the
 * next dump. */
static void end_check(void)
{
	uint64_t from_ns, to_ns, here, there;

	check(vgctl_dump(session, "first.vgp"), "vgctl_dump");
	check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
	profile_read("dump.vgp");
	/* The begin of a window is in microseconds. */
	from_ns = profile.header.window_begin_ns + 1000;
	profile_read("first.vgp");
	to_ns = profile.duration_ns;
	here = events_between(from_ns, to_ns);
	profile_read("dump.vgp");
	there = events_between(from_ns, to_ns);
	if (here == there && here != 0)
		return;
	printf("%" PRIu64 " events until %" PRIu64 " us, and %" PRIu64 " in the next dump\n", here, to_ns / 1000,
	       there);
	fail("a dump lacks events from before its end");
}

static int last(unsigned int seconds, unsigned int window_s)
{
	struct vgctl_options options = options_for(window_s);
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct growth growth = { .all_ms = seconds * UINT64_C(1000) };
	uint64_t before_ns = 0, asked_ms;
	struct vgctl_interval open;
	pthread_t threads[THREADS];
	long rss_kib;

	options.rate_hz = 999;
	options.max_file_bytes = 65536;  /* does not apply to dumps */
	options.flight_memory_bytes = window_s * SECOND_BYTES;
	if (options.max_memory_bytes < 2 * options.flight_memory_bytes)
		options.max_memory_bytes = 2 * options.flight_memory_bytes;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	open = vgctl_interval_begin(kind, loop_label, 77);
	threads_start(threads);
	sleep_ms(window_s * 2000);
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
			growth_read(&growth, i);
			sleep_ms(5);
		} while (now_ms() - growth.begun_ms < growth.all_ms * (i + 1) / DUMPS);
	}
	/* Dumps without time in between. */
	for (int i = 0; i < DUMPS; i++)
		dump_check("dump.vgp", window_s, open.token);
	for (int i = 0; i < DUMPS; i++)
		end_check();
	rss_kib = helper_rss_kib();
	if (getenv("SANITIZE") == NULL || *getenv("SANITIZE") == '\0') {
		if ((uint64_t)rss_kib * 1024 > options.flight_memory_bytes + (32 << 20))
			fail("the helper uses more memory than its limit");
		growth_check(&growth, window_s);
	}
	threads_stop(threads);
	asked_ms = now_ms();
	check(vgctl_end(session, &summary), "vgctl_end");
	profile_read("last.vgp");
	window_check(window_s, asked_ms);
	if (summary.samples != profile.samples_total || summary.samples == 0 ||
	    summary.file_bytes != profile.file_bytes || summary.events != profile.events.count)
		fail("the summary differs from the file");
	return 0;
}

static int small(void)
{
	struct vgctl_options options = options_for(3600);
	pthread_t threads[THREADS];
	long rss_kib;

	options.rate_hz = 2000;
	options.flight_memory_bytes = 1 << 20;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	threads_start(threads);
	/* On a slow machine it takes longer until memory is used up. */
	for (int i = 0; i < DUMPS || (i < DUMPS * 10 && stat_value("flight_dropped") == 0); i++) {
		sleep_ms(500);
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
	for (size_t i = 0; i < profile.samples.count; i++) {
		if (profile.samples.items[i].time_ns + 1000 < profile.header.window_begin_ns)
			fail("a sample is from before the window");
	}
	threads_stop(threads);
	check(vgctl_end(session, NULL), "vgctl_end");
	return 0;
}

/* ---- stalls ---- */

__attribute__((noinline)) static void documents_index(long ms)
{
	VGCTL_SCOPE(kind, index_label);
	pthread_mutex_lock(&lock);
	sleep_ms(ms);
	pthread_mutex_unlock(&lock);
}

static void *indexer(void *argument)
{
	documents_index((long)(intptr_t)argument);
	return NULL;
}

__attribute__((noinline)) static void document_save(void)
{
	VGCTL_SCOPE(kind, save_label);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static uint64_t beat_ms;                 /* time of the latest heartbeat; 0: the next one may be late */

static void beat(void)
{
	uint64_t before_ms = beat_ms;

	beat_ms = now_ms();
	beat_late |= before_ms != 0 && beat_ms - before_ms > BEAT_LATE_MS;
	vgctl_heartbeat();
}

/* A loop that stalls once for that time. */
__attribute__((noinline)) static void loop_run(long stall_ms)
{
	pthread_t thread;

	for (int i = 0; i < 100; i++) {
		beat();
		if (i == 50) {
			beat_ms = 0;
			if (pthread_create(&thread, NULL, indexer, (void *)(intptr_t)stall_ms) != 0)
				fail("no thread");
			sleep_ms(50);
			document_save();
			pthread_join(thread, NULL);
		}
		sleep_ms(5);
	}
}

/* The stall's file gets its name at a heartbeat after the stall, when the file is complete. */
static void stall_await(const char *path)
{
	for (int tries = 0; access(path, R_OK) != 0; tries++) {
		if (tries == 3000)
			fail("the stall's file is missing");
		beat();
		sleep_ms(10);
	}
}

static int stall(void)
{
	struct vgctl_options options = options_for(5);

	options.watchdog_ms = 300;
	options.watchdog_path = "stall.vgp";
	options.watchdog_files = 2;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	/* No stall is noticed before the first heartbeat, nor while the heartbeat pauses. */
	sleep_ms(500);
	vgctl_heartbeat();
	vgctl_heartbeat_pause();
	sleep_ms(600);
	if (access("stall.vgp.1", F_OK) == 0)
		fail("a pause was taken for a stall");
	loop_run(3000);
	stall_await("stall.vgp.1");
	check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
	loop_run(STALL_MS);
	stall_await("stall.vgp.2");
	loop_run(STALL_MS);
	if (access("stall.vgp.3", F_OK) == 0)
		fail("there are more than two files");
	profile_read("stall.vgp.2");
	check(vgctl_end(session, NULL), "vgctl_end");
	profile_read("last.vgp");
	if (stat_value("stalls") != 3)
		fail("the recorder has not counted three stalls");
	/* A file of the earlier session stays. */
	remove("stall.vgp.1");
	beat_ms = 0;
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	loop_run(STALL_MS);
	stall_await("stall.vgp.1");
	check(vgctl_end(session, NULL), "vgctl_end");
	if (access("stall.vgp.2", R_OK) != 0 || access("stall.vgp.2.part", F_OK) == 0)
		fail("the earlier session's file is lost, or a .part is left");
	return 0;
}

static int wedged(void)
{
	struct vgctl_options options = options_for(5);

	options.watchdog_ms = 300;
	options.watchdog_path = "wedged.vgp";
	check(vgctl_begin("last.vgp", &options, &session), "vgctl_begin");
	loop_run(1000000000);
	return 1;
}

static int until_killed(void)
{
	struct vgctl_options options = options_for(2);
	pthread_t threads[THREADS];

	options.rate_hz = 500;
	check(vgctl_begin("killed.vgp", &options, &session), "vgctl_begin");
	threads_start(threads);
	sleep_ms(4000);
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
	sleep_ms(3000);
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

static void code_named(const char *path, const char *wanted, const char *unwanted)
{
	bool named = false;

	profile_read(path);
	for (size_t i = 0; i < profile.jit_code.count; i++) {
		const char *name = vg_profile_text(&profile, profile.jit_code.items[i].name);

		named |= strcmp(name, wanted) == 0;
		if (strcmp(name, unwanted) == 0)
			fail("the dump names code that no sample of the window was in");
	}
	if (!named)
		fail("JIT code has no name in the dump");
}

static int code(void)
{
	/* dec %rdi; jnz; ret */
	static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	struct vgctl_options options = options_for(2);
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
	for (uint64_t end_ms = now_ms() + 1000; now_ms() < end_ms;)
		((void (*)(unsigned long))(uintptr_t)at)(1000000);
	check(vgctl_dump(session, "dump.vgp"), "vgctl_dump");
	code_named("dump.vgp", "early", "late");
	for (uint64_t end_ms = now_ms() + 4000; now_ms() < end_ms;)
		((void (*)(unsigned long))(uintptr_t)(at + CODE_AT))(1000000);
	check(vgctl_end(session, NULL), "vgctl_end");
	remove(path);
	code_named("last.vgp", "late", "early");
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
