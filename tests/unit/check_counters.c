/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Perf counters of threads, from the kernel through a real helper to the views.
 *
 * What a thread counted between two readings is shared among its samples between them. The helper may get no CPU for a
 * second, so the tests make it take readings where they need them: see separate(). */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/counters.h"
#include "libvgctl/vgctl.h"
#include "tests/unit/fixture.h"
#include "tests/spin.h"
#include "tests/unit/suites.h"
#include "tests/unit/recorded.h"
#include "vgtool/analysis/perf_counts.h"
#include "vgtool/analysis/interval_counts.h"

enum { PAGES = 3000, PAGE_BYTES = 4096, NAPS = 40, SPIN_MS = 20, MS = 1000000 };

/* AddressSanitizer touches one byte for each 8 bytes of a mapping. */
#if defined __SANITIZE_ADDRESS__
enum { SHADOW_PAGES = PAGES / 8 };
#else
enum { SHADOW_PAGES = 0 };
#endif

static char path[64], dumped[80];
static struct vgctl_session *session;
static struct recorded recorded;
static volatile long sink;

static void setup(void)
{
	snprintf(path, sizeof path, "check_counters.%d.vgp", getpid());
	snprintf(dumped, sizeof dumped, "%s.dump", path);
}

static void teardown(void)
{
	unlink(path);
	unlink(dumped);
}

