/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fixture.h"
#include "vgtool/output/bounded.h"
#include "vgtool/views/folded.h"
#include "vgtool/views/trimmed_stack.h"

enum { MS = 1000000 };
static struct fixture fixture;
static char *view;
static size_t view_bytes;

static int view_write(const struct vg_folded_options *folding)
{
	FILE *file = open_memstream(&view, &view_bytes);
	int rc;

	ck_assert_ptr_nonnull(file);
	rc = vg_folded_write(&fixture.profile, folding, file);
	ck_assert_int_eq(fclose(file), 0);
	return rc;
}

static void expect_output(const struct vg_folded_options *folding, const char *expected)
{
	ck_assert_int_eq(view_write(folding), 0);
	ck_assert_str_eq(view, expected);
	free(view);
}

static const char demo_folded[] =
	"main;work;inner;libx.so+0x30 2000\n"
	"[stack incomplete: no unwind information];0x7f00 2000\n"
	"main;work;inner;work;inner 1000\n"
	"main 2000\n";
enum { DEMO_BYTES = sizeof demo_folded - 1 };

START_TEST(demo_profile)
{
	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	expect_output(&(struct vg_folded_options){ .weight = VG_WEIGHT_WALL }, demo_folded);
	expect_output(&(struct vg_folded_options){ .weight = VG_WEIGHT_CPU, .by_thread = true },
		      "main;main;work;inner;libx.so+0x30 1000\n"
		      "worker;[stack incomplete: no unwind information];0x7f00 1000\n"
		      "main;main;work;inner;work;inner 500\n"
		      "worker;main 1000\n");
	expect_output(&(struct vg_folded_options){ .in_samples = true, .thread = "main" },
		      "main;work;inner;libx.so+0x30 2\nmain;work;inner;work;inner 1\n");
	expect_output(&(struct vg_folded_options){ .in_samples = true, .thread = "101" },
		      "[stack incomplete: no unwind information];0x7f00 1\nmain 1\n");
	ck_assert_int_eq(view_write(&(struct vg_folded_options){ .thread = "nobody" }), -ESRCH);
	free(view);
	fixture_close(&fixture);
}
END_TEST

/* A record may stand for several samples. */
START_TEST(records_of_several_samples)
{
	struct vg_writer_sample several = { .thread = 1, .stack = 16, .count = 3, .time_ns = 7 * MS, .wall_ns = 3 * MS };

	fixture_demo_names(&fixture);
	ck_assert_int_eq(vg_writer_sample(&fixture.writer, &several), 0);
	fixture_read(&fixture, false);
	expect_output(&(struct vg_folded_options){ .in_samples = true, .thread = "101" },
		      "[stack incomplete: no unwind information];0x7f00 1\nmain 4\n");
	fixture_close(&fixture);
}
END_TEST

/* Stacks of the same functions are one line, even if their addresses differ. A semicolon in a name cannot break the
 * format. */
START_TEST(equal_stacks_are_one_line)
{
	struct vg_symbol_line line = { 0, 1 };

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "");
	ck_assert_int_eq(vg_writer_function(&fixture.writer, 0, "f(a; b)", NULL, 0), 0);
	for (uint32_t i = 0; i < 10; i++) {
		ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, i, &line, 1), 0);
		ck_assert_int_eq(vg_writer_stack(&fixture.writer, VG_STACK_ROOTS + i,
						 i % 2 ? VG_STACK_ROOTS + i - 1 : VG_WALK_ROOT, 0, i, 0), 0);
		fixture_sample(&fixture, 0, VG_STACK_ROOTS + i, (i + 1) * MS, 1499, 0);
	}
	fixture_sample(&fixture, 0, VG_WALK_ROOT, 20 * MS, MS, 0);
	fixture_read(&fixture, false);
	expect_output(&(struct vg_folded_options){ .weight = VG_WEIGHT_WALL },
		      "f(a: b) 5\nf(a: b);f(a: b) 5\n[idle] 1000\n");
	fixture_close(&fixture);
}
END_TEST

START_TEST(deep_stacks_are_cut)
{
	size_t frames = 1;

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "main");
	for (uint32_t i = 0; i < 20000; i++)
		ck_assert_int_eq(vg_writer_stack(&fixture.writer, VG_STACK_ROOTS + i,
						 i == 0 ? VG_WALK_ROOT : VG_STACK_ROOTS + i - 1, 0, i, 0), 0);
	fixture_sample(&fixture, 0, VG_STACK_ROOTS + 19999, MS, MS, 0);
	fixture_read(&fixture, false);
	ck_assert_int_eq(view_write(&(struct vg_folded_options){ .weight = VG_WEIGHT_WALL }), 0);
	for (const char *at = view; *at != '\0'; at++)
		frames += *at == ';';
	ck_assert_uint_eq(frames, VG_TRIMMED_STACK_MAX);
	ck_assert_ptr_nonnull(strstr(view, ";[18001 frames cut];"));
	ck_assert_int_eq(strncmp(view, "demo+0x0;demo+0x1;", 18), 0);
	ck_assert_ptr_nonnull(strstr(view, ";demo+0x4e1f 1000\n"));
	free(view);
	fixture_close(&fixture);
}
END_TEST

/* The output is cut at the limit, and writing stops soon after it. */
START_TEST(output_has_a_limit)
{
	struct vg_bounded bounded;
	FILE *to, *file;

	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	for (uint64_t limit = 0; limit < 200; limit++) {
		to = open_memstream(&view, &view_bytes);
		ck_assert_ptr_nonnull(to);
		file = vg_bounded_open(&bounded, to, limit);
		ck_assert_ptr_nonnull(file);
		setvbuf(file, NULL, _IONBF, 0);
		ck_assert_int_eq(vg_folded_write(&fixture.profile, &(struct vg_folded_options){ .weight = VG_WEIGHT_WALL },
						 file), 0);
		ck_assert_int_eq(ferror(file) != 0, bounded.exceeded);
		fclose(file);
		ck_assert_int_eq(fclose(to), 0);
		ck_assert_uint_le(view_bytes, limit);
		ck_assert_int_eq(bounded.exceeded, view_bytes < DEMO_BYTES);
		ck_assert_int_eq(strncmp(view, demo_folded, view_bytes), 0);
		free(view);
	}
	fixture_close(&fixture);
}
END_TEST

Suite *folded_suite(void)
{
	Suite *suite = suite_create("folded");
	TCase *cases = tcase_create("folded");

	tcase_add_test(cases, demo_profile);
	tcase_add_test(cases, records_of_several_samples);
	tcase_add_test(cases, equal_stacks_are_one_line);
	tcase_add_test(cases, deep_stacks_are_cut);
	tcase_add_test(cases, output_has_a_limit);
	suite_add_tcase(suite, cases);
	return suite;
}
