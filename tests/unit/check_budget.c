/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rate that a budget allows. The tests pretend that the latest check was long ago, and that sampling has had certain
 * costs since then. */
#include "tests/unit/suites.h"

#include "base/clock.h"
#include "vignetted/session/ticks.h"

enum { PERIOD_NS = 10 * 1000 * 1000, PERCENT_PPM = 10 * 1000 };

/* So long ago that the test's own time and CPU time do not matter. */
static const uint64_t ELAPSED_NS = UINT64_C(1000) * 1000 * 1000 * 1000;

static struct vg_budget budget;
static struct vg_ticks ticks;
static struct vg_pauses pauses;

static void setup(void)
{
	pauses = (struct vg_pauses){ .stops = 7, .total_ns = 70000 };
	vg_ticks_start(&ticks, PERIOD_NS, vg_now_ns());
	budget = (struct vg_budget){ 0 };
	vg_budget_change(&budget, 5 * PERCENT_PPM, &pauses, vg_now_ns());
}

/* Makes a check. Since the check before, the helper has used that share of a core, and each stop of a thread took that
 * share of a sampling period. Returns whether the check changed the period of the ticks. */
static bool check_after(uint32_t periods, uint64_t cpu_percent, uint64_t stopped_percent)
{
	uint64_t stops = stopped_percent > 0 ? 1000 : 0;

	pauses.stops += stops;
	pauses.total_ns += stops * (ticks.period_ns * stopped_percent / 100);
	budget.checked_ns = vg_now_ns() - ELAPSED_NS;
	budget.cpu_ns = vg_own_cpu_ns() - budget.excluded_cpu_ns - ELAPSED_NS / 100 * cpu_percent;
	return vg_budget_check(&budget, &ticks, periods, &pauses);
}

static void period_is_near(uint64_t period_ns)
{
	ck_assert_uint_ge(ticks.period_ns, period_ns / 100 * 99);
	ck_assert_uint_le(ticks.period_ns, period_ns / 100 * 101);
}

/* {share of a core, share of a thread's time, the period's factor}. Of the two shares, the larger one counts. */
static const uint64_t costs[][3] = {
	{ 10, 0, 2 }, { 0, 10, 2 }, { 20, 10, 4 }, { 10, 20, 4 }, { 40, 1, 8 }, { 1, 40, 8 }, { 4, 0, 1 }, { 0, 4, 1 },
	{ 4, 4, 1 }, { 1, 1, 1 },
};

START_TEST(larger_cost_counts)
{
	ck_assert_int_eq(check_after(1, costs[_i][0], costs[_i][1]), costs[_i][2] != 1);
	period_is_near(costs[_i][2] * PERIOD_NS);
	ck_assert_uint_eq(budget.changes, costs[_i][2] != 1);
}
END_TEST

/* The rate rises by a quarter at a time, up to the requested rate, but only if sampling costs clearly less. */
START_TEST(rate_rises_again)
{
	ck_assert(check_after(1, 0, 20));
	period_is_near(4 * PERIOD_NS);
	ck_assert(!check_after(1, 4, 4));
	ck_assert(check_after(1, 3, 0));
	period_is_near(4 * PERIOD_NS / 5 * 4);
	for (int i = 0; i < 10; i++)
		check_after(1, 0, 1);
	ck_assert_uint_eq(ticks.period_ns, PERIOD_NS);
	ck_assert(!check_after(1, 0, 1));
}
END_TEST

START_TEST(period_is_bounded)
{
	for (int i = 0; i < 10; i++)
		check_after(1, 90, 0);
	ck_assert_uint_eq(ticks.period_ns, UINT64_C(1000) * 1000 * 1000);
}
END_TEST

/* Without a budget, and soon after a check, the rate does not change. */
START_TEST(checks_that_change_nothing)
{
	const uint64_t soon_ns = 500000000;
	uint64_t before_ns;
	bool changed;

	/* Again, if this process had no CPU until a check was due. */
	do {
		before_ns = vg_now_ns();
		setup();
		budget.cpu_ns -= ELAPSED_NS;
		changed = vg_budget_check(&budget, &ticks, 1, &pauses);
	} while (changed && vg_now_ns() - before_ns >= soon_ns);
	ck_assert(!changed);
	vg_budget_change(&budget, 0, &pauses, vg_now_ns());
	ck_assert(!check_after(1, 90, 90));
	ck_assert_uint_eq(ticks.period_ns, PERIOD_NS);
	ck_assert_uint_eq(budget.changes, 0);
}
END_TEST

/* CPU time that is not for sampling, such as for the program's events, does not count. */
START_TEST(excluded_cpu_time)
{
	uint64_t used_ns = ELAPSED_NS / 100 * 90;

	budget.checked_ns = vg_now_ns() - ELAPSED_NS;
	budget.cpu_ns = vg_own_cpu_ns() - used_ns;
	budget.excluded_cpu_ns = used_ns;
	ck_assert(!vg_budget_check(&budget, &ticks, 1, &pauses));
}
END_TEST

/* The period of a sample is changed, not only that of the ticks. */
START_TEST(several_periods_per_tick)
{
	vg_ticks_start(&ticks, 5 * PERIOD_NS, vg_now_ns());
	ck_assert(check_after(5, 10, 0));
	period_is_near(5 * 2 * PERIOD_NS);
	ck_assert_uint_eq(budget.requested_period_ns, PERIOD_NS);
	ck_assert_uint_eq(ticks.period_ns % 5, 0);
}
END_TEST

/* A faster recording begins, and the session's ticks with it.  The budget allows the new rate, too. */
START_TEST(rate_of_another_recording)
{
	ck_assert(check_after(1, 10, 0));
	vg_ticks_restart(&ticks, PERIOD_NS / 2, vg_now_ns());
	vg_budget_change(&budget, 5 * PERCENT_PPM, &pauses, vg_now_ns());
	ck_assert(check_after(1, 10, 0));
	period_is_near(PERIOD_NS);
	ck_assert_uint_eq(budget.requested_period_ns, PERIOD_NS / 2);
	for (int i = 0; i < 10; i++)
		check_after(1, 0, 1);
	ck_assert_uint_eq(ticks.period_ns, PERIOD_NS / 2);
}
END_TEST

Suite *budget_suite(void)
{
	Suite *suite = suite_create("budget");
	TCase *tests = tcase_create("budget");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_loop_test(tests, larger_cost_counts, 0, sizeof costs / sizeof *costs);
	tcase_add_test(tests, rate_rises_again);
	tcase_add_test(tests, period_is_bounded);
	tcase_add_test(tests, checks_that_change_nothing);
	tcase_add_test(tests, excluded_cpu_time);
	tcase_add_test(tests, several_periods_per_tick);
	tcase_add_test(tests, rate_of_another_recording);
	suite_add_tcase(suite, tests);
	return suite;
}
