/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counters of threads: from the kernel through a real helper to what the views make of them. */
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
#include "tests/unit/taken.h"
#include "vgtool/analysis/counted.h"
#include "vgtool/analysis/span_counts.h"

enum { PAGES = 3000, PAGE_BYTES = 4096, NAPS = 40, SPIN_MS = 80, MS = 1000000 };

/* AddressSanitizer has a byte for each eight of a mapping, and touches it. */
#if defined __SANITIZE_ADDRESS__
enum { SHADOW_PAGES = PAGES / 8 };
#else
enum { SHADOW_PAGES = 0 };
#endif

static char path[64], dumped[80];
static struct vgctl_session *session;
static struct taken taken;
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

/* What the kernel says to us of such an event: 0 or an errno. */
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

/* ---- what the program does ---- */

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

/* What the kernel has counted of us anyway. */
struct own { uint64_t faults, switches, preempted; };

static struct own own_now(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return (struct own){ (uint64_t)(used.ru_minflt + used.ru_majflt),
			     (uint64_t)(used.ru_nvcsw + used.ru_nivcsw), (uint64_t)used.ru_nivcsw };
}

/* An interval: what is done in it, with a good while at either end in which nothing is. */
static struct own interval(const char *label, void (*work)(void))
{
	struct own before, after;
	struct vgctl_interval open = vgctl_interval_begin(0, vgctl_intern(label), 0);

	before = own_now();
	spin_ms(SPIN_MS);
	if (work != NULL)
		work();
	spin_ms(SPIN_MS);
	after = own_now();
	vgctl_interval_end(open);
	return (struct own){ after.faults - before.faults, after.switches - before.switches,
			     after.preempted - before.preempted };
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
	taken_read(&taken, file);
	ck_assert_uint_eq(taken.profile.damage.count, 0);
}

/* Where nothing may be counted at all, that is what is to be said. */
static bool begins(const char *counters, int stop_always, bool allowed)
{
	int rc = begin(counters, stop_always, 0);

	ck_assert_msg((rc == 0) == allowed, "%d: %s", rc, vgctl_strerror(rc));
	if (rc == 0)
		return true;
	ck_assert_msg(strstr(vgctl_strerror(rc), "cannot be counted") != NULL, "%s", vgctl_strerror(rc));
	ck_assert_int_ne(access(path, F_OK), 0);
	return false;
}

/* ---- what the profile says ---- */

static struct vg_counted counted_of(const char *counter)
{
	uint32_t place = vg_counted_find(&taken.profile, counter);
	struct vg_counted counted;

	ck_assert_uint_ne(place, VG_NONE);
	ck_assert_int_eq(vg_counted_build(&counted, &taken.profile, place), 0);
	return counted;
}

/* How far the counter went in the intervals of that label, by the rule of self and by that of total,
 * which are to agree. */
static uint64_t in_interval(const char *counter, const char *label)
{
	struct vg_counted counted = counted_of(counter);
	struct vg_span_counts own;
	struct vg_spans spans;
	uint64_t sum = 0;

	ck_assert_int_eq(vg_spans_build(&spans, &taken.profile), 0);
	ck_assert_int_eq(vg_span_counts_build(&own, &spans, &counted), 0);
	for (size_t i = 0; i < spans.items.count; i++) {
		const struct vg_span *span = &spans.items.items[i];

		if (strcmp(vg_span_name(&taken.profile, span->kind, span->label), label) != 0)
			continue;
		ck_assert_uint_eq(own.self[i], own.once[i]);
		sum += own.self[i];
	}
	vg_span_counts_free(&own);
	vg_spans_free(&spans);
	vg_counted_free(&counted);
	return sum;
}

/* What the kernel counts where we cannot see it, and what falls to a neighbour at an edge. */
static void near(uint64_t got, uint64_t wanted, uint64_t play)
{
	ck_assert_msg(got + play >= wanted && got <= wanted + play, "%llu, not %llu +- %llu",
		      (unsigned long long)got, (unsigned long long)wanted, (unsigned long long)play);
}

START_TEST(pages_by_interval)
{
	const char *counter = counts_kernel() ? "page-faults" : "page-faults:u";
	struct vg_counted counted;
	uint64_t of_samples = 0;
	struct own idle, touch;

	if (!begins(counter, _i, counts_user()))
		return;
	idle = interval("idle", NULL);
	touch = interval("touch", pages_touch);
	interval("idle", NULL);
	end(path);
	ck_assert_uint_ge(touch.faults, PAGES);
	near(in_interval(counter, "touch"), touch.faults, PAGES / 10);
	near(in_interval(counter, "idle"), 2 * idle.faults, PAGES / 10);
	counted = counted_of(counter);
	for (size_t i = 0; i < taken.profile.samples.count; i++)
		of_samples += counted.by_sample[i];
	ck_assert_uint_eq(of_samples + counted.unsampled, counted.total);
	near(counted.total, touch.faults, PAGES / 5);
	vg_counted_free(&counted);
	taken_free(&taken);
}
END_TEST

