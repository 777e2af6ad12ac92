/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether a CPU is idle while a thread that has it now and then sleeps. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/spin.h"
#include "tests/unit/suites.h"
#include "vignetted/capture/idle.h"

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

/* The second number of proc_uptime(5). */
static double all_idle_s(void)
{
	FILE *file = fopen("/proc/uptime", "r");
	double up_s, idle_s;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%lf %lf", &up_s, &idle_s), 2);
	fclose(file);
	return idle_s;
}

static struct vg_idle idle;
static struct vg_tasks tasks;

/* Looks at the process's thread after a while.  Whether hardly anything ran beside it, by the time that all
 * CPUs together were idle. */
static bool window_look(void)
{
	struct vg_task *task = &tasks.live.items[0];
	double idle_s = all_idle_s();

	usleep(WINDOW_US);
	ck_assert_int_eq(vg_task_look(&tasks, task, &task->look), 0);
	vg_idle_look(&idle, task, spin_now_ns());
	return all_idle_s() - idle_s > ((double)sysconf(_SC_NPROCESSORS_ONLN) - 0.6) * WINDOW_US / 1e6;
}

/* Two at least, and all of them. */
static bool all_cpus_are_ours(void)
{
	cpu_set_t ours;

	ck_assert_int_eq(sched_getaffinity(0, sizeof ours, &ours), 0);
	return CPU_COUNT(&ours) > 1 && CPU_COUNT(&ours) == sysconf(_SC_NPROCESSORS_ONLN);
}

START_TEST(alone)
{
	pid_t napper = process_start(sched_getcpu(), true);
	int quiet = 0, missed = 0;

	ck_assert_int_eq(vg_tasks_open(&tasks, napper), 0);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	window_look();
	for (int windows = 0; !idle.is_idle && windows < WINDOWS; windows++) {
		bool is_quiet = window_look();

		quiet += is_quiet;
		/* /proc/uptime and vg_idle_look() are read at two moments: one window may count differently. */
		missed = !idle.is_roomy && is_quiet && all_cpus_are_ours() ? missed + 1 : 0;
		ck_assert_int_lt(missed, 2);
	}
	ck_assert(idle.is_idle || quiet == 0);
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

/* Room is on a CPU that is ours. */
START_TEST(room)
{
	int cpu = sched_getcpu();
	pid_t other = process_start(cpu, false);
	cpu_set_t ours;

	CPU_ZERO(&ours);
	CPU_SET(cpu, &ours);
	ck_assert_int_eq(sched_setaffinity(0, sizeof ours, &ours), 0);
	ck_assert_int_eq(vg_tasks_open(&tasks, other), 0);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	for (int windows = 0; windows < 3; windows++) {
		window_look();
		ck_assert(!idle.is_roomy);
	}
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
	tcase_add_test(tests, room);
	suite_add_tcase(suite, tests);
	return suite;
}
