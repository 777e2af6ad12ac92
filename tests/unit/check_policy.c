/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The policy: by which method a thread is sampled for each recording, and how often the helper wakes. */
#include <check.h>
#include <stdlib.h>

#include "tests/unit/suites.h"
#include "vignetted/policy/policy.h"

#define US(us) ((uint64_t)(1000 * (us)))

/* Stops of a thread, and what the thread did when the helper asked it to stop.  The helper got its CPU at 1,000 us. */
static const struct {
	const char *name;
	struct vg_stop stop;
	enum vg_thread_state state;
} stops[] = {
	{ "runs on another CPU",
	  { .ran_ns = US(800), .got_cpu_ns = US(1000), .stopped_ns = US(1030) }, VG_THREAD_RUNNING },
	{ "is about to wait on another CPU",
	  { .ran_ns = US(800), .got_cpu_ns = US(1000), .stopped_ns = US(1030), .waits = true }, VG_THREAD_RUNNING },
	{ "ran on the helper's CPU until the helper got it",
	  { .timeslices = 1, .queued_ns = US(46), .ran_ns = US(4), .got_cpu_ns = US(1000), .stopped_ns = US(1050) },
	  VG_THREAD_RUNNING },
	{ "the same, 4 us of error",
	  { .timeslices = 1, .queued_ns = US(42), .ran_ns = US(4), .got_cpu_ns = US(1000), .stopped_ns = US(1050) },
	  VG_THREAD_RUNNING },
	{ "the same, while other threads also wanted the CPU",
	  { .timeslices = 1, .queued_ns = US(3046), .ran_ns = US(4), .got_cpu_ns = US(1000), .stopped_ns = US(4050) },
	  VG_THREAD_RUNNING },
	{ "was woken 20 us before the helper got the CPU, and queued",
	  { .timeslices = 1, .queued_ns = US(66), .ran_ns = US(4), .got_cpu_ns = US(1000), .stopped_ns = US(1050) },
	  VG_THREAD_QUEUED },
	{ "was queued for a long time",
	  { .timeslices = 1, .queued_ns = US(9000), .ran_ns = US(4), .got_cpu_ns = US(1000), .stopped_ns = US(1050) },
	  VG_THREAD_QUEUED },
	{ "was woken 20 us after the helper got the CPU, and queued",
	  { .timeslices = 1, .queued_ns = US(26), .ran_ns = US(4), .got_cpu_ns = US(1000), .stopped_ns = US(1050) },
	  VG_THREAD_QUEUED },
	{ "slept, and runs in its call again since an earlier stop",
	  { .ran_ns = US(8), .got_cpu_ns = US(1000), .stopped_ns = US(1050), .waits = true, .was_waiting = true },
	  VG_THREAD_WAITING },
	{ "slept, and the stop woke it",
	  { .timeslices = 1, .queued_ns = US(5), .ran_ns = US(4), .got_cpu_ns = US(1000), .stopped_ns = US(1050),
	    .waits = true }, VG_THREAD_WAITING },
	{ "slept, was woken by something else, and queued in its call",
	  { .timeslices = 1, .queued_ns = US(90), .ran_ns = US(4), .got_cpu_ns = US(1000), .stopped_ns = US(1050),
	    .waits = true }, VG_THREAD_QUEUED },
};

START_TEST(stop_finds_a_state)
{
	ck_assert_msg(vg_stop_state(&stops[_i].stop) == stops[_i].state, "a thread that %s: state %d", stops[_i].name,
		      (int)vg_stop_state(&stops[_i].stop));
}
END_TEST

/* the load of a thread in one step of the policy */
static struct vg_policy_load load_of(uint64_t hz, uint64_t switches, uint64_t used_ms)
{
	return (struct vg_policy_load){
		.elapsed_ns = VG_POLICY_STEP_NS, .period_ns = 1000000000 / hz, .scheduler_tick_ns = 4000 * 1000,
		.switches = switches, .used_ns = used_ms * 1000000,
	};
}

/* Runs that many steps, and returns how often the policy changed between timers and stops. */
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

/* Threads, their load in one step of 0.2 s, and whether timers sample them in the end. */
static const struct {
	const char *name;
	uint64_t hz, switches, used_ms;
	bool timers;
} settled[] = {
	{ "a thread that computes", 99, 10, 195, true },
	{ "the same, sampled often", 1000, 10, 195, true },
	{ "a thread that does next to nothing", 99, 2, 0, true },
	{ "a server that wakes 1,000 times a second", 99, 200, 50, true },
	{ "one that wakes 5,000 times a second", 99, 1000, 150, true },
	{ "a server that wakes 8,000 times a second on a busy machine", 99, 1600, 68, true },
	{ "one that wakes another thread 40,000 times a second", 99, 8000, 100, false },
	{ "one that is sampled often: stops would cost more", 1000, 2000, 150, true },
	{ "one that wakes 10,000 times a second and uses little", 99, 2000, 20, false },
};