/* A nap gives its CPU away once; and stops of ours are not the program's. */
START_TEST(switches_by_interval)
{
	struct own idle, sleepy;
	uint64_t play;

	if (!begins("context-switches,task-clock", _i, counts_kernel()))
		return;
	idle = interval("idle", NULL);
	sleepy = interval("sleepy", naps);
	end(path);
	ck_assert_uint_ge(sleepy.switches, NAPS);
	/* Where others want the CPU there are switches at the intervals' edges too, which no sample tells
	 * from those beyond. */
	play = 4 + (idle.preempted + sleepy.preempted) / 2;
	/* What the kernel says to us has our stops in it. */
	ck_assert_uint_le(in_interval("context-switches", "sleepy"), sleepy.switches + play);
	ck_assert_uint_ge(in_interval("context-switches", "sleepy"), NAPS - 4);
	ck_assert_uint_le(in_interval("context-switches", "idle"), idle.switches + play);
	near(in_interval("task-clock", "idle"), 2 * SPIN_MS * MS, SPIN_MS * MS / 2);
	taken_free(&taken);
}
END_TEST

/* In a spinning thread that is stopped a hundred times, and has the CPU but for that. */
START_TEST(stops_are_left_out)
{
	const struct vg_count *stops;
	struct own own;
	uint64_t counted;

	if (!begins("context-switches", 1, counts_kernel()))
		return;
	own = interval("a", NULL);
	for (int i = 0; i < 4; i++) {
		struct own more = interval("a", NULL);

		own.switches += more.switches;
	}
	end(path);
	counted = in_interval("context-switches", "a");
	stops = vg_profile_count(&taken.profile, &taken.profile.stats, "stops");
	ck_assert_ptr_nonnull(stops);
	ck_assert_uint_ge(stops->value, 20);
	near(counted + stops->value, own.switches, 12);
	taken_free(&taken);
}
END_TEST

static void *touching_thread(void *unused)
{
	spin_ms(SPIN_MS);
	pages_touch();
	return unused;
}

/* It comes when the session has begun, the helper is confined, and it is gone right behind its work. */
START_TEST(thread_that_comes_and_goes)
{
	struct vg_counted counted;
	pthread_t thread;
	uint64_t first, behind;

	if (!begins("page-faults:u,minor-faults:u", 0, counts_user()))
		return;
	pthread_create(&thread, NULL, touching_thread, NULL);
	pthread_join(thread, NULL);
	spin_ms(SPIN_MS);
	end(path);
	ck_assert_uint_eq(taken.profile.threads.count, 2);
	ck_assert_uint_eq(taken.profile.header.counter_count, 2);
	for (int i = 0; i < 2; i++) {
		counted = counted_of(i == 0 ? "page-faults:u" : "minor-faults:u");
		first = counted.first[1];
		behind = counted.first[2];
		ck_assert_uint_gt(behind, first);
		near(counted.points[behind - 1].sum, PAGES + SHADOW_PAGES, SHADOW_PAGES + 100);
		vg_counted_free(&counted);
	}
	taken_free(&taken);
}
END_TEST

START_TEST(flight_recorder_keeps_them)
{
	if (!counts_user())
		return;                  /* that it says so is for others to see */
	ck_assert_int_eq(begin("page-faults:u,task-clock", 0, 10), 0);
	interval("touch", pages_touch);
	ck_assert_int_eq(vgctl_dump(session, dumped), 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	session = NULL;
	end(dumped);
	ck_assert_uint_eq(taken.profile.header.counter_count, 2);
	near(in_interval("page-faults:u", "touch"), PAGES + SHADOW_PAGES, SHADOW_PAGES + PAGES / 10);
	near(in_interval("task-clock", "touch"), 2 * SPIN_MS * MS, SPIN_MS * MS);
	taken_free(&taken);
}
END_TEST

/* Counted where the processor does, and refused with its name where it does not. */
/* The helper is confined by a session without counters, and begins one that has some, and another. */
START_TEST(beside_another_session)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *plain;
	struct own own;

	ck_assert_int_eq(vgctl_begin(dumped, NULL, &plain), 0);
	if (begins("page-faults:u", 0, counts_user())) {
		struct vgctl_session *first = session;

		options.counters = "task-clock";
		ck_assert_int_eq(vgctl_begin("third.vgp", &options, &session), 0);
		ck_assert_int_eq(vgctl_end(session, NULL), 0);
		session = first;
		own = interval("touch", pages_touch);
		end(path);
		near(in_interval("page-faults:u", "touch"), own.faults, 100);
		taken_free(&taken);
		unlink("third.vgp");
	}
	ck_assert_int_eq(vgctl_end(plain, NULL), 0);
}
END_TEST

START_TEST(processor)
{
	int refused = probe(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true);
	struct vg_counted counted;

	if (!begins("instructions:u", 0, refused == 0)) {
		ck_assert_ptr_nonnull(strstr(vgctl_strerror(-refused), "instructions:u"));
		return;
	}
	spin_ms(SPIN_MS);
	end(path);
	counted = counted_of("instructions:u");
	ck_assert_uint_ge(counted.total, SPIN_MS * 10000);
	vg_counted_free(&counted);
	taken_free(&taken);
}
END_TEST

