/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether a CPU is idle while a thread that has it now and then sleeps. */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/spin.h"
#include "tests/suites.h"
#include "vignetted/idle.h"

enum { WINDOW_US = 200 * 1000, WINDOWS = 30, NAP_NS = 300 * 1000 };

/* A process on the CPU that runs all the time, or half of it. */
static pid_t process_start(int cpu, bool naps)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	pid_t child = fork();
	cpu_set_t own;

	if (child != 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&own);
	CPU_SET(cpu, &own);
	sched_setaffinity(0, sizeof own, &own);
	for (;;) {
		for (uint64_t end_ns = spin_now_ns() + NAP_NS; spin_now_ns() < end_ns;)
			;
		if (naps)
			nanosleep(&nap, NULL);
	}
}

static struct vg_idle idle;
static struct vg_tasks tasks;

/* Looks at the process's thread after a while.  What it waited for its CPU meanwhile, in ns. */
static uint64_t window_look(void)
{
	struct vg_task *task = &tasks.live.items[0];
	uint64_t queued_ns = task->look.queued_ns;

	usleep(WINDOW_US);
	ck_assert_int_eq(vg_task_look(&tasks, task, &task->look), 0);
	vg_idle_look(&idle, &tasks, task, spin_now_ns());
	return task->look.queued_ns - queued_ns;
}

/* On a machine that leaves it no CPU it says nothing. */
START_TEST(alone)
{
	pid_t napper = process_start(sched_getcpu(), true);
	int crowded = 0, windows = 0;

	ck_assert_int_eq(vg_tasks_open(&tasks, napper), 0);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	window_look();
	do
		crowded += window_look() > WINDOW_US * 1000 / 20;
	while (!idle.is_idle && ++windows < WINDOWS);
	ck_assert(idle.is_idle || crowded == WINDOWS);
	kill(napper, SIGKILL);
	vg_tasks_close(&tasks);
}
END_TEST

START_TEST(beside_another)
{
	int cpu = sched_getcpu();
	pid_t napper = process_start(cpu, true), other = process_start(cpu, false);

	idle.is_idle = true;
	ck_assert_int_eq(vg_tasks_open(&tasks, napper), 0);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	window_look();
	for (int windows = 0; idle.is_idle && windows < WINDOWS; windows++)
		window_look();
	ck_assert(!idle.is_idle);
	kill(napper, SIGKILL);
	kill(other, SIGKILL);
	vg_tasks_close(&tasks);
}
END_TEST

Suite *idle_suite(void)
{
	Suite *suite = suite_create("idle");
	TCase *tests = tcase_create("machine");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, alone);
	tcase_add_test(tests, beside_another);
	suite_add_tcase(suite, tests);
	return suite;
}