/* Returns the result of perf_event_open(2) for such an event of this process: 0 or an errno. */
static int probe(uint32_t type, uint64_t config, bool user_only)
{
	struct perf_event_attr attr = {
		.type = type, .size = sizeof attr, .config = config, .exclude_kernel = user_only,
		.exclude_hv = user_only,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	close((int)fd);
	return 0;
}

static bool counts_user(void)
{
	return probe(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true) == 0;
}

static bool counts_kernel(void)
{
	return probe(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false) == 0;
}

/* ---- the sampled program ---- */

static __attribute__((noinline)) void spin_ms(uint64_t ms)
{
	uint64_t end_ns = spin_cpu_ns() + ms * MS;

	while (spin_cpu_ns() < end_ns) {
		for (int i = 0; i < 20000; i++)
			sink += i;
	}
}

static __attribute__((noinline)) void pages_touch(void)
{
	size_t bytes = (size_t)PAGES * PAGE_BYTES;
	volatile char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne((void *)pages, MAP_FAILED);
	madvise((void *)pages, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		pages[i * PAGE_BYTES] = 1;
	munmap((void *)pages, bytes);
}

static void naps(void)
{
	const struct timespec nap = { .tv_nsec = 1 * MS };

	for (int i = 0; i < NAPS; i++)
		nanosleep(&nap, NULL);
}

/* What the kernel counts of every thread. And the task-clock of the interval's inner part, and of all around it. */
struct usage { uint64_t faults, switches, preempted, inner_ns, outer_ns; };

/* This thread's task-clock, or -1 */
static int clock_fd = -1;

static struct usage usage_now(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return (struct usage){
		.faults = (uint64_t)(used.ru_minflt + used.ru_majflt),
		.switches = (uint64_t)(used.ru_nvcsw + used.ru_nivcsw), .preempted = (uint64_t)used.ru_nivcsw,
	};
}

/* Makes the helper read the counters. A reading comes with a sample, which may be lost on a busy machine, but not
 * several in a row: vgctl_sample() returns after the attempt. */
static void separate(void)
{
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(vgctl_sample(session), 0);
}

/* Runs work() in an interval, with SPIN_MS of CPU time before it and after it. Returns what the kernel counted. */
static struct usage interval_ms(const char *label, void (*work)(void), uint64_t ms)
{
	uint64_t outer_ns = fixture_task_clock_ns(clock_fd), inner_ns;
	struct usage before, after;
	struct vgctl_interval open;

	separate();
	open = vgctl_interval_begin(0, vgctl_intern(label), 0);
	before = usage_now();
	separate();
	inner_ns = fixture_task_clock_ns(clock_fd);
	spin_ms(ms);
	if (work != NULL)
		work();
	spin_ms(ms);
	inner_ns = fixture_task_clock_ns(clock_fd) - inner_ns;
	separate();
	after = usage_now();
	vgctl_interval_end(open);
	separate();
	return (struct usage){ after.faults - before.faults, after.switches - before.switches,
			     after.preempted - before.preempted, inner_ns, fixture_task_clock_ns(clock_fd) - outer_ns };
}

static struct usage interval(const char *label, void (*work)(void))
{
	return interval_ms(label, work, SPIN_MS);
}

static int begin(const char *counters, int stop_always, unsigned int flight_s)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;

	options.rate_hz = 199;
	options.counters = counters;
	options.stop_always = stop_always;
	options.flight_s = flight_s;
	return vgctl_begin(path, &options, &session);
}

static void end(const char *file)
{
	if (session != NULL)
		ck_assert_int_eq(vgctl_end(session, NULL), 0);
	session = NULL;
	recorded_read(&recorded, file);
	ck_assert_uint_eq(recorded.profile.damage.count, 0);
}

/* Returns whether a session with these counters began. `allowed`: the kernel allows these counters. If it does not,
 * vgctl_begin() must fail with the message "cannot be counted" and leave no file. */
static bool try_begin(const char *counters, int stop_always, bool allowed)
{
	int rc = begin(counters, stop_always, 0);

	ck_assert_msg((rc == 0) == allowed, "%d: %s", rc, vgctl_strerror(rc));
	if (rc == 0)
		return true;
	ck_assert_msg(strstr(vgctl_strerror(rc), "cannot be counted") != NULL, "%s", vgctl_strerror(rc));
	ck_assert_int_ne(access(path, F_OK), 0);
	return false;
}

/* ---- the profile ---- */

static struct vg_perf_counts counted_of(const char *counter)
{
	uint32_t place = vg_perf_counter_find(&recorded.profile, counter);
	struct vg_perf_counts counted;

	ck_assert_uint_ne(place, VG_NONE);
	ck_assert_int_eq(vg_perf_counts_build(&counted, &recorded.profile, place), 0);
	return counted;
}

/* How much the counter increased in the intervals of that label. Their self counts and total counts must be equal. */
static uint64_t in_interval(const char *counter, const char *label)
{
	struct vg_perf_counts counted = counted_of(counter);
	struct vg_interval_counts per_interval;
	struct vg_intervals intervals;
	uint64_t sum = 0;

	ck_assert_int_eq(vg_intervals_build(&intervals, &recorded.profile), 0);
	ck_assert_int_eq(vg_interval_counts_build(&per_interval, &intervals, &counted), 0);
	for (size_t i = 0; i < intervals.items.count; i++) {
		const struct vg_interval *interval = &intervals.items.items[i];

		if (strcmp(vg_interval_name(&recorded.profile, interval->kind, interval->label), label) != 0)
			continue;
		ck_assert_uint_eq(per_interval.self[i], per_interval.total[i]);
		sum += per_interval.self[i];
	}
	vg_interval_counts_free(&per_interval);
	vg_intervals_free(&intervals);
	vg_perf_counts_free(&counted);
	return sum;
}

/* The kernel also counts events that the program does not know of. Events at an interval's edge may be counted for the
 * interval before or after it. So the value may differ from the expected one. */
static void near_to(uint64_t value, uint64_t expected, uint64_t tolerance)
{
	ck_assert_msg(value + tolerance >= expected && value <= expected + tolerance, "%llu, not %llu +- %llu",
		      (unsigned long long)value, (unsigned long long)expected, (unsigned long long)tolerance);
}

/* Readings separate the interval's inner part, the interval, and what is around it: see interval_ms(). */
static void clock_check(const char *label, const struct usage *usage)
{
	uint64_t counted_ns = in_interval("task-clock", label);

	ck_assert_uint_ge(counted_ns, usage->inner_ns);
	ck_assert_uint_le(counted_ns, usage->outer_ns);
	close(clock_fd);
	clock_fd = -1;
}

START_TEST(page_faults_by_interval)
{
	const char *counter = counts_kernel() ? "page-faults" : "page-faults:u";
	struct vg_perf_counts counted;
	uint64_t of_samples = 0;
	struct usage idle, touch;

	if (!try_begin(counter, _i, counts_user()))
		return;
	idle = interval("idle", NULL);
	touch = interval("touch", pages_touch);
	interval("idle", NULL);
	end(path);
	ck_assert_uint_ge(touch.faults, PAGES);
	near_to(in_interval(counter, "touch"), touch.faults, PAGES / 10);
	near_to(in_interval(counter, "idle"), 2 * idle.faults, PAGES / 10);
	counted = counted_of(counter);
	for (size_t i = 0; i < recorded.profile.samples.count; i++)
		of_samples += counted.by_sample[i];
	ck_assert_uint_eq(of_samples + counted.unsampled, counted.total);
	near_to(counted.total, touch.faults, PAGES / 5);
	vg_perf_counts_free(&counted);
	recorded_free(&recorded);
}
END_TEST

/* Each nap is one context switch. The profile's counts leave out the helper's stops. */
START_TEST(switches_by_interval)
{
	struct usage idle, sleepy;
	uint64_t tolerance;

	if (!try_begin("context-switches,task-clock", _i, counts_kernel()))
		return;
	clock_fd = fixture_task_clock_open();
	ck_assert_int_ge(clock_fd, 0);
	idle = interval("idle", NULL);
	sleepy = interval("sleepy", naps);
	end(path);
	ck_assert_uint_ge(sleepy.switches, NAPS);
	/* A preemption at the edge of an interval may be counted for the interval before or after it, because no sample
	 * separates the two. */
	tolerance = 4 + (idle.preempted + sleepy.preempted) / 2;
	/* The counts of getrusage(2) include the helper's stops. */
	ck_assert_uint_le(in_interval("context-switches", "sleepy"), sleepy.switches + tolerance);
	ck_assert_uint_ge(in_interval("context-switches", "sleepy"), NAPS - 4);
	ck_assert_uint_le(in_interval("context-switches", "idle"), idle.switches + tolerance);
	clock_check("idle", &idle);
	recorded_free(&recorded);
}
END_TEST

static uint64_t stops_count(void)
{
	const struct vg_count *stops = vg_profile_count(&recorded.profile, &recorded.profile.stats, "stops");

	ck_assert_ptr_nonnull(stops);
	return stops->value;
}

/* Returns the number of stops that may be in no interval. Each gave a sample, or a loss of a kind that has a stop.
 * A tick that the helper skipped has no stop. A thread that did not stop in time is not counted as stopped, and the
 * switch remains in its counts. There can be any number of both if the helper or the thread gets no CPU. */
static uint64_t stops_uncounted(void)
{
	static const char *const with_stop[] = { "forbidden", "unreadable", "no_memory" };
	uint64_t count = 0;

	for (size_t i = 0; i < sizeof with_stop / sizeof *with_stop; i++) {
		const struct vg_count *lost = vg_profile_count(&recorded.profile, &recorded.profile.lost, with_stop[i]);

		count += lost != NULL ? lost->value : 0;
	}
	for (size_t i = 0; i < recorded.profile.samples.count; i++)
		count += recorded.profile.samples.items[i].interval == 0;
	return count;
}

/* A spinning thread is stopped many times, and its counts leave out the stops. getrusage(2) counts all switches within
 * the interval, so the sum of counts and stops is larger by the stops in no interval. Records until most stops are in
 * the interval. The thread can also lose its CPU once at each edge. */
START_TEST(stops_are_left_out)
{
	enum { EDGES = 2 };
	struct usage usage = { 0 };

	for (uint64_t ms = 150;; ms *= 2) {
		if (!try_begin("context-switches", 1, counts_kernel()))
			return;
		usage = interval_ms("a", NULL, ms);
		end(path);
		if (stops_count() >= 20 + 2 * stops_uncounted())
			break;
		recorded_free(&recorded);
		unlink(path);
	}
	near_to(in_interval("context-switches", "a") + stops_count(), usage.switches, stops_uncounted() + EDGES);
	recorded_free(&recorded);
}
END_TEST

static void *touching_thread(void *unused)
{
	/* The helper lists the thread. */
	separate();
	pages_touch();
	return unused;
}

/* The thread is created after the helper was confined, and exits right after its work. */
START_TEST(short_thread)
{
	struct vg_perf_counts counted;
	pthread_t thread;
	uint64_t first, end_point;

	if (!try_begin("page-faults:u,minor-faults:u", 0, counts_user()))
		return;
	pthread_create(&thread, NULL, touching_thread, NULL);
	pthread_join(thread, NULL);
	end(path);
	ck_assert_uint_eq(recorded.profile.threads.count, 2);
	ck_assert_uint_eq(recorded.profile.header.counter_count, 2);
	for (int i = 0; i < 2; i++) {
		counted = counted_of(i == 0 ? "page-faults:u" : "minor-faults:u");
		first = counted.first[1];
		end_point = counted.first[2];
		ck_assert_uint_gt(end_point, first);
		near_to(counted.points[end_point - 1].sum, PAGES + SHADOW_PAGES, SHADOW_PAGES + 100);
		vg_perf_counts_free(&counted);
	}
	recorded_free(&recorded);
}
END_TEST

START_TEST(counters_of_a_flight_recorder)
{
	struct usage usage;

	if (!counts_user())
		return;                  /* other tests check the error */
	ck_assert_int_eq(begin("page-faults:u,task-clock", 0, 10), 0);
	clock_fd = fixture_task_clock_open();
	ck_assert_int_ge(clock_fd, 0);
	usage = interval("touch", pages_touch);
	ck_assert_int_eq(vgctl_dump(session, dumped), 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	session = NULL;
	end(dumped);
	ck_assert_uint_eq(recorded.profile.header.counter_count, 2);
	near_to(in_interval("page-faults:u", "touch"), PAGES + SHADOW_PAGES, SHADOW_PAGES + PAGES / 10);
	clock_check("touch", &usage);
	recorded_free(&recorded);
}
END_TEST

/* The helper is confined in a session without counters, and then begins two sessions that have counters. */
START_TEST(beside_another_session)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *plain;
	struct usage usage;
	char third[80];

	snprintf(third, sizeof third, "%s.third", path);
	ck_assert_int_eq(vgctl_begin(dumped, NULL, &plain), 0);
	if (try_begin("page-faults:u", 0, counts_user())) {
		struct vgctl_session *first = session;

		options.counters = "task-clock";
		ck_assert_int_eq(vgctl_begin(third, &options, &session), 0);
		ck_assert_int_eq(vgctl_end(session, NULL), 0);
		session = first;
		usage = interval("touch", pages_touch);
		end(path);
		near_to(in_interval("page-faults:u", "touch"), usage.faults, 100);
		recorded_free(&recorded);
		unlink(third);
	}
	ck_assert_int_eq(vgctl_end(plain, NULL), 0);
}
END_TEST

START_TEST(counters_of_the_cpu)
{
	int probe_error = probe(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true);
	struct vg_perf_counts counted;

	if (!try_begin("instructions:u", 0, probe_error == 0)) {
		ck_assert_ptr_nonnull(strstr(vgctl_strerror(-probe_error), "instructions:u"));
		return;
	}
	spin_ms(SPIN_MS);
	end(path);
	counted = counted_of("instructions:u");
	ck_assert_uint_ge(counted.total, SPIN_MS * 10000);
	vg_perf_counts_free(&counted);
	recorded_free(&recorded);
}
END_TEST

/* Values of the option that are refused. */
START_TEST(bad_names)
{
	static const struct { const char *counters, *says; } bad[] = {
		{ "page-fault", "counter page-fault: unknown name" },
		{ "", "counter : unknown name" },
		{ "page-faults,", "counter : unknown name" },
		{ "page-faults:x", "counter page-faults:x: unknown name" },
		{ "page-faults:u,faults:u", "counter faults:u: it is named twice" },
		{ "cs:u", "counter context-switches:u: it would count nothing" },
		{ "task-clock:u", "counter task-clock: it cannot have :u" },
		{ "task-clock,page-faults,cs,migrations,minor-faults",
		  "counter minor-faults: it is one too many; use at most 4" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_int_eq(begin(bad[i].counters, 0, 0), -EINVAL);
		ck_assert_msg(strstr(vgctl_strerror(-EINVAL), bad[i].says) != NULL, "%s",
			      vgctl_strerror(-EINVAL));
		ck_assert_int_ne(access(path, F_OK), 0);
	}
}
END_TEST

START_TEST(codes_and_names)
{
	static const uint16_t bad[][VG_COUNTERS_MAX] = {
		{ 2, 2 }, { 0, 2 }, { 7 }, { 255 }, { 0x302 }, { 0x402 }, { 0x105 }, { 0x101 }, { 2, 0, 3 },
	};
	static const uint16_t good[][VG_COUNTERS_MAX] = {
		{ 0 }, { 1, 2, 3, 4 }, { 0x102, 2, 0x202 }, { 17, 16, 0x111 },
	};
	uint16_t parsed[VG_COUNTERS_MAX] = { 0 };
	char name[VG_COUNTER_NAME_BYTES];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_int_eq(vg_counters_check(bad[i]), -EINVAL);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ck_assert_int_eq(vg_counters_check(good[i]), 0);
	ck_assert_int_eq(vg_counters_parse("cpu-cycles:k,faults", parsed, NULL), 0);
	ck_assert_int_eq(vg_counters_parse("stalled-cycles-frontend:u", parsed, NULL), 0);
	ck_assert_uint_eq(vg_counters_count(parsed), 3);
	ck_assert_str_eq(vg_counter_name(parsed[0], name), "cycles:k");
	ck_assert_str_eq(vg_counter_name(parsed[1], name), "page-faults");
	ck_assert_str_eq(vg_counter_name(parsed[2], name), "stalled-cycles-frontend:u");
}
END_TEST

/* ---- counts in views ---- */

static struct fixture fixture;

static void counts(uint32_t thread, uint64_t time_ns, uint64_t value)
{
	struct vg_writer_perf_counters count = {
		.thread = thread, .count = 1, .time_ns = time_ns, .values = { value },
	};

	ck_assert_int_eq(vg_writer_perf_counters(&fixture.writer, &count), 0);
}

static void event(enum vg_event_type type, uint64_t time_ns, uint32_t label, uint64_t token)
{
	struct vg_writer_event writer_event = {
		.type = type, .time_ns = time_ns, .kind = VG_NONE, .label = label, .token = token,
	};

	ck_assert_int_eq(vg_writer_event(&fixture.writer, &writer_event), 0);
}

/* A count is shared among the samples since the count before it, by their CPU time. If these samples have no CPU time,
 * the last sample gets the whole count. Time in which the thread slept gets nothing. */
START_TEST(counts_are_shared_among_samples)
{
	static const uint64_t expected[] = { 10, 0, 25, 75, 7, 0 };
	struct vg_perf_counts counted;

	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 7, "main");
	counts(0, 0, 3);
	fixture_sample(&fixture, 0, VG_WALK_ROOT, 10 * MS, 10 * MS, 10 * MS);
	counts(0, 10 * MS, 10);
	fixture_sample(&fixture, 0, VG_WALK_ROOT, 110 * MS, 100 * MS, 0);
	fixture_sample(&fixture, 0, VG_WALK_ROOT, 120 * MS, 10 * MS, 1 * MS);
	fixture_sample(&fixture, 0, VG_WALK_ROOT, 130 * MS, 10 * MS, 3 * MS);
	counts(0, 132 * MS, 100);
	fixture_sample(&fixture, 0, VG_WALK_ROOT, 140 * MS, 10 * MS, 0);
	counts(0, 140 * MS, 7);
	fixture_sample(&fixture, 0, VG_WALK_ROOT, 150 * MS, 10 * MS, 0);
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_perf_counts_build(&counted, &fixture.profile, 0), 0);
	for (size_t i = 0; i < 6; i++)
		ck_assert_uint_eq(counted.by_sample[i], expected[i]);
	ck_assert_uint_eq(counted.total, 120);
	ck_assert_uint_eq(counted.unsampled, 3);
	ck_assert_uint_eq(vg_perf_counts_at(&counted, 0, 5 * MS), 8);
	ck_assert_uint_eq(vg_perf_counts_at(&counted, 0, 10 * MS), 13);
	ck_assert_uint_eq(vg_perf_counts_at(&counted, 0, 110 * MS), 13);
	ck_assert_uint_eq(vg_perf_counts_at(&counted, 0, 115 * MS), 13 + 12);
	ck_assert_uint_eq(vg_perf_counts_at(&counted, 0, 126 * MS), 38 + 37);
	ck_assert_uint_eq(vg_perf_counts_at(&counted, 0, 132 * MS), 113);
	ck_assert_uint_eq(vg_perf_counts_at(&counted, 0, UINT64_MAX), 120);
	vg_perf_counts_free(&counted);
	fixture_close(&fixture);
}
END_TEST

