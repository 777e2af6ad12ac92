/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fixture.h"
#include "vgtool/views/trimmed_stack.h"
#include "vgtool/views/speedscope.h"


enum { MS = 1000000 };
static struct fixture fixture;
static char *view;
static size_t view_bytes;

static void view_make(enum vg_weight weight, enum vg_frames_kind kind)
{
	FILE *file = open_memstream(&view, &view_bytes);

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(vg_speedscope_write(&fixture.profile, weight, kind, "vignette 0", file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void view_write(enum vg_weight weight)
{
	fixture_read(&fixture, false);
	view_make(weight, VG_FRAMES_FUNCTION);
}

static void view_close(void)
{
	free(view);
	fixture_close(&fixture);
}

static void expect_part(const char *part)
{
	ck_assert_msg(strstr(view, part) != NULL, "no %s in:\n%s", part, view);
}

/* Reports the offset of the first difference, because libcheck truncates long texts. */
static void expect_view(const char *expected)
{
	size_t at = 0;

	while (view[at] != '\0' && view[at] == expected[at])
		at++;
	ck_assert_msg(view[at] == expected[at], "differs at %zu: %.80s", at, view + at);
}

START_TEST(whole_document)
{
	fixture_demo_names(&fixture);
	view_write(VG_WEIGHT_WALL);
	expect_view(
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":\"demo\","
		"\"exporter\":\"vignette 0\",\"activeProfileIndex\":1,\"profiles\":[\n"
		"{\"type\":\"sampled\",\"name\":\"main\",\"unit\":\"nanoseconds\",\"startValue\":0,"
		"\"endValue\":3000000,\"samples\":[[0,1,2,3],[0,1,2,1,2]],\"weights\":[2000000,1000000]},\n"
		"{\"type\":\"sampled\",\"name\":\"worker\",\"unit\":\"nanoseconds\",\"startValue\":0,"
		"\"endValue\":4000000,\"samples\":[[6,4],[0]],\"weights\":[2000000,2000000]},\n"
		"{\"type\":\"sampled\",\"name\":\"all threads\",\"unit\":\"nanoseconds\",\"startValue\":0,"
		"\"endValue\":7000000,\"samples\":[[0,1,2,3],[6,4],[0,1,2,1,2],[0]],"
		"\"weights\":[2000000,2000000,1000000,2000000]}],"
		"\"shared\":{\"frames\":[\n"
		"{\"name\":\"main\",\"file\":\"m.c\",\"line\":7},\n"
		"{\"name\":\"work\",\"file\":\"w.c\",\"line\":12},\n"
		"{\"name\":\"inner\",\"file\":\"demo\"},\n"
		"{\"name\":\"libx.so+0x30\",\"file\":\"libx.so\"},\n{\"name\":\"0x7f00\"},\n"
		"{\"name\":\"[stack incomplete: stack truncated]\"},\n"
		"{\"name\":\"[stack incomplete: no unwind information]\"},\n"
		"{\"name\":\"[stack incomplete: bad unwind information]\"},\n"
		"{\"name\":\"[stack incomplete: frame limit]\"},\n"
		"{\"name\":\"[stack incomplete: unreadable]\"},\n"
		"{\"name\":\"[stack incomplete: register unknown]\"},\n"
		"{\"name\":\"[stack incomplete: module unloaded]\"},\n"
		"{\"name\":\"[stack incomplete: work limit]\"},\n"
		"{\"name\":\"[stack incomplete: unknown]\"}]}}\n");
	view_close();
}
END_TEST

/* A thread's intervals are a profile of their own, behind the thread's samples. Speedscope opens the samples of the
 * thread with the most CPU time: those of the worker, behind the samples and intervals of the main thread. */
START_TEST(samples_are_opened_and_not_intervals)
{
	struct vg_writer_event event = { .kind = VG_NONE };

	fixture_demo_names(&fixture);
	ck_assert_int_eq(vg_writer_label(&fixture.writer, 0, "interval", strlen("interval")), 0);
	for (uint32_t thread = 0; thread < 2; thread++) {
		event.thread = thread;
		event.token = thread + 1;
		event.type = VG_EVENT_BEGIN;
		event.label = 0;
		event.time_ns = MS;
		ck_assert_int_eq(vg_writer_event(&fixture.writer, &event), 0);
		event.type = VG_EVENT_END;
		event.label = VG_NONE;
		event.time_ns = 2 * MS;
		ck_assert_int_eq(vg_writer_event(&fixture.writer, &event), 0);
	}
	view_write(VG_WEIGHT_WALL);
	expect_part("\"activeProfileIndex\":2,");
	ck_assert_uint_eq(fixture_parts(view, "{\"type\":\"evented\""), 2);
	view_close();
}
END_TEST

START_TEST(samples_without_weight_are_left_out)
{
	fixture_demo(&fixture);
	fixture_sample(&fixture, 0, 19, 4 * MS, MS, 0);
	view_write(VG_WEIGHT_CPU);
	expect_part("\"endValue\":1500000,");
	expect_part("\"weights\":[1000000,500000]}");
	view_close();
}
END_TEST

/* A function that runs at two lines is one frame with its hottest line, or one frame for each line.  A system call has
 * a file of its own. */
START_TEST(lines)
{
	struct vg_symbol_line at_main[] = { { 0, 7 } }, elsewhere[] = { { 0, 9 } };

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "main");
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 16, VG_WALK_ROOT, 0, 0x10, 0), 0);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 17, VG_WALK_ROOT, 0, 0x20, 0), 0);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 18, 17, VG_NONE, 230, VG_FOUND_BY_SYSTEM_CALL), 0);
	fixture_sample(&fixture, 0, 16, 2 * MS, 2 * MS, 2 * MS);
	fixture_sample(&fixture, 0, 17, 3 * MS, MS, MS);
	fixture_sample(&fixture, 0, 18, 5 * MS, 2 * MS, 0);
	ck_assert_int_eq(vg_writer_function(&fixture.writer, 0, "main", "m.c", 0), 0);
	ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, 0x10, at_main, 1), 0);
	ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, 0x20, elsewhere, 1), 0);
	view_write(VG_WEIGHT_WALL);
	expect_part("\"samples\":[[0],[0,1]],\"weights\":[3000000,2000000]}]");
	expect_part("\"frames\":[\n{\"name\":\"main\",\"file\":\"m.c\",\"line\":9},\n");
	expect_part("\"file\":\"[system call]\"},\n");
	free(view);
	view_make(VG_WEIGHT_CPU, VG_FRAMES_FUNCTION);
	expect_part("\"frames\":[\n{\"name\":\"main\",\"file\":\"m.c\",\"line\":7},\n");
	free(view);
	view_make(VG_WEIGHT_WALL, VG_FRAMES_LINE);
	expect_part("\"samples\":[[0],[1],[1,2]],\"weights\":[2000000,1000000,2000000]}]");
	expect_part("{\"name\":\"main:7\",\"file\":\"m.c\",\"line\":7},\n"
		    "{\"name\":\"main:9\",\"file\":\"m.c\",\"line\":9},\n");
	view_close();
}
END_TEST

