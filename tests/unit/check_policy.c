/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The decisions: how a thread is sampled, by which method for each recording, and how often the helper wakes. */
#include <check.h>
#include <stdlib.h>

#include "tests/unit/suites.h"
#include "vignetted/policy/methods.h"
#include "vignetted/policy/pace.h"
#include "vignetted/policy/policy.h"

/* One step of a thread. */
static struct vg_policy_load load_of(uint64_t hz, uint64_t switches, uint64_t used_ms)
{
	return (struct vg_policy_load){
		.elapsed_ns = VG_POLICY_STEP_NS, .period_ns = 1000000000 / hz, .scheduler_tick_ns = 4000 * 1000,
		.switches = switches, .used_ns = used_ms * 1000000,
	};
}

/* How often it changes its method. */
static uint32_t steps_run(struct vg_policy *policy, const struct vg_policy_load *load, uint32_t steps,
			  const struct vg_policy_prices *prices)
{
	uint32_t changes = 0;

	for (uint32_t i = 0; i < steps; i++) {
		bool before = policy->timers;

		vg_policy_step(policy, load, prices);
		changes += policy->timers != before;
	}
	return changes;
}

/* In a fifth of a second. */
static const struct {
	const char *what;
	uint64_t hz, switches, used_ms;
	bool timers;
} settled[] = {
	{ "a thread that computes", 99, 10, 195, true },
	{ "the same, sampled often", 1000, 10, 195, true },
	{ "a thread that does next to nothing", 99, 2, 0, true },
	{ "a server that wakes 1,000 times a second", 99, 200, 50, true },
	{ "one that wakes 5,000 times a second", 99, 1000, 150, true },
	{ "one that wakes another 40,000 times a second", 99, 8000, 100, false },
	{ "the same, sampled often: stops would cost more", 1000, 2000, 150, true },
	{ "one that wakes 10,000 times a second and uses little", 99, 2000, 20, false },
};

START_TEST(settles)
{
	struct vg_policy_load load = load_of(settled[_i].hz, settled[_i].switches, settled[_i].used_ms);
	struct vg_policy policy = { 0 };

	steps_run(&policy, &load, 10, &vg_policy_prices);
	ck_assert_msg(policy.timers == settled[_i].timers, "%s: timers: %d", settled[_i].what, (int)policy.timers);
	/* And stays: no change in another minute. */
	ck_assert_uint_eq(steps_run(&policy, &load, 300, &vg_policy_prices), 0);
}
END_TEST

START_TEST(little_is_undecided)
{
	struct vg_policy policy = { 0 };
	struct vg_policy_load load = load_of(99, 1, 10);

	ck_assert(!vg_policy_due(&policy, &load));
	load.used_ns = load.period_ns;
	ck_assert(vg_policy_due(&policy, &load));
	vg_policy_step(&policy, &load, &vg_policy_prices);
	ck_assert(policy.timers);
	load.elapsed_ns--;
	ck_assert(!vg_policy_due(&policy, &load));
}
END_TEST

/* Every second step is a burst, every other one is quiet; and likewise in pairs. */
START_TEST(bursts_change_nothing)
{
	struct vg_policy_load loads[] = { load_of(99, 8000, 100), load_of(99, 10, 100) };

	for (int each = 1; each <= 2; each++) {
		for (int begins = 0; begins < 2; begins++) {
			struct vg_policy policy = { .decided = true, .timers = begins };
			uint32_t changes = 0;

			for (int i = 0; i < 300; i++)
				changes += steps_run(&policy, &loads[i / each % 2], 1, &vg_policy_prices);
			ck_assert_uint_eq(changes, 0);
		}
	}
}
END_TEST

/* With each price halved and doubled, what a thread settles on costs at most twice the best by those prices, or less than
 * anybody notices. */
START_TEST(no_choice_costs_twice_the_best)
{
	srand(1);
	for (int i = 0; i < 20000; i++) {
		struct vg_policy_load load = load_of(i % 2 == 0 ? 99 : 999, (uint64_t)rand() % 20000, (uint64_t)rand() % 200);
		struct vg_policy_prices prices = vg_policy_prices;
		uint64_t *const each[] = { &prices.switch_ns, &prices.program_ns, &prices.stop_ns };
		struct vg_policy policy = { .decided = true, .timers = rand() % 2 };
		struct vg_policy_costs costs;
		uint64_t best_ns, own_ns;

		for (size_t k = 0; k < sizeof each / sizeof *each; k++)
			*each[k] = rand() % 3 == 0 ? *each[k] / 2 : rand() % 2 == 0 ? *each[k] * 2 : *each[k];
		steps_run(&policy, &load, 10, &prices);
		costs = vg_policy_costs(&load, &prices);
		own_ns = policy.timers ? costs.timers_ns : costs.stops_ns;
		best_ns = costs.timers_ns < costs.stops_ns ? costs.timers_ns : costs.stops_ns;
		ck_assert_msg(own_ns <= 2 * best_ns || own_ns - best_ns <= load.elapsed_ns / 500,
			      "load %d: timers %d cost %llu ns, the best %llu", i, (int)policy.timers,
			      (unsigned long long)own_ns, (unsigned long long)best_ns);
	}
}
END_TEST

