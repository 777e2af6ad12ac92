/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <math.h>
#include <string.h>

#include "tests/unit/fixture.h"
#include "vgtool/analysis/changes.h"

enum { MS = 1000000 };
static struct fixture fixture;
static struct vg_measures measures;
static struct vg_changes changes;

START_TEST(spreads)
{
	static const double of_a[] = { 27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1,
				       19.6, 19.0, 21.7, 21.4 };
	static const double of_b[] = { 27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9,
				       22.1, 22.9, 30.5, 21.0 };
	struct vg_spread a = { 0 }, b = { 0 }, one = { 0 };
	struct vg_spread_change change;

	for (size_t i = 0; i < 15; i++) {
		vg_spread_add(&a, of_a[i]);
		vg_spread_add(&b, of_b[i]);
	}
	ck_assert_double_eq_tol(a.mean, 20.82, 1e-9);
	ck_assert_double_eq_tol(vg_spread_deviation(&a), 2.804894, 1e-6);
	ck_assert_double_eq_tol(b.min, 20.2, 1e-9);
	ck_assert_double_eq_tol(b.sum, 351.4, 1e-9);
	change = vg_spread_compare(&a, &b);
	/* vg_spread_compare() rounds 27.97 degrees of freedom down, so that the margin is not too small. */
	ck_assert_double_eq_tol(change.change, 2.6066667, 1e-6);
	ck_assert(change.has_margin);
	ck_assert_double_eq_tol(change.margin, 2.052 * 1.0067234, 1e-4);
	vg_spread_add(&one, 20);
	ck_assert(!vg_spread_compare(&one, &one).has_margin);
	ck_assert(vg_spread_compare(&one, &b).has_margin);
	ck_assert_double_gt(vg_spread_compare(&one, &b).margin, change.margin);
	vg_spread_add_zeros(&one, 3);
	ck_assert_double_eq_tol(one.mean, 5, 1e-9);
	ck_assert_double_eq_tol(one.min, 0, 1e-9);
}
END_TEST

/* Adds a run: its main() is in `function` for work_ms, and in itself for 100 ms. */
static void run_add(uint32_t work_ms, const char *function)
{
	struct vg_symbol_line at_main = { 0, 1 }, at_work = { 1, 1 };

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "main");
	ck_assert_int_eq(vg_writer_function(&fixture.writer, 0, "main", NULL, 0), 0);
	ck_assert_int_eq(vg_writer_function(&fixture.writer, 1, function, NULL, 0), 0);
	ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, 1, &at_main, 1), 0);
	ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, 2, &at_work, 1), 0);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 16, VG_WALK_ROOT, 0, 1, 0), 0);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 17, 16, 0, 2, 0), 0);
	fixture_sample(&fixture, 0, 16, 100 * MS, 100 * MS, 0);
	fixture_sample(&fixture, 0, 17, (100 + (uint64_t)work_ms) * MS, (uint64_t)work_ms * MS, 0);
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_measures_add(&measures, &fixture.profile, "run.vgp", NULL), 0);
	fixture_close(&fixture);
}

static void compare(uint32_t runs_a, double fail_above_percent, double min_share_percent)
{
	ck_assert_int_eq(vg_measures_finish(&measures), 0);
	changes = (struct vg_changes){
		.runs_a = runs_a, .runs_b = measures.runs - runs_a,
		.fail_above_percent = fail_above_percent, .min_share_percent = min_share_percent,
	};
	ck_assert_int_eq(vg_changes_build(&changes, &measures), 0);
}

static const struct vg_change *change_of(const char *name)
{
	for (size_t i = 0; i < changes.items.count; i++) {
		if (strcmp(changes.items.items[i].row->name, name) == 0)
			return &changes.items.items[i];
	}
	ck_abort_msg("no %s", name);
}

static void compare_end(void)
{
	vg_changes_free(&changes);
	vg_measures_free(&measures);
	measures = (struct vg_measures){ 0 };
}

START_TEST(one_against_one)
{
	run_add(50, "work");
	run_add(60, "work");
	compare(1, 10, 1);
	ck_assert_ptr_eq(change_of("(all samples)"), &changes.items.items[0]);
	ck_assert_double_eq(change_of("work")->self.change, 10 * MS);
	ck_assert(change_of("work")->fails && !change_of("main")->fails);
	ck_assert(!change_of("(all samples)")->fails);
	ck_assert_double_eq(change_of("main")->total.change, 10 * MS);
	ck_assert_uint_eq(changes.failed, 1);
	compare_end();

	run_add(60, "work");
	run_add(50, "work");
	compare(1, 0, 1);
	ck_assert_uint_eq(changes.failed, 0);
	ck_assert_double_eq(change_of("work")->self.change, -10 * MS);
	compare_end();
}
END_TEST

START_TEST(new_and_small_functions)
{
	run_add(50, "old");
	run_add(50, "new");
	compare(1, 1000, 1);
	ck_assert(change_of("new")->fails && !change_of("old")->fails);
	ck_assert(isinf(vg_change_percent(&change_of("new")->self_a, &change_of("new")->self_b)));
	compare_end();

	run_add(1, "work");
	run_add(3, "work");
	compare(1, 100, 5);
	ck_assert(!change_of("work")->is_large && !change_of("work")->fails);
	compare_end();
}
END_TEST

/* A difference between the two sides does not fail if the runs of one side differ from each other as much. */
START_TEST(several_runs)
{
	static const uint32_t steady[] = { 50, 51, 49, 60, 61, 59 }, noisy[] = { 20, 50, 80, 30, 60, 90 };

	for (size_t i = 0; i < 6; i++)
		run_add(steady[i], "work");
	compare(3, 10, 1);
	ck_assert(change_of("work")->self.has_margin);
	ck_assert_double_eq_tol(change_of("work")->self.margin, 2.2669 * MS, 0.01 * MS);
	ck_assert(change_of("work")->fails);
	compare_end();
	for (size_t i = 0; i < 6; i++)
		run_add(noisy[i], "work");
	compare(3, 10, 1);
	ck_assert_double_eq(change_of("work")->self.change, 10 * MS);
	ck_assert(!change_of("work")->fails);
	compare_end();
}
END_TEST

Suite *changes_suite(void)
{
	Suite *suite = suite_create("changes");
	TCase *cases = tcase_create("changes");

	tcase_add_test(cases, spreads);
	tcase_add_test(cases, one_against_one);
	tcase_add_test(cases, new_and_small_functions);
	tcase_add_test(cases, several_runs);
	suite_add_tcase(suite, cases);
	return suite;
}