START_TEST(idle_time_is_an_empty_sample)
{
	fixture_demo(&fixture);
	fixture_sample(&fixture, 1, VG_WALK_ROOT, 6 * MS, 2 * MS, 0);
	fixture_sample(&fixture, 1, VG_WALK_UNREADABLE, 7 * MS, MS, 0);
	view_write(VG_WEIGHT_WALL);
	/* The first four frames are functions without names. The reasons for incomplete stacks follow. */
	expect_part("\"samples\":[[5,3],[0],[],[8]],\"weights\":[2000000,2000000,2000000,1000000]");
	view_close();
}
END_TEST

START_TEST(equal_thread_names_get_ids)
{
	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 11, "pool");
	fixture_thread(&fixture, 1, 12, "pool");
	fixture_thread(&fixture, 2, 13, "");
	fixture_thread(&fixture, 3, 14, "main");
	view_write(VG_WEIGHT_WALL);
	expect_part("\"name\":\"pool (11)\"");
	expect_part("\"name\":\"pool (12)\"");
	expect_part("\"name\":\"thread 13\"");
	expect_part("\"name\":\"main\"");
	view_close();
}
END_TEST

START_TEST(no_threads)
{
	fixture_open(&fixture);
	view_write(VG_WEIGHT_WALL);
	expect_part("\"profiles\":[\n{\"type\":\"sampled\",\"name\":\"no threads\",");
	expect_part("\"samples\":[],\"weights\":[]}]");
	view_close();
}
END_TEST

