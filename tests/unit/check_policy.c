/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "tests/unit/suites.h"
#include "vignetted/capture/crowd.h"
#include "vignetted/capture/methods.h"
#include "vignetted/capture/pacing.h"
#include "vignetted/capture/policy.h"

/* One window of a program with two CPUs at 99 Hz. */
static struct vg_load load_of(uint64_t switches, uint64_t used_ms, uint64_t made)
{
	return (struct vg_load){
		.elapsed_ns = 200 * 1000 * 1000, .period_ns = 10101010, .tick_ns = 4000 * 1000,
		.switches = switches, .used_ns = used_ms * 1000000, .threads_made = made, .cpus = 2, .rings_suffice = true,
	};
}

/* What the caller does where all is allowed. */
static void carry_out(struct vg_policy *policy, enum vg_policy_step step)
{
	switch (step) {
	case VG_POLICY_OPEN: vg_policy_enter(policy, VG_TIMERS_THREADS); break;
	case VG_POLICY_FEW: vg_policy_enter(policy, VG_TIMERS_FEW); break;
	case VG_POLICY_CPUS: vg_policy_enter(policy, VG_TIMERS_CPUS); break;
	case VG_POLICY_CLOSE: vg_policy_enter(policy, VG_TIMERS_CLOSED); break;
	case VG_POLICY_KEEP: case VG_POLICY_HALT: case VG_POLICY_RUN: break;
	}
}

static uint32_t windows_run(struct vg_policy *policy, const struct vg_load *load, uint32_t windows,
			    const struct vg_policy_prices *prices)
{
	uint32_t steps = 0;

	for (uint32_t i = 0; i < windows; i++) {
		enum vg_policy_step step = vg_policy_step(policy, load, prices);

		steps += step != VG_POLICY_KEEP;
		carry_out(policy, step);
	}
	return steps;
}

/* From timers of threads, after ten seconds of the same load. */
static const struct {
	const char *what;
	uint64_t switches, used_ms, made;
	bool may_use_cpus;
	enum vg_timers_mode mode;
} settled[] = {
	{ "a program that computes", 10, 390, 0, true, VG_TIMERS_THREADS },
	{ "an idle program", 5, 0, 0, true, VG_TIMERS_THREADS },
	{ "a server that wakes a thousand times a second", 200, 100, 0, true, VG_TIMERS_THREADS },
	{ "two threads that wake each other", 16000, 300, 0, true, VG_TIMERS_CPUS },
	{ "the same where timers of CPUs cannot be had", 16000, 300, 0, false, VG_TIMERS_CLOSED },
	{ "threads that are made all the time", 400, 300, 2000, true, VG_TIMERS_FEW },
};

START_TEST(settles)
{
	struct vg_load load = load_of(settled[_i].switches, settled[_i].used_ms, settled[_i].made);
	struct vg_policy policy = { 0 };

	load.may_use_cpus = settled[_i].may_use_cpus;
	vg_policy_enter(&policy, VG_TIMERS_THREADS);
	windows_run(&policy, &load, 50, &vg_policy_prices);
	ck_assert_msg(policy.mode == settled[_i].mode, "%s: mode %d", settled[_i].what, (int)policy.mode);
	/* Threads that are not covered cost nothing when they are made. */
	if (policy.mode == VG_TIMERS_FEW)
		load.threads_made = 0;
	/* And stays: no step in another minute. */
	ck_assert_uint_eq(windows_run(&policy, &load, 300, &vg_policy_prices), 0);
}
END_TEST

/* Every second window is a burst, every other one is quiet. */
START_TEST(bursts_are_borne)
{
	struct vg_load burst = load_of(4000, 300, 0), quiet = load_of(10, 300, 0);
	struct vg_policy policy = { 0 };

	vg_policy_enter(&policy, VG_TIMERS_THREADS);
	for (int i = 0; i < 300; i++) {
		ck_assert_int_eq(vg_policy_step(&policy, i % 2 == 0 ? &burst : &quiet, &vg_policy_prices), VG_POLICY_KEEP);
		ck_assert_int_eq(policy.mode, VG_TIMERS_THREADS);
	}
}
END_TEST

/* Closed timers, whose costs are known all the same, do not come back while they would cost more. */
START_TEST(closed_timers_stay_closed)
{
	struct vg_load load = load_of(16000, 300, 0), quiet = load_of(10, 390, 0);
	struct vg_policy policy = { 0 };

	vg_policy_enter(&policy, VG_TIMERS_CLOSED);
	ck_assert_uint_eq(windows_run(&policy, &load, 300, &vg_policy_prices), 0);
	windows_run(&policy, &quiet, 10, &vg_policy_prices);
	ck_assert_int_eq(policy.mode, VG_TIMERS_THREADS);
}
END_TEST

/* What the method in force costs in a window. */
static uint64_t cost_of(const struct vg_policy *policy, const struct vg_policy_costs *costs)
{
	if (policy->mode == VG_TIMERS_CPUS)
		return costs->cpus_ns;
	return policy->mode == VG_TIMERS_CLOSED || policy->halted ? costs->stopping_ns :
	       costs->timers_ns;
}

