/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Copies of a waiting thread's stack. The thread's files are made by the test, its memory is this process's. */
#include "tests/unit/suites.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/fixture.h"
#include "vignetted/capture/stack.h"

#ifdef __x86_64__
static struct vg_memory memory;
static struct vg_modules modules;
static struct vg_tasks tasks;
static struct vg_priority priority;
static struct vg_walker walker;
static struct vg_task task;
static char path[64];

/* A function without a caller. */
__asm__(".text\nstack_bottom: .cfi_startproc\n .cfi_undefined rip\n nop\n nop\n .cfi_endproc\n");
extern const char stack_bottom[];

static uint64_t words[16];

static void file_write(const char *name, const char *text)
{
	fixture_thread_file(vg_tasks_directory(&tasks), task.tid, name, text);
}

/* A thread that waits, but not in a system call, and has had 5 timeslices. */
static void setup(void)
{
	char name[16], text[64];

	task = (struct vg_task){ .tid = getpid(), .files = { -1, -1 }, .copy.bytes = sizeof words };
	tasks = (struct vg_tasks){ 0 };
	snprintf(path, sizeof path, "/dev/shm/stack-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(path));
	tasks.directory = opendir(path);
	ck_assert_ptr_nonnull(tasks.directory);
	snprintf(name, sizeof name, "%d", task.tid);
	ck_assert_int_eq(mkdirat(vg_tasks_directory(&tasks), name, 0700), 0);
	file_write("schedstat", "1000 0 5");
	snprintf(text, sizeof text, "-1 0x%llx 0x%llx\n", (unsigned long long)(uintptr_t)words,
		 (unsigned long long)(uintptr_t)stack_bottom);
	file_write("syscall", text);
	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	modules = (struct vg_modules){ .memory = &memory };
	ck_assert_int_eq(vg_modules_refresh(&modules), 0);
	walker = (struct vg_walker){
		.modules = &modules, .memory = &memory, .tasks = &tasks, .priority = &priority, .max_frames = 100,
	};
	ck_assert_int_eq(vg_walker_open(&walker), 0);
}

static void teardown(void)
{
	char name[32];

	vg_walker_close(&walker);
	vg_modules_free(&modules);
	vg_memory_free(&memory);
	for (int i = 0; i < 3; i++) {
		static const char *const files[] = { "/schedstat", "/syscall", "" };

		snprintf(name, sizeof name, "%d%s", task.tid, files[i]);
		unlinkat(vg_tasks_directory(&tasks), name, files[i][0] == '\0' ? AT_REMOVEDIR : 0);
	}
	rmdir(path);
	vg_tasks_close(&tasks);
}

/* The thread has run since its activity was read, and waits at the same place again: the first copy may have a part of
 * what it did meanwhile. The second copy is taken. */
START_TEST(thread_that_ran_is_copied_again)
{
	bool ran = _i != 0;
	const struct vg_tracer tracer = { 0 };
	struct vg_thread_stack stack;
	struct vg_wait wait;

	task.activity = (struct vg_task_activity){ .cpu_ns = 1000, .timeslices = ran ? 4 : 5 };
	vg_wait_read(&wait, &tasks, &task);
	ck_assert(!wait.running);
	ck_assert_int_eq(vg_stack_read(&walker, &tracer, &task, &wait, NULL, &stack), VG_READ_TAKEN);
	ck_assert_str_eq(vg_walk_end_name(stack.walk->end), "complete");
	ck_assert_uint_eq(stack.walk->count, 1);
	ck_assert_uint_eq(stack.discarded, ran);
	ck_assert_uint_eq(stack.timeslices, 5);
	ck_assert_int_eq(stack.call, -1);
}
END_TEST

/* The thread is at another place when it is copied. */
START_TEST(thread_that_moved_is_copied_again)
{
	const struct vg_tracer tracer = { 0 };
	struct vg_thread_stack stack;
	struct vg_wait wait;

	task.activity = (struct vg_task_activity){ .cpu_ns = 1000, .timeslices = 5 };
	vg_wait_read(&wait, &tasks, &task);
	wait.sp -= 8;
	ck_assert_int_eq(vg_stack_read(&walker, &tracer, &task, &wait, NULL, &stack), VG_READ_TAKEN);
	ck_assert_uint_eq(stack.discarded, 1);
	ck_assert_uint_eq(wait.sp, (uint64_t)words);
}
END_TEST

/* The thread runs when it is copied: it must be stopped. */
START_TEST(thread_that_runs_needs_a_stop)
{
	const struct vg_tracer tracer = { 0 };
	struct vg_thread_stack stack;
	struct vg_wait wait;

	task.activity = (struct vg_task_activity){ .cpu_ns = 1000, .timeslices = 5 };
	vg_wait_read(&wait, &tasks, &task);
	file_write("syscall", "running\n");
	ck_assert_int_eq(vg_stack_read(&walker, &tracer, &task, &wait, NULL, &stack), VG_READ_NEEDS_STOP);
	ck_assert_uint_eq(stack.discarded, 1);
}
END_TEST
#endif

Suite *stack_suite(void)
{
	Suite *suite = suite_create("stack");
#ifdef __x86_64__
	TCase *tests = tcase_create("stack");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, thread_that_ran_is_copied_again, 0, 2);
	tcase_add_test(tests, thread_that_moved_is_copied_again);
	tcase_add_test(tests, thread_that_runs_needs_a_stop);
	suite_add_tcase(suite, tests);
#endif
	return suite;
}
