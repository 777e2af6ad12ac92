/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The list of a process's threads. */
#include "tests/unit/suites.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/spin.h"
#include "vignetted/capture/activity.h"
#include "vignetted/target/target.h"
#include "vignetted/target/tasks.h"

/* ---- threads in a new pid namespace: its ns_last_pid chooses the next thread number ---- */

struct waiter {
	pthread_t thread;
	atomic_int tid;
	atomic_bool stopping;
};

static void *waiter_run(void *argument)
{
	struct waiter *waiter = argument;

	atomic_store(&waiter->tid, (int)syscall(SYS_gettid));
	while (!atomic_load(&waiter->stopping))
		usleep(1000);
	return NULL;
}

static bool waiter_begin(struct waiter *waiter)
{
	*waiter = (struct waiter){ 0 };
	if (pthread_create(&waiter->thread, NULL, waiter_run, waiter) != 0)
		return false;
	while (atomic_load(&waiter->tid) == 0)
		usleep(1000);
	return true;
}

/* Returns when the kernel has released the thread's number. */
static void waiter_end(struct waiter *waiter)
{
	atomic_store(&waiter->stopping, true);
	pthread_join(waiter->thread, NULL);
	while (syscall(SYS_tgkill, getpid(), atomic_load(&waiter->tid), 0) == 0)
		usleep(1000);
}

/* Retries, because the kernel may keep a number for a moment after its thread has exited. */
static bool waiter_begin_as(struct waiter *waiter, pid_t tid)
{
	for (int attempt = 0; attempt < 1000; attempt++) {
		FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");

		if (file == NULL || fprintf(file, "%d", tid - 1) < 0 || fclose(file) != 0 || !waiter_begin(waiter))
			return false;
		if (atomic_load(&waiter->tid) == tid)
			return true;
		waiter_end(waiter);
		usleep(1000);
	}
	return false;
}

/* Returns 0, or the number of the first step that failed. */
static int number_used_again(void)
{
	struct vg_tasks tasks;
	struct vg_task_activity activity;
	struct vg_task *task;
	struct waiter first, second;
	size_t hint = 0;
	pid_t tid;

	if (mount("proc", "/proc", "proc", 0, NULL) != 0 || !waiter_begin(&first))
		return 1;
	tid = atomic_load(&first.tid);
	if (vg_tasks_open(&tasks, getpid()) != 0 || vg_tasks_scan(&tasks) != 0)
		return 2;
	task = vg_tasks_find(&tasks, tid, &hint);
	if (task == NULL || vg_task_activity_read(&tasks, task, &activity) != 0)
		return 3;
	waiter_end(&first);
	if (!waiter_begin_as(&second, tid))
		return 4;
	if (vg_task_activity_read(&tasks, task, &activity) != -ESRCH)
		return 5;
	/* The first scan removes the exited thread, the second one finds the new thread. */
	for (int i = 0; i < 2; i++) {
		if (vg_tasks_scan(&tasks) != 0)
			return 6;
		vg_tasks_remove_exited(&tasks);
	}
	task = vg_tasks_find(&tasks, tid, &hint);
	if (task == NULL || tasks.live.count != 2 || tasks.found != 3)
		return 7;
	if (vg_task_activity_read(&tasks, task, &activity) != 0)
		return 8;
	waiter_end(&second);
	vg_tasks_close(&tasks);
	return 0;
}

/* unshare(CLONE_NEWPID) puts the children, not the caller, into the new namespace, and then the caller can create no
 * threads. LeakSanitizer needs a thread, so the caller is a child of the test. */
