/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How the helper stands with the scheduler.  Check gives each test a process of its own. */
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

/* With a limit of real-time the helper asks for no such priority: the way of all that may not have one. */
static void real_time_limit(void)
{
	struct rlimit limit = { 1000 * 1000, RLIM_INFINITY };

	ck_assert_int_eq(setrlimit(RLIMIT_RTTIME, &limit), 0);
}

/* Patient only while nothing stands still; and raised until nothing has for the time between two wakes. */
START_TEST(a_stop_is_not_waited_for)
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

/* What takes long is done at rest, and so is what is done long after we woke. */
START_TEST(it_rests_before_what_takes_long)
{
	struct vg_priority priority;

	policy_choose(SCHED_OTHER);
	vg_priority_begin(&priority);
	for (int round = 0; round < 2; round++) {
		vg_priority_woken(&priority);
		vg_priority_raise(&priority);
		ck_assert_int_eq(sched_getscheduler(0), priority.can_raise ? SCHED_FIFO : SCHED_OTHER);
		if (round == 0)
			vg_priority_rest(&priority);
		usleep(round * 2000);
		vg_priority_lower(&priority);
		ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
	}
}
END_TEST

START_TEST(a_chosen_policy_stays)
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

	tcase_add_loop_test(tests, a_stop_is_not_waited_for, 0, 2);
	tcase_add_test(tests, it_rests_before_what_takes_long);
	tcase_add_test(tests, a_chosen_policy_stays);
	suite_add_tcase(suite, tests);
	return suite;
}
