/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/suites.h"
#include "vgtool/run/descendants.h"

/* A child that forks another one. That one writes its pid to the pipe when it is sure to end with the child. */
static pid_t family_start(int ends[2], pid_t *grandchild)
{
	pid_t child = fork();

	if (child == 0) {
		bool is_second = fork() == 0;
		pid_t pid = getpid();

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (is_second && write(ends[1], &pid, sizeof pid) != sizeof pid)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(ends[0], grandchild, sizeof *grandchild), sizeof *grandchild);
	return child;
}

/* When the process was created; 0: it is not known. */
static uint64_t ticks_of(const struct vg_descendants *descendants, pid_t pid)
{
	for (size_t i = 0; i < descendants->items.count; i++) {
		if (descendants->items.items[i].pid == pid && !descendants->items.items[i].exited)
			return descendants->items.items[i].start_ticks;
	}
	return 0;
}

static bool is_known(const struct vg_descendants *descendants, pid_t pid)
{
	return ticks_of(descendants, pid) != 0;
}

START_TEST(descendants_found)
{
	struct vg_descendants descendants = { 0 };
	uint64_t now_ns = 1, later_ticks;
	pid_t child, grandchild, later, last;
	struct vg_err err;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(vg_descendants_check(&err), 0);
	child = family_start(ends, &grandchild);
	ck_assert_int_eq(vg_descendants_add(&descendants, child), 0);
	ck_assert_int_eq(vg_descendants_add(&descendants, child), 0);
	ck_assert_uint_eq(descendants.items.count, 1);
	ck_assert(vg_descendants_scan(&descendants, now_ns));
	ck_assert(is_known(&descendants, child) && is_known(&descendants, grandchild));
	ck_assert_uint_eq(descendants.items.items[1].seen_ns, 0);
	ck_assert(!vg_descendants_scan(&descendants, now_ns + 1));
	ck_assert(!is_known(&descendants, getpid()));
	ck_assert(!vg_process_exited(grandchild, descendants.items.items[1].start_ticks));
	/* Another family; its second process ends with the first one. */
	later = family_start(ends, &last);
	ck_assert_int_eq(vg_descendants_add(&descendants, later), 0);
	ck_assert(vg_descendants_scan(&descendants, now_ns += UINT64_C(10000000000)));
	ck_assert(is_known(&descendants, last));
	later_ticks = ticks_of(&descendants, later);
	ck_assert(!vg_process_exited(later, later_ticks));
	kill(later, SIGKILL);
	ck_assert_int_eq(waitpid(later, NULL, 0), later);
	ck_assert(vg_process_exited(later, later_ticks));
	ck_assert(vg_descendants_scan(&descendants, now_ns += UINT64_C(10000000000)));
	ck_assert(!is_known(&descendants, later));
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert(vg_descendants_scan(&descendants, now_ns += UINT64_C(10000000000)));
	ck_assert(!is_known(&descendants, child));
	ck_assert_uint_lt(descendants.items.count, 5);
	vg_descendants_free(&descendants);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* A process that has the id of a descendant which exited is not one, and nor are its children. */
START_TEST(reused_id)
{
	struct vg_descendants descendants = { 0 };
	pid_t child, grandchild;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	child = family_start(ends, &grandchild);
	ck_assert_int_eq(vg_descendants_add(&descendants, child), 0);
	ck_assert(!vg_process_exited(child, descendants.items.items[0].start_ticks));
	descendants.items.items[0].start_ticks--;
	ck_assert(vg_process_exited(child, descendants.items.items[0].start_ticks));
	ck_assert(vg_descendants_scan(&descendants, 1));
	ck_assert(!is_known(&descendants, child));
	ck_assert(!is_known(&descendants, grandchild));
	vg_descendants_free(&descendants);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

Suite *descendants_suite(void)
{
	Suite *suite = suite_create("descendants");
	TCase *scans = tcase_create("scans");

	tcase_add_test(scans, descendants_found);
	tcase_add_test(scans, reused_id);
	suite_add_tcase(suite, scans);
	return suite;
}