static int in_namespaces(int (*run)(void))
{
	int status, namespaces = CLONE_NEWPID | CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
	pid_t child;

	if (unshare(namespaces) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return 100;
	child = fork();
	if (child == 0)
		_exit(run());
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

START_TEST(thread_number_is_reused)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(in_namespaces(number_used_again));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Other parts of the helper may have all descriptors. Files that are kept open are closed for a file that is needed. */
START_TEST(descriptors_run_out)
{
	struct waiter waiters[4];
	struct vg_tasks tasks;
	char text[256];
	int fd;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 200, 200 }), 0);
	for (int i = 0; i < 4; i++)
		ck_assert(waiter_begin(&waiters[i]));
	ck_assert_int_eq(vg_tasks_open(&tasks, getpid()), 0);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	ck_assert_uint_ge(tasks.live.count, 5);
	for (size_t i = 0; i < 4; i++)
		ck_assert_int_gt(vg_task_read(&tasks, &tasks.live.items[i], VG_TASK_SCHEDSTAT, text, sizeof text), 0);
	ck_assert_uint_eq(tasks.open_files, 4);
	while ((fd = dup(STDERR_FILENO)) >= 0)
		;
	ck_assert_int_eq(errno, EMFILE);
	for (size_t i = 0; i < 5; i++) {
		ck_assert_int_gt(vg_task_read(&tasks, &tasks.live.items[i], VG_TASK_SCHEDSTAT, text, sizeof text), 0);
		ck_assert_int_gt(vg_task_read(&tasks, &tasks.live.items[i], VG_TASK_SYSCALL, text, sizeof text), 0);
	}
	vg_tasks_close(&tasks);
	for (int i = 0; i < 4; i++)
		waiter_end(&waiters[i]);
}
END_TEST

/* A sample between two rounds does not use the activity of the last round. */
START_TEST(expired_activity_is_read_again)
{
	struct vg_activity activity = { 0 };
	struct vg_target target;
	struct vg_tasks tasks;
	struct vg_err err;
	uint64_t before_ns;

	ck_assert_int_eq(vg_target_open(&target, getpid(), &err), 0);
	ck_assert_int_eq(vg_tasks_open(&tasks, getpid()), 0);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	vg_activity_begin(&activity, &target, &tasks, 1);
	ck_assert(activity.awake_current);
	before_ns = tasks.live.items[0].activity.cpu_ns;
	/* The kernel may count CPU time only at scheduler ticks, which are at most 10 ms apart. */
	for (uint64_t end_ns = spin_cpu_ns() + 50 * 1000 * 1000; spin_cpu_ns() < end_ns;)
		;
	ck_assert_int_eq(vg_activity_read(&activity, &tasks, &tasks.live.items[0]), 0);
	ck_assert_uint_eq(tasks.live.items[0].activity.cpu_ns, before_ns);
	vg_activity_expire(&activity, 2);
	ck_assert_int_eq(vg_activity_read(&activity, &tasks, &tasks.live.items[0]), 0);
	ck_assert_uint_gt(tasks.live.items[0].activity.cpu_ns, before_ns);
	vg_tasks_close(&tasks);
	vg_target_close(&target);
}
END_TEST

/* Makes a directory in a tmpfs in place of /proc/PID/task, with the thread 100. Returns its descriptor, which stays the
 * property of `tasks`. `path` is a template of mkdtemp(3). */
static int directory_make(struct vg_tasks *tasks, char *path)
{
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(path));
	tasks->directory = opendir(path);
	ck_assert_ptr_nonnull(tasks->directory);
	fd = vg_tasks_directory(tasks);
	ck_assert_int_eq(mkdirat(fd, "100", 0700), 0);
	return fd;
}

/* A thread exits during a scan of /proc/PID/task, and another thread is created after the scan. So the directory's link
 * count is as before the scan. The test uses a directory in a tmpfs, which has such a link count, too. */
