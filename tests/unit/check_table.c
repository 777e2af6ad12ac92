/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <string.h>

#include "tests/unit/fixture.h"
#include "vgtool/analysis/function_table.h"


static struct fixture fixture;
static struct vg_frames frames;
static struct vg_thread_samples threads;
static struct vg_table_maker maker;
static struct vg_function_table table;

static void tables_open(enum vg_weight weight, int64_t tid)
{
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_frames_build(&frames, &fixture.profile), 0);
	ck_assert_int_eq(vg_thread_samples_build(&threads, &fixture.profile, tid), 0);
	ck_assert_int_eq(vg_table_maker_open(&maker, &frames, weight), 0);
}

static void tables_close(void)
{
	vg_table_maker_close(&maker);
	vg_thread_samples_free(&threads);
	vg_frames_free(&frames);
	fixture_close(&fixture);
}

static void build(uint64_t first, uint64_t end)
{
	ck_assert_int_eq(vg_function_table_build(&table, &maker, threads.order + first, end - first), 0);
}

static const struct vg_function_row *row(const char *name)
{
	for (size_t i = 0; i < table.rows.count; i++) {
		const char *row_name = vg_frames_function(&frames, table.rows.items[i].function).name;

		if (strcmp(row_name, name) == 0)
			return &table.rows.items[i];
	}
	ck_abort_msg("%s is not in the table", name);
}

static void row_expect(const char *name, uint64_t self_us, uint64_t self, uint64_t total_us,
		       uint64_t total)
{
	ck_assert_msg(row(name)->self_ns == self_us * 1000 && row(name)->self_samples == self &&
		      row(name)->total_ns == total_us * 1000 && row(name)->total_samples == total,
		      "%s: self %lu ns %lu, total %lu ns %lu", name, row(name)->self_ns,
		      row(name)->self_samples, row(name)->total_ns, row(name)->total_samples);
}

START_TEST(whole_profile)
{
	fixture_demo_names(&fixture);
	tables_open(VG_WEIGHT_WALL, -1);
	build(0, 5);
	ck_assert_uint_eq(table.samples, 5);
	ck_assert_uint_eq(table.weight_ns, 7000000);
	ck_assert_uint_eq(table.cpu_ns, 3500000);
	ck_assert_uint_eq(table.rows.count, 5);
	row_expect("main", 2000, 1, 5000, 4);
	row_expect("libx.so+0x30", 2000, 2, 2000, 2);
	/* In one sample `work` calls `work`. The sample counts once. */
	row_expect("work", 0, 0, 3000, 3);
	row_expect("inner", 1000, 1, 3000, 3);
	row_expect("0x7f00", 2000, 1, 2000, 1);
	/* Rows with equal self times are in the order of their total times, then of their names. */
	ck_assert_ptr_eq(row("main"), &table.rows.items[0]);
	ck_assert_ptr_eq(row("0x7f00"), &table.rows.items[1]);
	ck_assert_ptr_eq(row("libx.so+0x30"), &table.rows.items[2]);
	ck_assert_ptr_eq(row("inner"), &table.rows.items[3]);
	vg_function_table_free(&table);
	tables_close();
}
END_TEST

/* A table that was built before has no effect on the next one. */
START_TEST(thread_after_thread)
{
	fixture_demo_names(&fixture);
	tables_open(VG_WEIGHT_CPU, -1);
	for (int round = 0; round < 2; round++) {
		build(threads.first[0], threads.first[1]);
		ck_assert_uint_eq(table.samples, 3);
		ck_assert_uint_eq(table.rows.count, 4);
		row_expect("main", 0, 0, 1500, 3);
		row_expect("work", 0, 0, 1500, 3);
		vg_function_table_free(&table);
		build(threads.first[1], threads.first[2]);
		ck_assert_uint_eq(table.samples, 2);
		ck_assert_uint_eq(table.rows.count, 2);
		row_expect("main", 1000, 1, 1000, 1);
		vg_function_table_free(&table);
	}
	tables_close();
}
END_TEST

START_TEST(one_thread_only)
{
	fixture_demo(&fixture);
	tables_open(VG_WEIGHT_WALL, 101);
	ck_assert_uint_eq(threads.first[0], threads.first[1]);
	ck_assert_uint_eq(threads.first[2], 2);
	build(0, 2);
	ck_assert_uint_eq(table.rows.count, 2);
	vg_function_table_free(&table);
	tables_close();
}
END_TEST

START_TEST(no_samples)
{
	fixture_open(&fixture);
	tables_open(VG_WEIGHT_WALL, -1);
	build(0, 0);
	ck_assert_uint_eq(table.rows.count, 0);
	ck_assert_uint_eq(table.weight_ns, 0);
	vg_function_table_free(&table);
	tables_close();
}
END_TEST

/* Recursion of the greatest depth neither overflows the stack nor counts a sample twice. The second table must not walk
 * the whole stack again: the walk would end at the nodes whose callers are removed here. */
START_TEST(deep_recursion)
{
	enum { DEPTH = VG_STACK_DEPTH_MAX };

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "main");
	for (uint32_t i = 0; i < DEPTH; i++)
		ck_assert_int_eq(vg_writer_stack(&fixture.writer, VG_STACK_ROOTS + i,
						 i == 0 ? 0 : VG_STACK_ROOTS + i - 1, 0, 0x40 + i % 2,
						 0), 0);
	for (uint64_t i = 1; i <= 10; i++)
		fixture_sample(&fixture, 0, VG_STACK_ROOTS + DEPTH - 1, i * 1000, 1000, 0);
	tables_open(VG_WEIGHT_WALL, -1);
	for (int round = 0; round < 2; round++) {
		build(0, 10);
		ck_assert_uint_eq(table.rows.count, 2);
		row_expect("demo+0x40", 10, 10, 10, 10);
		row_expect("demo+0x41", 0, 0, 10, 10);
		vg_function_table_free(&table);
		for (uint32_t node = 2; node < DEPTH - 1; node++)
			fixture.profile.stacks.items[node].parent = VG_NONE;
	}
	tables_close();
}
END_TEST

START_TEST(samples_without_frames_have_weight)
{
	fixture_demo(&fixture);
	fixture_sample(&fixture, 0, VG_WALK_UNREADABLE, 5000000, 2000000, 0);
	tables_open(VG_WEIGHT_WALL, -1);
	build(0, 6);
	ck_assert_uint_eq(table.weight_ns, 9000000);
	ck_assert_uint_eq(table.samples, 6);
	vg_function_table_free(&table);
	tables_close();
}
END_TEST

Suite *table_suite(void)
{
	Suite *suite = suite_create("table");
	TCase *cases = tcase_create("table");

	tcase_add_test(cases, whole_profile);
	tcase_add_test(cases, thread_after_thread);
	tcase_add_test(cases, one_thread_only);
	tcase_add_test(cases, no_samples);
	tcase_add_test(cases, deep_recursion);
	tcase_add_test(cases, samples_without_frames_have_weight);
	suite_add_tcase(suite, cases);
	return suite;
}
