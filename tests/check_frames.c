/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/suites.h"

#include "tests/fixture.h"
#include "vgtool/frames.h"


static struct fixture fixture;
static struct vg_frames frames;

static void frames_open(void)
{
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_frames_build(&frames, &fixture.profile), 0);
}

static void frames_close(void)
{
	vg_frames_free(&frames);
	fixture_close(&fixture);
}

static const char *name_at(uint32_t node, size_t i)
{
	return vg_frames_function(&frames, vg_frames_at(&frames, node, i).function).name;
}

START_TEST(addresses_without_names)
{
	fixture_demo(&fixture);
	frames_open();
	ck_assert_str_eq(name_at(0, 0), "demo+0x10");
	ck_assert_str_eq(name_at(2, 0), "libx.so+0x30");
	ck_assert_str_eq(name_at(4, 0), "0x7f00");
	ck_assert_ptr_null(vg_frames_function(&frames, vg_frames_at(&frames, 4, 0).function).module);
	/* Stacks 17 and 19 are the same address at two depths: one function. */
	ck_assert_uint_eq(vg_frames_at(&frames, 1, 0).function, vg_frames_at(&frames, 3, 0).function);
	ck_assert_uint_eq(frames.count, 4);
	frames_close();
}
END_TEST

START_TEST(names_and_inlines)
{
	struct vg_function_view view;

	fixture_demo_names(&fixture);
	frames_open();
	ck_assert_uint_eq(vg_frames_count(&frames, 1), 2);
	ck_assert_str_eq(name_at(1, 0), "inner");
	ck_assert_str_eq(name_at(1, 1), "work");
	ck_assert(vg_frames_at(&frames, 1, 0).is_inline);
	ck_assert(!vg_frames_at(&frames, 1, 1).is_inline);
	ck_assert_uint_eq(vg_frames_at(&frames, 1, 1).line, 12);
	view = vg_frames_function(&frames, vg_frames_at(&frames, 1, 1).function);
	ck_assert_str_eq(view.file, "w.c");
	ck_assert_str_eq(view.module, "demo");
	ck_assert_ptr_null(vg_frames_function(&frames, vg_frames_at(&frames, 1, 0).function).file);
	/* The module without symbols keeps its addresses. */
	ck_assert_str_eq(name_at(2, 0), "libx.so+0x30");
	frames_close();
}
END_TEST

START_TEST(equal_functions_of_different_ids_are_one)
{
	struct vg_symbol_line again = { 3, 99 };

	fixture_demo_names(&fixture);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 21, VG_WALK_ROOT, 0, 0x18, 0), 0);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 22, 21, 1, 0x30, 0), 0);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 23, 16, 1, 0x30, 0), 0);
	ck_assert_int_eq(vg_writer_function(&fixture.writer, 3, "main", "m.c", 0), 0);
	ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, 0x18, &again, 1), 0);
	frames_open();
	ck_assert_uint_eq(vg_frames_at(&frames, 0, 0).function, vg_frames_at(&frames, 5, 0).function);
	ck_assert(vg_frames_equal(&frames, 0, 5));
	ck_assert(vg_frames_equal(&frames, 6, 7));
	ck_assert(!vg_frames_equal(&frames, 6, 5));
	ck_assert(!vg_frames_equal(&frames, 2, 7));
	ck_assert(!vg_frames_equal(&frames, VG_NONE, 0));
	ck_assert(vg_frames_equal(&frames, VG_NONE, VG_NONE));
	frames_close();
}
END_TEST

Suite *frames_suite(void)
{
	Suite *suite = suite_create("frames");
	TCase *cases = tcase_create("frames");

	tcase_add_test(cases, addresses_without_names);
	tcase_add_test(cases, names_and_inlines);
	tcase_add_test(cases, equal_functions_of_different_ids_are_one);
	suite_add_tcase(suite, cases);
	return suite;
}
