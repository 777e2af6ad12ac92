/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The helper's scheduling policy and timer slack. libcheck runs each test in a process of its own. */
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/suites.h"
#include "vignetted/capture/priority.h"

static void policy_choose(int policy)
{
	ck_assert_int_eq(sched_setscheduler(0, policy, &(struct sched_param){ 0 }), 0);
}

/* A helper with this limit does not request a real-time priority, as if it had no permission. */
static void real_time_limit(void)
{
	struct rlimit limit = { 1000 * 1000, RLIM_INFINITY };

	ck_assert_int_eq(setrlimit(RLIMIT_RTTIME, &limit), 0);
}

/* The priority is raised for a stop. It stays raised until the helper wakes twice without a stop in between. */
START_TEST(stops_raise_the_priority)
{
	struct vg_priority priority;
	int raised;

	if (_i == 0)
		real_time_limit();
	policy_choose(SCHED_OTHER);
	vg_priority_begin(&priority);
	ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
	raised = priority.can_raise ? SCHED_FIFO : SCHED_OTHER;
	for (int round = 0; round < 3; round++) {
		ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
		vg_priority_woken(&priority);
		vg_priority_raise(&priority);
		ck_assert_int_eq(sched_getscheduler(0), raised);
		vg_priority_woken(&priority);
		ck_assert_int_eq(sched_getscheduler(0), raised);
		vg_priority_woken(&priority);
		ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
		ck_assert_int_eq(prctl(PR_GET_TIMERSLACK), 1);
	}
}
END_TEST

/* The priority is low during long work, and after the helper has been awake for long. */
START_TEST(long_work_has_low_priority)
{
	struct vg_priority priority;

	policy_choose(SCHED_OTHER);
	vg_priority_begin(&priority);
	for (int round = 0; round < 2; round++) {
		vg_priority_woken(&priority);
		vg_priority_raise(&priority);
		ck_assert_int_eq(sched_getscheduler(0), priority.can_raise ? SCHED_FIFO : SCHED_OTHER);
		if (round == 0)
			vg_priority_lower_now(&priority);
		usleep(round * 2000);
		vg_priority_lower(&priority);
		ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
	}
}
END_TEST

START_TEST(policy_of_the_user_stays)
{
	struct vg_priority priority;

	policy_choose(SCHED_IDLE);
	vg_priority_begin(&priority);
	ck_assert_int_eq(sched_getscheduler(0), SCHED_IDLE);
	vg_priority_raise(&priority);
	vg_priority_lower(&priority);
	ck_assert_int_eq(sched_getscheduler(0), SCHED_IDLE);
}
END_TEST

Suite *priority_suite(void)
{
	Suite *suite = suite_create("priority");
	TCase *tests = tcase_create("scheduler");

	tcase_add_loop_test(tests, stops_raise_the_priority, 0, 2);
	tcase_add_test(tests, long_work_has_low_priority);
	tcase_add_test(tests, policy_of_the_user_stays);
	suite_add_tcase(suite, tests);
	return suite;
}
