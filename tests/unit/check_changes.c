/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/unit/fixture.h"
#include "vgtool/analysis/changes.h"

enum { MS = 1000000 };
static struct fixture fixture;
static struct vg_measures measures;
static struct vg_changes changes;
static int expected_rc;              /* what vg_measures_add() must return to long_run_add() */

START_TEST(spreads)
{
	static const double of_a[] = { 27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1,
				       19.6, 19.0, 21.7, 21.4 };
	static const double of_b[] = { 27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9,
				       22.1, 22.9, 30.5, 21.0 };
	struct vg_spread a = { 0 }, b = { 0 }, one = { 0 };
	struct vg_estimate estimate_a, estimate_b;
	struct vg_estimate_change change;

	for (size_t i = 0; i < 15; i++) {
		vg_spread_add(&a, of_a[i]);
		vg_spread_add(&b, of_b[i]);
	}
	ck_assert_double_eq_tol(a.mean, 20.82, 1e-9);
	ck_assert_double_eq_tol(vg_spread_deviation(&a), 2.804894, 1e-6);
	ck_assert_double_eq_tol(b.min, 20.2, 1e-9);
	ck_assert_double_eq_tol(b.sum, 351.4, 1e-9);
	estimate_a = vg_estimate_make(&a, -1, true);
	estimate_b = vg_estimate_make(&b, -1, true);
	change = vg_estimate_compare(&estimate_a, &estimate_b);
	/* 27.97 degrees of freedom are rounded down, so that the margin is not too small. */
	ck_assert_double_eq_tol(change.change, 2.6066667, 1e-6);
	ck_assert(change.has_margin);
	ck_assert_double_eq_tol(change.margin, 2.052 * 1.0067234, 1e-4);
	vg_spread_add(&one, 20);
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

/* Adds a run of 400 ms: work_ms of each 10 ms are in work(), the others in main().  Without names, main() and work()
 * have addresses that depend on the run. */
static void long_run_add(uint32_t work_ms, bool has_names)
{
	struct vg_symbol_line at_main = { 0, 1 }, at_work = { 1, 1 };
	uint64_t address = has_names ? 1 : 100 * (uint64_t)work_ms;

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "main");
	if (has_names) {
		ck_assert_int_eq(vg_writer_function(&fixture.writer, 0, "main", NULL, 0), 0);
		ck_assert_int_eq(vg_writer_function(&fixture.writer, 1, "work", NULL, 0), 0);
		ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, 1, &at_main, 1), 0);
		ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, 2, &at_work, 1), 0);
	}
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 16, VG_WALK_ROOT, 0, address, 0), 0);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 17, 16, 0, address + 1, 0), 0);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 18, 16, VG_NONE, 1000 * address, 0), 0);
	for (uint32_t ms = 0; ms < 400; ms++)
		fixture_sample(&fixture, 0, ms % 10 < work_ms ? 17 : 16, (ms + 1) * (uint64_t)MS, MS, MS);
	fixture_sample(&fixture, 0, 18, 401 * (uint64_t)MS, MS, MS);
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_measures_add(&measures, &fixture.profile, "run.vgp", NULL), expected_rc);
	fixture_close(&fixture);
}