START_TEST(method_settles)
{
	struct vg_policy_load load = load_of(settled[_i].hz, settled[_i].switches, settled[_i].used_ms);
	struct vg_policy policy = { 0 };

	steps_run(&policy, &load, 10, &vg_policy_prices);
	ck_assert_msg(policy.timers == settled[_i].timers, "%s: timers: %d", settled[_i].name,
		      (int)policy.timers);
	/* The method stays the same for another minute. */
	ck_assert_uint_eq(steps_run(&policy, &load, 300, &vg_policy_prices), 0);
}
END_TEST

START_TEST(short_use_is_no_decision)
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

/* Busy steps alternate with quiet ones, one or two of each kind at a time. */
START_TEST(bursts_do_not_change_the_method)
{
	struct vg_policy_load loads[] = { load_of(99, 8000, 100), load_of(99, 10, 100) };

	for (int run_steps = 1; run_steps <= 2; run_steps++) {
		for (int begins = 0; begins < 2; begins++) {
			struct vg_policy policy = { .decided = true, .timers = begins };
			uint32_t changes = 0;

			for (int i = 0; i < 300; i++)
				changes += steps_run(&policy, &loads[i / run_steps % 2], 1, &vg_policy_prices);
			ck_assert_uint_eq(changes, 0);
		}
	}
}
END_TEST

/* After a change of the method, one step against the new method is as little reason for a change as before. */
START_TEST(each_change_takes_steps_in_a_row)
{
	const struct vg_policy_load busy = load_of(99, 8000, 100), quiet = load_of(99, 10, 100);
	struct vg_policy policy = { .decided = true, .timers = true };

	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(steps_run(&policy, &busy, 2, &vg_policy_prices), 0);
		ck_assert_uint_eq(steps_run(&policy, &busy, 1, &vg_policy_prices), 1);
		ck_assert(!policy.timers);
		ck_assert_uint_eq(steps_run(&policy, &quiet, 2, &vg_policy_prices), 0);
		ck_assert_uint_eq(steps_run(&policy, &quiet, 1, &vg_policy_prices), 1);
		ck_assert(policy.timers);
	}
}
END_TEST

/* Each price is halved, doubled or kept at random. By these prices, the chosen method costs at most twice as much as
 * the cheaper one, or the difference is at most 1 % of the time. */
START_TEST(method_costs_at_most_twice_the_best)
{
	srand(1);
	for (int i = 0; i < 20000; i++) {
		struct vg_policy_load load = load_of(i % 2 == 0 ? 99 : 999, (uint64_t)rand() % 20000,
						     (uint64_t)rand() % 200);
		struct vg_policy_prices prices = vg_policy_prices;
		uint64_t *const each[] = { &prices.switch_ns, &prices.program_timer_ns, &prices.stop_ns };
		struct vg_policy policy = { .decided = true, .timers = rand() % 2 };
		struct vg_policy_costs costs;
		uint64_t best_ns, chosen_ns;

		for (size_t k = 0; k < sizeof each / sizeof *each; k++)
			*each[k] = rand() % 3 == 0 ? *each[k] / 2 : rand() % 2 == 0 ? *each[k] * 2 : *each[k];
		steps_run(&policy, &load, 10, &prices);
		costs = vg_policy_costs(&load, &prices);
		chosen_ns = policy.timers ? costs.timers_ns : costs.stops_ns;
		best_ns = costs.timers_ns < costs.stops_ns ? costs.timers_ns : costs.stops_ns;
		ck_assert_msg(chosen_ns <= 2 * best_ns || chosen_ns - best_ns <= load.elapsed_ns / 100,
			      "load %d: timers %d cost %llu ns, the best %llu", i, (int)policy.timers,
			      (unsigned long long)chosen_ns, (unsigned long long)best_ns);
	}
}
END_TEST

/* Which recordings get a repeat.  The thread's count of timeslices is 7. */
static const struct {
	const char *name;
	struct vg_repeat_facts facts;
	bool repeats;
} repeats[] = {
	{ "has not run", { 7, 7, 0, true, true, true, false }, true },
	{ "has run", { 7, 6, 0, true, true, true, false }, false },
	{ "has not run; the recording lacks the stack", { 7, 7, 7, true, true, false, false }, false },
	{ "was found waiting, and its stack is older", { 7, 6, 7, true, true, true, false }, false },
	{ "has no stack", { 7, 7, 0, true, false, false, false }, false },
	{ "is in another interval", { 7, 7, 7, false, true, true, false }, false },
	{ "has not run; CPU time only", { 7, 7, 0, true, true, false, true }, true },
	{ "was found waiting; CPU time only", { 7, 6, 7, true, true, false, true }, true },
	{ "was found waiting, and has no stack; CPU time only", { 7, 0, 7, true, false, false, true }, true },
	{ "has run; CPU time only", { 7, 6, 6, true, true, true, true }, false },
	{ "is in another interval; CPU time only", { 7, 7, 7, false, true, true, true }, false },
};