/* A count belongs to the self count of the innermost interval. It is also added, once, to the total of each label
 * that has an open interval. */
START_TEST(counts_of_nested_intervals)
{
	static const uint64_t self[] = { 40, 30, 20, 0 }, total[] = { 90, 50, 0, 0 };
	struct vg_perf_counts counted;
	struct vg_interval_counts per_interval;
	struct vg_intervals intervals;

	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 7, "main");
	vg_writer_label(&fixture.writer, 0, "outer", 5);
	vg_writer_label(&fixture.writer, 1, "inner", 5);
	event(VG_EVENT_BEGIN, 10, 0, 1);
	event(VG_EVENT_BEGIN, 30, 1, 2);
	event(VG_EVENT_DETACHED_BEGIN, 35, 1, 4);
	event(VG_EVENT_BEGIN, 40, 1, 3);
	event(VG_EVENT_END, 60, VG_NONE, 3);
	event(VG_EVENT_END, 80, VG_NONE, 2);
	event(VG_EVENT_END, 100, VG_NONE, 1);
	/* Samples and counts are in microseconds, events in nanoseconds: the count increases by one each nanosecond. */
	fixture_sample(&fixture, 0, VG_WALK_ROOT, 1000, 1000, 0);
	counts(0, 1000, 1000);
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_perf_counts_build(&counted, &fixture.profile, 0), 0);
	ck_assert_int_eq(vg_intervals_build(&intervals, &fixture.profile), 0);
	ck_assert_int_eq(vg_interval_counts_build(&per_interval, &intervals, &counted), 0);
	ck_assert_uint_eq(intervals.items.count, 4);
	for (size_t i = 0; i < 4; i++) {
		uint32_t interval = vg_intervals_find(&intervals, i + 1);

		ck_assert_uint_eq(per_interval.self[interval], self[i]);
		ck_assert_uint_eq(per_interval.total[interval], total[i]);
	}
	vg_interval_counts_free(&per_interval);
	vg_intervals_free(&intervals);
	vg_perf_counts_free(&counted);
	fixture_close(&fixture);
}
END_TEST

Suite *counters_suite(void)
{
	Suite *suite = suite_create("counters");
	TCase *cases = tcase_create("counters");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_loop_test(cases, page_faults_by_interval, 0, 2);
	tcase_add_loop_test(cases, switches_by_interval, 0, 2);
	tcase_add_test(cases, stops_are_left_out);
	tcase_add_test(cases, short_thread);
	tcase_add_test(cases, counters_of_a_flight_recorder);
	tcase_add_test(cases, beside_another_session);
	tcase_add_test(cases, counters_of_the_cpu);
	tcase_add_test(cases, bad_names);
	tcase_add_test(cases, codes_and_names);
	tcase_add_test(cases, counts_are_shared_among_samples);
	tcase_add_test(cases, counts_of_nested_intervals);
	suite_add_tcase(suite, cases);
	return suite;
}