/* With each price halved and doubled, what is settled on costs at most twice the best by the prices that the policy
 * goes by, or less than anybody notices. */
START_TEST(no_choice_costs_twice_the_best)
{
	srand(1);
	for (int i = 0; i < 20000; i++) {
		struct vg_load load = load_of((uint64_t)rand() % 40000, (uint64_t)rand() % 400, 0);
		struct vg_policy_prices prices = vg_policy_prices;
		uint64_t *const each[] = { &prices.switch_ns, &prices.program_ns, &prices.idle_program_ns,
					   &prices.stop_ns, &prices.idle_stop_ns, &prices.room_stop_ns,
					   &prices.expiry_ns, &prices.room_expiry_ns };
		struct vg_policy policy = { 0 };
		struct vg_policy_costs costs;
		uint64_t best_ns, own_ns;

		for (size_t k = 0; k < sizeof each / sizeof *each; k++)
			*each[k] = rand() % 3 == 0 ? *each[k] / 2 : rand() % 2 == 0 ? *each[k] * 2 : *each[k];
		load.is_idle = rand() % 2;
		load.has_room = rand() % 2;
		load.may_use_cpus = rand() % 2;
		vg_policy_enter(&policy, VG_TIMERS_THREADS);
		windows_run(&policy, &load, 100, &prices);
		costs = vg_policy_costs(&load, &prices);
		own_ns = cost_of(&policy, &costs);
		best_ns = costs.switching_ns < costs.stopping_ns ? costs.switching_ns : costs.stopping_ns;
		if (costs.cpus_ns < best_ns)
			best_ns = costs.cpus_ns;
		ck_assert_msg(own_ns <= 2 * best_ns || own_ns <= load.elapsed_ns / 500,
			      "load %d: mode %d costs %llu ns, the best %llu", i, (int)policy.mode,
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

static const struct vg_pacing_needs fetches = {
	.timers_run = true, .cpu_only = true, .rates_covered = true, .period_ns = 1000000, .room_ns = 1000000000,
	.left_ns = UINT64_MAX,
};

START_TEST(ticks_are_wide_only_where_all_is_fetched)
{
	struct vg_pacing pacing = { 0 };
	struct vg_pacing_needs needs = fetches;

	ck_assert_uint_eq(vg_pacing_periods(&pacing, &needs), 25);
	needs.timers_run = false;
	ck_assert_uint_eq(vg_pacing_periods(&pacing, &needs), 1);
	needs = fetches;
	needs.rates_covered = false;
	ck_assert_uint_eq(vg_pacing_periods(&pacing, &needs), 1);
	needs = fetches;
	needs.cpu_only = false;
	ck_assert_uint_eq(vg_pacing_periods(&pacing, &needs), 1);
	pacing.busy = true;
	ck_assert_uint_eq(vg_pacing_periods(&pacing, &needs), 125);
	pacing.stacks_truncated = true;
	ck_assert_uint_eq(vg_pacing_periods(&pacing, &needs), 1);
	pacing.stacks_truncated = false;
	needs.room_ns = 20000000;
	ck_assert_uint_eq(vg_pacing_periods(&pacing, &needs), 10);
	needs.left_ns = 4000000;
	ck_assert_uint_eq(vg_pacing_periods(&pacing, &needs), 2);
}
END_TEST

START_TEST(a_crowd_comes_and_goes)
{
	struct vg_crowd crowd = { 0 };

	for (int i = 0; i < 8; i++) {
		ck_assert(!vg_crowd_is(&crowd));
		vg_crowd_met(&crowd, true);
	}
	ck_assert(vg_crowd_is(&crowd));
	ck_assert(vg_crowd_is_early(&crowd, VG_CROWD_SCAN_NS - 1, false));
	ck_assert(!vg_crowd_is_early(&crowd, VG_CROWD_SCAN_NS / 2, true));
	vg_crowd_met(&crowd, false);
	ck_assert(!vg_crowd_is(&crowd));
	ck_assert(!vg_crowd_is_early(&crowd, 0, false));
	for (int i = 0; i < 100; i++)
		vg_crowd_met(&crowd, true);
	for (int i = 0; i < 33; i++)
		vg_crowd_nobody(&crowd);
	ck_assert(!vg_crowd_is(&crowd));
}
END_TEST

Suite *policy_suite(void)
{
	Suite *suite = suite_create("policy");
	TCase *tests = tcase_create("policy");

	tcase_add_loop_test(tests, settles, 0, sizeof settled / sizeof *settled);
	tcase_add_test(tests, bursts_are_borne);
	tcase_add_test(tests, closed_timers_stay_closed);
	tcase_add_test(tests, no_choice_costs_twice_the_best);
	tcase_add_test(tests, each_recording_has_one_method);
	tcase_add_test(tests, ticks_are_wide_only_where_all_is_fetched);
	tcase_add_test(tests, a_crowd_comes_and_goes);
	suite_add_tcase(suite, tests);
	return suite;
}
