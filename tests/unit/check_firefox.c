/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fixture.h"
#include "vgtool/views/firefox.h"

enum { MS = 1000000 };
static struct fixture fixture;
static char *view;
static size_t view_bytes;

static void view_write(uint32_t base_processes)
{
	FILE *file = open_memstream(&view, &view_bytes);

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(vg_firefox_write(&fixture.profile, base_processes, "vignette 0", file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void view_close(void)
{
	free(view);
	fixture_close(&fixture);
}

static void expect_part(const char *part)
{
	ck_assert_msg(strstr(view, part) != NULL, "no %s in: %.4000s", part, view);
}

static size_t parts(const char *part)
{
	return fixture_parts(view, part);
}

START_TEST(tables_of_a_thread)
{
	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	view_write(0);
	/* The stacks of the thread "main": main, work with "inner" inlined twice, libx.so+0x30. */
	expect_part("\"stack\":[null,");
	expect_part("\"timeDeltas\":[0,1,1,1]");
	expect_part("\"weight\":[0,1,1,1]");
	expect_part("\"threadCPUDelta\":[0,500000,500000,500000]");
	expect_part("\"inlineDepth\":[0,0,1,0]");
	expect_part("\"nativeSymbols\":{\"length\":2,\"libIndex\":[0,0],\"address\":[16,32],");
	expect_part("\"breakpadId\":\"040302010000000000000000000000000\",\"codeId\":\"01020304\"");
	expect_part("\"[stack incomplete: no unwind information]\"");
	view_close();
}
END_TEST

/* A record that stands for several samples becomes as many rows, with the same sums. */
START_TEST(records_are_repeated)
{
	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 7, "main");
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, VG_STACK_ROOTS, VG_WALK_ROOT, 0, 1, 0), 0);
	ck_assert_int_eq(vg_writer_sample(&fixture.writer, &(struct vg_writer_sample){
		.thread = 0, .stack = VG_STACK_ROOTS, .count = 3, .time_ns = 10 * MS, .wall_ns = 10000 * 1000,
		.cpu_ns = 100000 }), 0);
	fixture_read(&fixture, false);
	view_write(0);
	expect_part("\"stack\":[null,0,0,0]");
	expect_part("\"timeDeltas\":[0,3.333334,3.333333,3.333333]");
	expect_part("\"weight\":[0,3.333333,3.333333,3.333334]");
	expect_part("\"threadCPUDelta\":[0,100000,0,0]");
	view_close();
}
END_TEST

/* Threads of two processes are one track.  Where they overlap, two rows can be 1 us apart and have 1 ms of CPU time. */
START_TEST(threads_that_overlap_have_no_cpu_use)
{
	for (uint64_t second_ms = 0; second_ms <= 3; second_ms += 3) {
		struct vg_process second;

		fixture_open(&fixture);
		fixture_thread(&fixture, 0, 7, "main");
		fixture_thread(&fixture, 1, 7, "main");
		for (uint64_t i = 1; i <= 3; i++)
			fixture_sample(&fixture, 0, VG_WALK_ROOT, i * MS, MS, MS);
		for (uint64_t i = 1; i <= 3; i++)
			fixture_sample(&fixture, 1, VG_WALK_ROOT, (second_ms + i) * MS + 1000, MS, MS);
		fixture_read(&fixture, false);
		second = fixture.profile.processes.items[0];
		ck_assert_int_eq(vg_array_push(&fixture.profile.processes, &second), 0);
		fixture.profile.threads.items[1].process = 1;
		view_write(0);
		expect_part("\"samples\":{\"length\":7,");
		ck_assert_uint_eq(parts("\"threadCPUDelta\":[0,1000000,"), second_ms == 3);
		view_close();
	}
}
END_TEST

static void deep_write(uint32_t depth, uint32_t threads)
{
	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	for (uint32_t i = 0; i < depth; i++)
		often_assert_eq(vg_writer_stack(&fixture.writer, VG_STACK_ROOTS + i,
						i == 0 ? VG_WALK_ROOT : VG_STACK_ROOTS + i - 1, 0, i % 2000, 0), 0);
	for (uint32_t t = 0; t < threads; t++) {
		fixture_thread(&fixture, t, 7, "");
		fixture_sample(&fixture, t, VG_STACK_ROOTS + depth - 1, MS, MS, 0);
	}
	fixture_read(&fixture, false);
	view_write(0);
}

/* Each thread has its own copy of its stacks.  They are cut only if all copies together are too large. */
START_TEST(deep_stacks)
{
	deep_write(20000, 4);
	ck_assert_uint_eq(parts("\"stackTable\":{\"length\":20000,"), 4);
	ck_assert_uint_eq(parts("deeper frames cut"), 0);
	ck_assert_uint_eq(parts("\"stack\":[null,19999]"), 4);
	/* Four threads with one id remain four threads. */
	expect_part("\"tid\":7,");
	expect_part("\"tid\":\"7 (4)\",");
	view_close();

	deep_write(65000, 310);
	ck_assert_uint_eq(parts("\"stackTable\":{\"length\":2001,"), 310);
	ck_assert_uint_eq(parts("\"[deeper frames cut]\""), 310);
	ck_assert_uint_eq(parts("\"stack\":[null,2000]"), 310);
	view_close();
}
END_TEST

static void changed_write(const struct vg_profile *profile)
{
	static uint32_t round;
	FILE *file = fmemopen(NULL, 262144, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(vg_firefox_write(profile, round++ % 2, "x", file), 0);
	fclose(file);
}

START_TEST(any_payload_byte_changed)
{
	fixture_demo_names(&fixture);
	fixture_each_change(&fixture, changed_write);
	fixture_close(&fixture);
}
END_TEST

Suite *firefox_suite(void)
{
	Suite *suite = suite_create("firefox");
	TCase *cases = tcase_create("firefox");

	tcase_add_test(cases, tables_of_a_thread);
	tcase_add_test(cases, records_are_repeated);
	tcase_add_test(cases, threads_that_overlap_have_no_cpu_use);
	tcase_add_test(cases, deep_stacks);
	tcase_add_test(cases, any_payload_byte_changed);
	suite_add_tcase(suite, cases);
	return suite;
}