/* What no session begins with. */
START_TEST(refused)
{
	static const struct { const char *counters, *says; } bad[] = {
		{ "page-fault", "there is no counter page-fault:" },
		{ "", "there is no counter :" },
		{ "page-faults,", "there is no counter :" },
		{ "page-faults:x", "there is no counter page-faults:x:" },
		{ "page-faults:u,faults:u", "faults:u is named twice" },
		{ "cs:u", "context-switches:u would count nothing" },
		{ "task-clock:u", "task-clock takes no :u" },
		{ "task-clock,page-faults,cs,migrations,minor-faults", "more than 4 counters" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_int_eq(begin(bad[i].counters, 0, 0), -EINVAL);
		ck_assert_msg(strstr(vgctl_strerror(-EINVAL), bad[i].says) != NULL, "%s",
			      vgctl_strerror(-EINVAL));
		ck_assert_int_ne(access(path, F_OK), 0);
	}
}
END_TEST

START_TEST(codes)
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

/* ---- what the views make of counts ---- */

static struct fixture fixture;

static void counts(uint32_t thread, uint64_t time_ns, uint64_t value)
{
	struct vg_writer_count count = {
		.thread = thread, .count = 1, .time_ns = time_ns, .values = { value },
	};

	ck_assert_int_eq(vg_writer_count(&fixture.writer, &count), 0);
}

static void event(enum vg_event_what what, uint64_t time_ns, uint32_t label, uint64_t token)
{
	struct vg_writer_event told = {
		.what = what, .time_ns = time_ns, .kind = VG_NONE, .label = label, .token = token,
	};

	ck_assert_int_eq(vg_writer_event(&fixture.writer, &told), 0);
}

/* By CPU time among the samples since the count before; all to the last where there is none; nothing
 * to the time that a thread slept. */
START_TEST(shares)
{
	static const uint64_t wanted[] = { 10, 0, 25, 75, 7, 0 };
	struct vg_counted counted;

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
	ck_assert_int_eq(vg_counted_build(&counted, &fixture.profile, 0), 0);
	for (size_t i = 0; i < 6; i++)
		ck_assert_uint_eq(counted.by_sample[i], wanted[i]);
	ck_assert_uint_eq(counted.total, 120);
	ck_assert_uint_eq(counted.unsampled, 3);
	ck_assert_uint_eq(vg_counted_at(&counted, 0, 5 * MS), 8);
	ck_assert_uint_eq(vg_counted_at(&counted, 0, 10 * MS), 13);
	ck_assert_uint_eq(vg_counted_at(&counted, 0, 110 * MS), 13);
	ck_assert_uint_eq(vg_counted_at(&counted, 0, 115 * MS), 13 + 12);
	ck_assert_uint_eq(vg_counted_at(&counted, 0, 126 * MS), 38 + 37);
	ck_assert_uint_eq(vg_counted_at(&counted, 0, 132 * MS), 113);
	ck_assert_uint_eq(vg_counted_at(&counted, 0, UINT64_MAX), 120);
	vg_counted_free(&counted);
	fixture_close(&fixture);
}
END_TEST

/* Self is the innermost's, total that of all but those within one of their own name. */
START_TEST(nested)
{
	static const uint64_t self[] = { 40, 30, 20, 0 }, once[] = { 90, 50, 0, 0 };
	struct vg_counted counted;
	struct vg_span_counts own;
	struct vg_spans spans;

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
	/* Microseconds in samples and counts, nanoseconds in events: one for each. */
	fixture_sample(&fixture, 0, VG_WALK_ROOT, 1000, 1000, 0);
	counts(0, 1000, 1000);
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_counted_build(&counted, &fixture.profile, 0), 0);
	ck_assert_int_eq(vg_spans_build(&spans, &fixture.profile), 0);
	ck_assert_int_eq(vg_span_counts_build(&own, &spans, &counted), 0);
	ck_assert_uint_eq(spans.items.count, 4);
	for (size_t i = 0; i < 4; i++) {
		uint32_t span = vg_spans_find(&spans, i + 1);

		ck_assert_uint_eq(own.self[span], self[i]);
		ck_assert_uint_eq(own.once[span], once[i]);
	}
	vg_span_counts_free(&own);
	vg_spans_free(&spans);
	vg_counted_free(&counted);
	fixture_close(&fixture);
}
END_TEST

Suite *counters_suite(void)
{
	Suite *suite = suite_create("counters");
	TCase *cases = tcase_create("counters");

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_loop_test(cases, pages_by_interval, 0, 2);
	tcase_add_loop_test(cases, switches_by_interval, 0, 2);
	tcase_add_test(cases, stops_are_left_out);
	tcase_add_test(cases, thread_that_comes_and_goes);
	tcase_add_test(cases, flight_recorder_keeps_them);
	tcase_add_test(cases, beside_another_session);
	tcase_add_test(cases, processor);
	tcase_add_test(cases, refused);
	tcase_add_test(cases, codes);
	tcase_add_test(cases, shares);
	tcase_add_test(cases, nested);
	suite_add_tcase(suite, cases);
	return suite;
}