START_TEST(link_count_hides_a_new_thread)
{
	char path[] = "/dev/shm/tasks-XXXXXX";
	struct vg_tasks tasks = { 0 };
	int fd;

	fd = directory_make(&tasks, path);
	ck_assert_int_eq(mkdirat(fd, "ended", 0700), 0);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	ck_assert_uint_eq(tasks.live.count, 1);
	ck_assert(vg_tasks_changed(&tasks));
	ck_assert_int_eq(renameat(fd, "ended", fd, "101"), 0);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	ck_assert_uint_eq(tasks.live.count, 2);
	ck_assert(!vg_tasks_changed(&tasks));
	unlinkat(fd, "100", AT_REMOVEDIR);
	unlinkat(fd, "101", AT_REMOVEDIR);
	rmdir(path);
	vg_tasks_close(&tasks);
}
END_TEST

/* The kernel's list of threads ends early, at a thread that exits during the scan. A thread behind it is kept. In the
 * test's directory, a name that is no number is the one that the list lacks. */
START_TEST(thread_behind_the_end_of_the_list)
{
	char path[] = "/dev/shm/tasks-XXXXXX";
	struct vg_task behind = { .tid = -7, .files = { -1, -1 }, .seen = true };
	struct vg_tasks tasks = { .stale = true };
	int fd, stat_fd;

	fd = directory_make(&tasks, path);
	ck_assert_int_eq(mkdirat(fd, "-7", 0700), 0);
	stat_fd = openat(fd, "-7/stat", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_gt(write(stat_fd, "7 (name) S 1", 12), 0);
	ck_assert_int_eq(vg_array_push(&tasks.live, &behind), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
		vg_tasks_remove_exited(&tasks);
		ck_assert_uint_eq(tasks.live.count, 2);
		ck_assert_uint_eq(tasks.found, 1);
	}
	/* It exits, too. */
	ck_assert_int_gt(pwrite(stat_fd, "7 (name) Z 1", 12, 0), 0);
	close(stat_fd);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	vg_tasks_remove_exited(&tasks);
	ck_assert_uint_eq(tasks.live.count, 1);
	ck_assert_int_eq(tasks.live.items[0].tid, 100);
	unlinkat(fd, "-7/stat", 0);
	unlinkat(fd, "-7", AT_REMOVEDIR);
	unlinkat(fd, "100", AT_REMOVEDIR);
	rmdir(path);
	vg_tasks_close(&tasks);
}
END_TEST

/* A thread that was left out because of the limit is found as soon as another thread has exited, although the link
 * count does not change after that. */
START_TEST(thread_over_the_limit_gets_a_place)
{
	char path[] = "/dev/shm/tasks-XXXXXX";
	struct vg_tasks tasks = { .max = 1 };
	int fd;

	fd = directory_make(&tasks, path);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	ck_assert_int_eq(mkdirat(fd, "101", 0700), 0);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	vg_tasks_remove_exited(&tasks);
	ck_assert_uint_eq(tasks.live.count, 1);
	ck_assert_int_eq(tasks.live.items[0].tid, 100);
	ck_assert_uint_eq(tasks.excess, 1);
	ck_assert_int_eq(unlinkat(fd, "100", AT_REMOVEDIR), 0);
	/* The first scan removes the exited thread, the second one finds the other thread. */
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
		vg_tasks_remove_exited(&tasks);
	}
	ck_assert_uint_eq(tasks.live.count, 1);
	ck_assert_int_eq(tasks.live.items[0].tid, 101);
	ck_assert_uint_eq(tasks.excess, 0);
	ck_assert_uint_eq(tasks.excess_max, 1);
	unlinkat(fd, "101", AT_REMOVEDIR);
	rmdir(path);
	vg_tasks_close(&tasks);
}
END_TEST

/* Whether one of the chosen threads has run since the round before.  A thread that is alone on its CPU stays in one
 * timeslice. */
