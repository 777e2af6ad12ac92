/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* vgtool/views/chrome.h: lines, tracks, and intervals that are left out. */
#include <check.h>
#include "tests/unit/suites.h"
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fixture.h"
#include "vgtool/views/chrome.h"

enum { MS = 1000000 };
static struct fixture fixture;
static char *trace;

/* Reads the fixture and writes the trace. */
static void trace_write(struct vg_chrome_options options)
{
	size_t bytes;
	FILE *file = open_memstream(&trace, &bytes);

	fixture_read(&fixture, false);
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(vg_chrome_write(&fixture.profile, &options, "vignette 0", file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void trace_close(void)
{
	free(trace);
	fixture_close(&fixture);
}

static size_t count_of(const char *part)
{
	size_t count = 0;

	for (const char *at = trace; (at = strstr(at, part)) != NULL; at++)
		count++;
	return count;
}

static void expect_part(const char *part)
{
	ck_assert_msg(count_of(part) == 1, "%zu times %s", count_of(part), part);
}

/* V8 counts the lines of call frames from 0, and those of samples from 1. */
START_TEST(lines)
{
	fixture_demo_names(&fixture);
	trace_write((struct vg_chrome_options){ 0 });
	expect_part("\"functionName\":\"main\",\"scriptId\":0,\"url\":\"m.c\",\"lineNumber\":6,\"columnNumber\":-1}},"
		    "{\"id\":4,");
	ck_assert_uint_eq(count_of("\"functionName\":\"inner\",\"scriptId\":0,\"url\":\"\",\"lineNumber\":-1,"), 2);
	expect_part("\"lines\":[0,0,3]");      /* two samples of a function without lines, one of inner */
	expect_part("\"lines\":[0,7]");
	trace_close();
}
END_TEST

static void thread_add(uint32_t id, uint64_t begin_ms, uint64_t end_ms)
{
	struct vg_thread thread = { .id = id, .tid = 100 + (int32_t)id, .begin_ns = begin_ms * MS };

	ck_assert_int_eq(vg_writer_thread(&fixture.writer, &thread, "pool"), 0);
	fixture_sample(&fixture, id, 16, (begin_ms + 1) * MS, MS, MS);
	if (end_ms > 0)
		ck_assert_int_eq(vg_writer_thread_end(&fixture.writer, id, end_ms * MS), 0);
}

/* Threads:    0 |------------------------------
 *             1   |---|                           an interval of 1 lasts until 7 ms
 *             2       |---|
 *             3           |---|
 *             4               |---|
 */
static void threads_add(void)
{
	fixture_demo(&fixture);
	thread_add(2, 0, 0);
	thread_add(3, 2, 5);
	thread_add(4, 5, 8);
	thread_add(5, 8, 11);
	thread_add(6, 11, 14);
}

START_TEST(threads_that_follow_each_other_share_a_track)
{
	struct vg_writer_event begin = { VG_EVENT_BEGIN, 3, VG_NONE, VG_NONE, 3 * MS, 0, 77, 0 };
	struct vg_writer_event end = { VG_EVENT_END, 3, VG_NONE, VG_NONE, 7 * MS, 0, 77, 0 };

	threads_add();
	trace_write((struct vg_chrome_options){ 0 });
	ck_assert_uint_eq(count_of("\"thread_name\""), 7);
	ck_assert_uint_eq(count_of("\"name\":\"Profile\""), 7);
	trace_close();

	/* main, worker and 2 have their own tracks.  3 to 6 share one. */
	threads_add();
	trace_write((struct vg_chrome_options){ .collapse_threads = true });
	ck_assert_uint_eq(count_of("\"thread_name\""), 4);
	ck_assert_uint_eq(count_of("\"name\":\"Profile\""), 4);
	ck_assert_uint_eq(count_of("\"name\":\"ProfileChunk\""), 7 + 3);
	/* 3 has a sample at 3 ms and ends at 5 ms.  Then the track is idle until the sample of 4, at 6 ms. */
	expect_part("\"functionName\":\"(idle)\"");
	ck_assert_uint_eq(count_of("\"samples\":[2]},\"timeDeltas\":[2000]"), 3);
	ck_assert_uint_eq(count_of("\"timeDeltas\":[1000]"), 5);
	expect_part("\"pool (103)\"");
	ck_assert_uint_eq(count_of("\"tid\":104"), 0);
	ck_assert_uint_eq(count_of("\"functionName\":\"demo+0x10\""), 4);     /* one node for each track */
	trace_close();

	/* 4 begins before the interval of 3 has ended. */
	threads_add();
	ck_assert_int_eq(vg_writer_event(&fixture.writer, &begin), 0);
	ck_assert_int_eq(vg_writer_event(&fixture.writer, &end), 0);
	trace_write((struct vg_chrome_options){ .collapse_threads = true });
	ck_assert_uint_eq(count_of("\"thread_name\""), 5);
	expect_part("\"pool (104)\"");
	trace_close();
}
END_TEST

START_TEST(short_intervals_are_left_out)
{
	/* An interval and a detached interval, both of 2 ms. */
	static const struct vg_writer_event events[] = {
		{ VG_EVENT_BEGIN, 0, VG_NONE, VG_NONE, MS, 0, 77, 0 },
		{ VG_EVENT_DETACHED_BEGIN, 0, VG_NONE, VG_NONE, MS, 0, 78, 0 },
		{ VG_EVENT_DETACHED_END, 0, VG_NONE, VG_NONE, 3 * MS, 0, 78, 0 },
		{ VG_EVENT_END, 0, VG_NONE, VG_NONE, 3 * MS, 0, 77, 0 },
	};

	for (uint64_t minimum_ns = MS; minimum_ns <= 3 * MS; minimum_ns += MS) {
		fixture_demo(&fixture);
		for (size_t i = 0; i < sizeof events / sizeof *events; i++)
			ck_assert_int_eq(vg_writer_event(&fixture.writer, &events[i]), 0);
		trace_write((struct vg_chrome_options){ .minimum_ns = minimum_ns });
		ck_assert_uint_eq(count_of("\"ph\":\"X\""), minimum_ns <= 2 * MS);
		ck_assert_uint_eq(count_of("\"ph\":\"b\""), minimum_ns <= 2 * MS);
		ck_assert_uint_eq(count_of("\"ph\":\"e\""), minimum_ns <= 2 * MS);
		trace_close();
	}
}
END_TEST

Suite *chrome_suite(void)
{
	Suite *suite = suite_create("chrome");
	TCase *cases = tcase_create("chrome");

	tcase_add_test(cases, lines);
	tcase_add_test(cases, threads_that_follow_each_other_share_a_track);
	tcase_add_test(cases, short_intervals_are_left_out);
	suite_add_tcase(suite, cases);
	return suite;
}