static void compare(uint32_t runs_a, double limit_percent, double min_share_percent)
{
	ck_assert_int_eq(vg_measures_finish(&measures), 0);
	changes = (struct vg_changes){
		.runs_a = runs_a, .runs_b = measures.runs - runs_a,
		.limit_percent = limit_percent, .min_share_percent = min_share_percent,
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
	ck_assert_double_eq(change_of("main")->total.change, 10 * MS);
	/* Two samples say nothing about the variance. */
	ck_assert(!change_of("work")->self.has_margin && change_of("work")->is_unclear);
	ck_assert_int_eq(changes.verdict, VG_VERDICT_UNCLEAR);
	ck_assert_double_eq(changes.runs_needed, 0);
	compare_end();

	run_add(60, "work");
	run_add(50, "work");
	compare(1, -1, 1);
	ck_assert(!change_of("work")->is_judged);
	ck_assert_ptr_null(changes.decisive);
	ck_assert_double_eq(change_of("work")->self.change, -10 * MS);
	compare_end();
}
END_TEST

/* With one profile on each side, the margin is computed from the profiles' blocks (vgtool/analysis/blocks.h). */
START_TEST(one_long_run)
{
	measures.for_diff = true;
	long_run_add(5, true);
	long_run_add(5, true);
	compare(1, 20, 1);
	ck_assert_double_eq(change_of("work")->self.change, 0);
	ck_assert(change_of("work")->self.has_margin && change_of("(all samples)")->self.has_margin);
	ck_assert_int_eq(changes.verdict, VG_VERDICT_NO_CHANGE);
	compare_end();

	measures.for_diff = true;
	long_run_add(5, true);
	long_run_add(9, true);
	compare(1, 20, 1);
	ck_assert_int_eq(changes.verdict, VG_VERDICT_SLOWER);
	ck_assert_str_eq(changes.decisive->row->name, "work");
	ck_assert_uint_eq(changes.slower, 1);
	compare_end();
}
END_TEST

/* Addresses without names differ between the runs. So all such addresses of a module are
 * compared together, as "[no symbol]", and all addresses in no module as "[no module]". */
START_TEST(addresses)
{
	measures.for_diff = true;
	long_run_add(5, false);
	long_run_add(9, false);
	compare(1, 20, 0);
	ck_assert_double_eq(change_of("[no symbol]")->self.change, 0);
	ck_assert_double_eq(change_of("[no symbol]")->self_a.mean, 400.0 * MS);
	ck_assert_double_eq(change_of("[no symbol]")->total_a.mean, 401.0 * MS);
	ck_assert_double_eq(change_of("[no module]")->self_a.mean, MS);
	ck_assert_uint_eq(changes.items.count, 3);
	ck_assert_int_eq(changes.verdict, VG_VERDICT_NO_CHANGE);
	compare_end();
}
END_TEST

START_TEST(new_and_small_functions)
{
	for (uint32_t run = 0; run < 6; run++)
		run_add(50 + run % 3, run < 3 ? "old" : "new");
	compare(3, 1000, 1);
	ck_assert(change_of("new")->is_slower && !change_of("old")->is_slower);
	ck_assert(isnan(vg_change_percent(&change_of("new")->self_a, &change_of("new")->self_b)));
	ck_assert_double_eq(vg_change_percent(&change_of("old")->self_a, &change_of("old")->self_b), -100);
	compare_end();

	/* Small functions are judged together: here by their growth from 2 to 6 ms. */
	for (uint32_t run = 0; run < 4; run++)
		run_add(run < 2 ? 2 : 6, run % 2 ? "work" : "play");
	compare(2, 100, 3);
	ck_assert(change_of("work")->is_merged && !change_of("work")->is_judged);
	ck_assert_double_eq_tol(change_of("[others]")->self_a.mean, 2 * MS, 1);
	ck_assert_double_eq_tol(change_of("[others]")->self_b.mean, 6 * MS, 1);
	ck_assert(change_of("[others]")->is_slower);
	compare_end();

	/* By total time there is no row "[others]", so no function is a part of it. */
	run_add(2, "work");
	run_add(6, "work");
	ck_assert_int_eq(vg_measures_finish(&measures), 0);
	changes = (struct vg_changes){ .runs_a = 1, .runs_b = 1, .by_total = true, .limit_percent = 100,
				       .min_share_percent = 10 };
	ck_assert_int_eq(vg_changes_build(&changes, &measures), 0);
	ck_assert(!change_of("work")->is_merged && !change_of("work")->is_judged);
	compare_end();
}
END_TEST

/* If the runs of one side differ from each other as much as the two sides differ, the verdict is unclear. */
START_TEST(several_runs)
{
	static const uint32_t steady[] = { 50, 51, 49, 60, 61, 59 }, noisy[] = { 20, 50, 80, 30, 60, 90 };

	for (size_t i = 0; i < 6; i++)
		run_add(steady[i], "work");
	compare(3, 10, 1);
	ck_assert(change_of("work")->self.has_margin);
	ck_assert_double_eq_tol(change_of("work")->self.margin, 2.2669 * MS, 0.01 * MS);
	ck_assert(change_of("work")->is_slower);
	ck_assert_ptr_eq(changes.decisive, change_of("work"));
	compare_end();
	for (size_t i = 0; i < 6; i++)
		run_add(noisy[i], "work");
	compare(3, 10, 1);
	ck_assert_double_eq(change_of("work")->self.change, 10 * MS);
	ck_assert_int_eq(changes.verdict, VG_VERDICT_UNCLEAR);
	ck_assert_double_gt(changes.runs_needed, 3);
	compare_end();
}
END_TEST

/* With by_share, the row "(all samples)" is not judged: it is equal even if the runs of one side do twice the work. */
START_TEST(shares)
{
	measures.by_share = true;
	for (uint32_t run = 0; run < 6; run++)
		run_add(run < 3 ? 100 : 300, "work");
	compare(3, 10, 1);
	/* The mean of 200 and 400 ms */
	ck_assert_double_eq_tol(measures.mean_run.all_ns, 300 * MS, 1);
	ck_assert_double_eq_tol(change_of("(all samples)")->self.change, 0, 1);
	ck_assert(!change_of("(all samples)")->is_judged);
	ck_assert_double_eq_tol(change_of("work")->self_a.mean, 150 * MS, 1);
	ck_assert_double_eq_tol(change_of("work")->self_b.mean, 225 * MS, 1);
	ck_assert(change_of("work")->is_slower);
	compare_end();

	/* No row is judged, so nothing is known. */
	measures.by_share = true;
	run_add(100, "work");
	run_add(300, "work");
	compare(1, 10, 200);
	ck_assert_int_eq(changes.verdict, VG_VERDICT_UNCLEAR);
	ck_assert_ptr_null(changes.decisive);
	compare_end();
}
END_TEST

/* A profile that fails in the middle is no run.  Here there is no room for blocks. */
START_TEST(half_added)
{
	size_t without_values = 0;

	measures.for_diff = true;
	measures.blocks.count = SIZE_MAX;
	expected_rc = -ENOMEM;
	long_run_add(5, true);
	ck_assert_uint_eq(measures.runs, 0);
	ck_assert_uint_eq(measures.values.count, 0);
	ck_assert_uint_eq(measures.by_run.count, 0);
	ck_assert_uint_eq(measures.blocks.count, SIZE_MAX);

	/* Its functions work() and [no module] have rows, but no values. */
	measures.blocks.count = 0;
	run_add(50, "play");
	run_add(50, "play");
	compare(1, -1, 1);
	ck_assert_uint_eq(measures.runs, 2);
	for (size_t i = 0; i < measures.rows.count; i++)
		without_values += measures.rows.items[i].count == 0;
	ck_assert_uint_eq(without_values, 2);
	ck_assert_double_eq(change_of("play")->self_a.mean, 50 * MS);
	ck_assert_double_eq(change_of("(all samples)")->self_b.mean, 150 * MS);
	ck_assert_uint_eq(changes.items.count, 3);
	compare_end();
}
END_TEST

Suite *changes_suite(void)
{
	Suite *suite = suite_create("changes");
	TCase *cases = tcase_create("changes");

	tcase_add_test(cases, spreads);
	tcase_add_test(cases, one_against_one);
	tcase_add_test(cases, one_long_run);
	tcase_add_test(cases, addresses);
	tcase_add_test(cases, new_and_small_functions);
	tcase_add_test(cases, several_runs);
	tcase_add_test(cases, shares);
	tcase_add_test(cases, half_added);
	suite_add_tcase(suite, cases);
	return suite;
}