/* Each due recording is in one set, whatever is known. */
START_TEST(each_recording_has_one_method)
{
	for (uint32_t bits = 0; bits < 1u << 11; bits++) {
		struct vg_methods_due due = { .set = bits & 3, .unrun = bits >> 2 & 3, .moved = bits >> 4 & 3,
					      .timers = bits >> 6 & 3, .cpu_only = bits >> 8 & 3, .running = bits >> 10 };
		struct vg_methods methods = vg_methods_choose(&due);
		vg_recording_set all[] = { methods.repeat, methods.pass, methods.timer, methods.read, methods.stop };
		vg_recording_set seen = 0;

		for (size_t i = 0; i < 5; i++) {
			ck_assert_uint_eq(seen & all[i], 0);
			seen |= all[i];
		}
		ck_assert_uint_eq(seen, due.set);
		/* A thread that waits is never stopped at first, one that runs never read. */
		ck_assert(due.running ? (methods.read | methods.pass) == 0 : (methods.stop | methods.timer) == 0);
		ck_assert_uint_eq(methods.stop & due.timers, 0);
		ck_assert_uint_eq(methods.read & due.cpu_only, 0);
		ck_assert_uint_eq(methods.repeat & due.moved, 0);
	}
}
END_TEST

START_TEST(ticks_are_wide_only_where_all_is_fetched)
{
	static const struct vg_pace_load fetches = {
		.cpu_only = true, .period_ns = 1000000, .room_ns = 1000000000, .left_ns = UINT64_MAX,
	};
	struct vg_pace_load load = fetches;

	ck_assert_uint_eq(vg_pace_periods(&load, 1), 25);
	load.cpu_only = false;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	load = fetches;
	load.counters = true;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	load = fetches;
	load.stops = 1;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	ck_assert(vg_pace_due(&load, 25));
	ck_assert(!vg_pace_due(&load, 1));
	load = fetches;
	load.room_ns = 20000000;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 10);
	ck_assert(!vg_pace_due(&load, 25));
	load.left_ns = 4000000;
	ck_assert(vg_pace_due(&load, 25));
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 2);
	load.room_ns = 0;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	load = fetches;
	load.period_ns = 10101010;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 2);
}
END_TEST

/* Of wall time: where the threads that run do so nearly all the time. */
START_TEST(ticks_are_wide_where_little_waits)
{
	static const struct vg_pace_load begin = { .period_ns = 1000000, .room_ns = 1000000000, .left_ns = UINT64_MAX };
	struct vg_pace_load load = begin;

	/* Threads that sleep are none of these. */
	vg_pace_thread(&load, 200000000, 1000, 3);
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	vg_pace_thread(&load, 200000000, 190000000, 10);
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 125);
	vg_pace_thread(&load, 200000000, 150000000, 10);
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	ck_assert_uint_eq(vg_pace_periods(&load, 125), 125);
	/* Where no thread's step came since, it is as it was. */
	load.awake_ns = load.ready_ns = 0;
	ck_assert_uint_eq(vg_pace_periods(&load, 125), 125);
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	load.found = 1;
	ck_assert_uint_eq(vg_pace_periods(&load, 125), 1);
	load.found = 0;
	load.events = true;
	ck_assert_uint_eq(vg_pace_periods(&load, 125), 1);
	/* Short waits are as good as none. */
	load = begin;
	vg_pace_thread(&load, 200000000, 100000000, 2100);
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 125);
}
END_TEST

Suite *policy_suite(void)
{
	Suite *suite = suite_create("policy");
	TCase *tests = tcase_create("policy");

	tcase_add_loop_test(tests, settles, 0, sizeof settled / sizeof *settled);
	tcase_add_test(tests, little_is_undecided);
	tcase_add_test(tests, bursts_change_nothing);
	tcase_add_test(tests, no_choice_costs_twice_the_best);
	tcase_add_test(tests, each_recording_has_one_method);
	tcase_add_test(tests, ticks_are_wide_only_where_all_is_fetched);
	tcase_add_test(tests, ticks_are_wide_where_little_waits);
	suite_add_tcase(suite, tests);
	return suite;
}