static size_t frames_of_first_sample(void)
{
	const char *at = strstr(view, "\"samples\":[[");
	size_t frames = 1;

	ck_assert_ptr_nonnull(at);
	for (at += strlen("\"samples\":[["); *at != ']'; at++)
		frames += *at == ',';
	return frames;
}

static void deep_write(uint32_t depth, uint32_t root)
{
	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "main");
	for (uint32_t i = 0; i < depth; i++)
		ck_assert_int_eq(vg_writer_stack(&fixture.writer, VG_STACK_ROOTS + i,
						 i == 0 ? root : VG_STACK_ROOTS + i - 1, 0, i, 0), 0);
	fixture_sample(&fixture, 0, VG_STACK_ROOTS + depth - 1, MS, MS, 0);
	view_write(VG_WEIGHT_WALL);
}

START_TEST(deep_stacks_are_trimmed)
{
	deep_write(VG_TRIMMED_STACK_MAX, VG_WALK_ROOT);
	ck_assert_uint_eq(frames_of_first_sample(), VG_TRIMMED_STACK_MAX);
	ck_assert_ptr_null(strstr(view, "frames cut]"));
	view_close();
	deep_write(VG_TRIMMED_STACK_MAX + 1, VG_WALK_ROOT);
	ck_assert_uint_eq(frames_of_first_sample(), VG_TRIMMED_STACK_MAX);
	expect_part("[2 frames cut]");
	expect_part("\"samples\":[[0,1,");
	expect_part(",1999,2000]]");
	view_close();
	deep_write(20000, VG_WALK_BAD_INFO);
	ck_assert_uint_eq(frames_of_first_sample(), VG_TRIMMED_STACK_MAX);
	expect_part("[18002 frames cut]");
	expect_part("\"samples\":[[20002,0,1,");
	expect_part(",19998,19999]]");
	view_close();
}
END_TEST

static void changed_write(const struct vg_profile *profile)
{
	FILE *file = fmemopen(NULL, 65536, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(vg_speedscope_write(profile, VG_WEIGHT_WALL, VG_FRAMES_FUNCTION, "x", file), 0);
	fclose(file);
}

START_TEST(any_payload_byte_changed)
{
	fixture_demo_names(&fixture);
	fixture_each_change(&fixture, changed_write);
	fixture_close(&fixture);
}
END_TEST

Suite *speedscope_suite(void)
{
	Suite *suite = suite_create("speedscope");
	TCase *cases = tcase_create("speedscope");

	tcase_add_test(cases, whole_document);
	tcase_add_test(cases, samples_are_opened_and_not_intervals);
	tcase_add_test(cases, samples_without_weight_are_left_out);
	tcase_add_test(cases, lines);
	tcase_add_test(cases, idle_time_is_an_empty_sample);
	tcase_add_test(cases, equal_thread_names_get_ids);
	tcase_add_test(cases, no_threads);
	tcase_add_test(cases, deep_stacks_are_trimmed);
	tcase_add_test(cases, any_payload_byte_changed);
	suite_add_tcase(suite, cases);
	return suite;
}