START_TEST(thread_that_has_not_run_is_repeated)
{
	ck_assert_msg(vg_repeats(&repeats[_i].facts) == repeats[_i].repeats, "a thread that %s", repeats[_i].name);
}
END_TEST

/* Each thread has one method: what it does, whether it has timers, and what is wanted. */
static const struct {
	bool running, has_timers, cpu_only;
	enum vg_method method;
} methods[] = {
	{ false, false, false, VG_METHOD_READ }, { false, true, false, VG_METHOD_READ },
	{ false, false, true, VG_METHOD_PASS },  { false, true, true, VG_METHOD_PASS },
	{ true, false, false, VG_METHOD_STOP },  { true, false, true, VG_METHOD_STOP },
	{ true, true, false, VG_METHOD_TIMER },  { true, true, true, VG_METHOD_TIMER },
};

START_TEST(thread_has_one_method)
{
	ck_assert_int_eq(vg_method_choose(methods[_i].running, methods[_i].has_timers, methods[_i].cpu_only),
			 methods[_i].method);
}
END_TEST

START_TEST(ticks_are_far_apart_with_timers_only)
{
	static const struct vg_pace_load timers_only = {
		.cpu_only = true, .period_ns = 1000000, .ring_capacity_ns = 1000000000, .time_left_ns = UINT64_MAX,
	};
	struct vg_pace_load load = timers_only;

	ck_assert_uint_eq(vg_pace_periods(&load, 1), 25);
	load.cpu_only = false;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	load = timers_only;
	load.counters = true;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	load = timers_only;
	load.stops = 1;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	ck_assert(vg_pace_due(&load, 25));
	ck_assert(!vg_pace_due(&load, 1));
	load = timers_only;
	load.elapsed_ns = 50000000;
	ck_assert(vg_pace_due(&load, 1));
	ck_assert(!vg_pace_due(&load, 25));
	load.cpu_only = false;
	ck_assert(!vg_pace_due(&load, 1));
	load.elapsed_ns = 300000000;
	ck_assert(vg_pace_due(&load, 1));
	ck_assert(vg_pace_due(&load, 25));
	load = timers_only;
	load.unloads = 1;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	ck_assert(vg_pace_due(&load, 25));
	load = timers_only;
	load.ring_capacity_ns = 20000000;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 10);
	ck_assert(!vg_pace_due(&load, 25));
	load.time_left_ns = 4000000;
	ck_assert(vg_pace_due(&load, 25));
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 2);
	load.ring_capacity_ns = 0;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	load = timers_only;
	load.period_ns = 10101010;
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 2);
}
END_TEST

/* In wall mode, ticks are far apart only if each thread that runs at all runs nearly all the time. */
START_TEST(ticks_are_far_apart_for_busy_threads)
{
	static const struct vg_pace_load begin = {
		.period_ns = 1000000, .ring_capacity_ns = 1000000000, .time_left_ns = UINT64_MAX,
	};
	struct vg_pace_load load = begin;

	/* A thread that runs for less than 1 % of the time does not count. */
	vg_pace_thread(&load, 200000000, 1000, 3);
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	vg_pace_thread(&load, 200000000, 190000000, 10);
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 125);
	vg_pace_thread(&load, 200000000, 150000000, 10);
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	ck_assert_uint_eq(vg_pace_periods(&load, 125), 125);
	/* No thread had a step since the latest decision, so the distance between ticks stays. */
	load.awake_ns = load.runnable_ns = 0;
	ck_assert_uint_eq(vg_pace_periods(&load, 125), 125);
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 1);
	load.found = 1;
	ck_assert_uint_eq(vg_pace_periods(&load, 125), 1);
	load.found = 0;
	load.events = true;
	ck_assert_uint_eq(vg_pace_periods(&load, 125), 1);
	/* A thread with short waits counts as running all the time. */
	load = begin;
	vg_pace_thread(&load, 200000000, 100000000, 2100);
	ck_assert_uint_eq(vg_pace_periods(&load, 1), 125);
}
END_TEST

Suite *policy_suite(void)
{
	Suite *suite = suite_create("policy");
	TCase *tests = tcase_create("policy");

	tcase_add_loop_test(tests, method_settles, 0, sizeof settled / sizeof *settled);
	tcase_add_loop_test(tests, stop_finds_a_state, 0, sizeof stops / sizeof *stops);
	tcase_add_test(tests, short_use_is_no_decision);
	tcase_add_test(tests, bursts_do_not_change_the_method);
	tcase_add_test(tests, each_change_takes_steps_in_a_row);
	tcase_add_test(tests, method_costs_at_most_twice_the_best);
	tcase_add_loop_test(tests, thread_that_has_not_run_is_repeated, 0, sizeof repeats / sizeof *repeats);
	tcase_add_loop_test(tests, thread_has_one_method, 0, sizeof methods / sizeof *methods);
	tcase_add_test(tests, ticks_are_far_apart_with_timers_only);
	tcase_add_test(tests, ticks_are_far_apart_for_busy_threads);
	suite_add_tcase(suite, tests);
	return suite;
}