START_TEST(chosen_thread_has_run)
{
	static const struct { const char *schedstat; bool ran; } rounds[] = {
		{ "1000 0 5", true }, { "1000 0 5", false }, { "2000 0 5", true }, { "2000 0 6", true },
		{ "2000 9 6", false },
	};
	char path[] = "/dev/shm/tasks-XXXXXX";
	struct vg_activity activity = { 0 };
	struct vg_tasks tasks = { .only = { 100 }, .only_count = 1 };
	struct vg_target target = { 0 };
	int fd, file;

	fd = directory_make(&tasks, path);
	ck_assert_int_eq(vg_array_push(&tasks.live, (&(struct vg_task){ .tid = 100, .files = { -1, -1 } })), 0);
	file = openat(fd, "100/schedstat", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (uint64_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
		ck_assert_int_eq(pwrite(file, rounds[i].schedstat, 8, 0), 8);
		ck_assert_int_eq(vg_activity_begin(&activity, &target, &tasks, i + 1), rounds[i].ran);
	}
	close(file);
	unlinkat(fd, "100/schedstat", 0);
	unlinkat(fd, "100", AT_REMOVEDIR);
	rmdir(path);
	vg_tasks_close(&tasks);
}
END_TEST

/* Waits until the file descriptor is closed. */
static void *wait_for_end(void *fd)
{
	char byte;

	return read(*(int *)fd, &byte, 1) < 0 ? fd : NULL;
}

/* The tid of a thread other than `own`.  0: there is none. */
static pid_t other_tid(const struct vg_tasks *tasks, pid_t own)
{
	for (size_t i = 0; i < tasks->live.count; i++) {
		if (tasks->live.items[i].tid != own)
			return tasks->live.items[i].tid;
	}
	return 0;
}

START_TEST(chosen_threads_are_found_alone)
{
	pid_t own = getpid(), chosen[2];
	struct vg_tasks tasks;
	pthread_t thread;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_end, &ends[0]), 0);
	ck_assert_int_eq(vg_tasks_open(&tasks, own), 0);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	ck_assert_uint_eq(tasks.live.count, 2);
	chosen[0] = other_tid(&tasks, own);
	vg_tasks_choose(&tasks, chosen, 1);
	ck_assert(vg_tasks_changed(&tasks));
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	vg_tasks_remove_exited(&tasks);
	ck_assert_uint_eq(tasks.live.count, 1);
	ck_assert_int_eq(tasks.live.items[0].tid, chosen[0]);
	/* The same choice changes nothing. */
	vg_tasks_choose(&tasks, chosen, 1);
	ck_assert(!vg_tasks_changed(&tasks));
	/* A thread of another process is not found. */
	chosen[1] = getppid();
	vg_tasks_choose(&tasks, chosen, 2);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	ck_assert_uint_eq(tasks.live.count, 1);
	close(ends[1]);
	pthread_join(thread, NULL);
	while (syscall(SYS_tgkill, own, chosen[0], 0) == 0)
		usleep(1000);
	tasks.stale = true;
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	vg_tasks_remove_exited(&tasks);
	ck_assert_uint_eq(tasks.live.count, 0);
	vg_tasks_choose(&tasks, chosen, 0);
	ck_assert_int_eq(vg_tasks_scan(&tasks), 0);
	ck_assert_uint_eq(tasks.live.count, 1);
	ck_assert_int_eq(tasks.live.items[0].tid, own);
	vg_tasks_close(&tasks);
	close(ends[0]);
}
END_TEST

Suite *tasks_suite(void)
{
	Suite *suite = suite_create("tasks");
	TCase *tests = tcase_create("tasks");

	tcase_add_test(tests, thread_number_is_reused);
	tcase_add_test(tests, descriptors_run_out);
	tcase_add_test(tests, expired_activity_is_read_again);
	tcase_add_test(tests, link_count_hides_a_new_thread);
	tcase_add_test(tests, thread_behind_the_end_of_the_list);
	tcase_add_test(tests, thread_over_the_limit_gets_a_place);
	tcase_add_test(tests, chosen_thread_has_run);
	tcase_add_test(tests, chosen_threads_are_found_alone);
	suite_add_tcase(suite, tests);
	return suite;
}
