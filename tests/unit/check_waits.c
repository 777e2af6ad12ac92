/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* In which system calls a waiting thread may be stopped. After a stop, a call with a timeout would begin the timeout
 * again or return EINTR. */
#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vignetted/capture/waits.h"

#ifdef __x86_64__
/* Whether a thread may be stopped in the call. Argument `timeout` has the value, all other arguments are `others`. */
static bool may_stop(int64_t call, int timeout, uint64_t value, uint64_t others)
{
	struct vg_wait wait = { .call = call };
	int directory = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
	bool may;

	ck_assert_int_ge(directory, 0);
	for (int i = 0; i < 6; i++)
		wait.arguments[i] = i == timeout ? value : others;
	may = vg_wait_may_stop(&wait, directory, gettid());
	close(directory);
	return may;
}

/* Positions of timeouts: epoll_wait(2), io_getevents(2), semop(2), sigwaitinfo(2). */
static const struct { int64_t call; int timeout; bool is_pointer; } timeouts[] = {
	{ SYS_epoll_wait, 3, false }, { SYS_epoll_pwait, 3, false }, { SYS_epoll_pwait2, 3, true },
	{ SYS_io_getevents, 4, true }, { SYS_semtimedop, 3, true }, { SYS_rt_sigtimedwait, 2, true },
};

/* The other arguments, for example the signal mask of epoll_pwait2(2), decide nothing. */
START_TEST(calls_with_a_timeout)
{
	uint64_t none = timeouts[_i].is_pointer ? 0 : UINT64_MAX, some = timeouts[_i].is_pointer ? 0x7ffc0000 : 1000;

	for (uint64_t others = 0; others < 2; others++) {
		ck_assert(may_stop(timeouts[_i].call, timeouts[_i].timeout, none, others));
		ck_assert(!may_stop(timeouts[_i].call, timeouts[_i].timeout, some, others));
	}
	/* In the kernel, the timeout in milliseconds has 32 bits. */
	if (!timeouts[_i].is_pointer) {
		ck_assert(may_stop(timeouts[_i].call, timeouts[_i].timeout, UINT32_MAX, 0));
		ck_assert(!may_stop(timeouts[_i].call, timeouts[_i].timeout, 0, 0));
	}
}
END_TEST

static const struct { int64_t call; bool may; } others[] = {
	{ SYS_futex, true }, { SYS_poll, true }, { SYS_ppoll, true }, { SYS_select, true }, { SYS_nanosleep, true },
	{ SYS_clock_nanosleep, true }, { SYS_semop, true }, { SYS_wait4, true }, { -1, true },
	{ SYS_io_pgetevents, false }, { SYS_vfork, false }, { SYS_clone, false }, { SYS_clone3, false },
};

START_TEST(calls_without_a_timeout)
{
	ck_assert_int_eq(may_stop(others[_i].call, 0, 0, 0), others[_i].may);
	ck_assert_int_eq(may_stop(others[_i].call, 0, 1, 1), others[_i].may);
}
END_TEST

/* A socket may have a timeout (SO_RCVTIMEO), other files have none. */
static const int64_t socket_calls[] = {
	SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_accept, SYS_accept4, SYS_connect, SYS_write,
	SYS_writev, SYS_sendto, SYS_sendmsg, SYS_sendmmsg,
};

START_TEST(calls_of_sockets)
{
	int sockets[2], pipes[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	ck_assert_int_eq(pipe(pipes), 0);
	ck_assert(!may_stop(socket_calls[_i], 0, (uint64_t)sockets[0], 0));
	ck_assert(may_stop(socket_calls[_i], 0, (uint64_t)pipes[0], 0));
	for (int i = 0; i < 2; i++) {
		close(sockets[i]);
		close(pipes[i]);
	}
	/* Nothing is known of a descriptor that is not open. */
	ck_assert(!may_stop(socket_calls[_i], 0, INT32_MAX, 0));
}
END_TEST
#endif

/* Texts of /proc/PID/task/TID/syscall.  A thread that waits in no system call has no arguments there, for example in a
 * page fault.  What does not have the numbers counts as running. */
static const struct { const char *text; struct vg_wait wait; } texts[] = {
	{ "running\n", { .running = true } }, { "", { .running = true } }, { "-1 0x0 0x401000\n", { .running = true } },
	{ "35\n", { .running = true } },
	{ "-1 0x7ffd0010 0x401000\n", { .call = -1, .sp = 0x7ffd0010, .pc = 0x401000 } },
	{ "35 0x1 0x2 0x3 0x4 0x5 0xffffffff 0x7ffd0020 0x401010\n",
	  { .call = 35, .arguments = { 1, 2, 3, 4, 5, UINT32_MAX }, .sp = 0x7ffd0020, .pc = 0x401010 } },
};

START_TEST(texts_of_the_kernel)
{
	char path[] = "/dev/shm/waits-XXXXXX";
	struct vg_task task = { .tid = 7, .files = { -1, -1 } };
	struct vg_tasks tasks = { 0 };
	struct vg_wait wait;
	int directory;

	ck_assert_ptr_nonnull(mkdtemp(path));
	tasks.directory = opendir(path);
	directory = vg_tasks_directory(&tasks);
	ck_assert_int_eq(mkdirat(directory, "7", 0700), 0);
	fixture_thread_file(directory, task.tid, "syscall", texts[_i].text);
	memset(&wait, 0, sizeof wait);
	vg_wait_read(&wait, &tasks, &task);
	ck_assert_int_eq(wait.running, texts[_i].wait.running);
	if (!wait.running) {
		ck_assert_int_eq(wait.call, texts[_i].wait.call);
		ck_assert_uint_eq(wait.sp, texts[_i].wait.sp);
		ck_assert_uint_eq(wait.pc, texts[_i].wait.pc);
		ck_assert_mem_eq(wait.arguments, texts[_i].wait.arguments, sizeof wait.arguments);
	}
	unlinkat(directory, "7/syscall", 0);
	unlinkat(directory, "7", AT_REMOVEDIR);
	rmdir(path);
	vg_tasks_close(&tasks);
}
END_TEST

Suite *waits_suite(void)
{
	Suite *suite = suite_create("waits");
	TCase *tests = tcase_create("waits");

#ifdef __x86_64__
	tcase_add_loop_test(tests, calls_with_a_timeout, 0, sizeof timeouts / sizeof *timeouts);
	tcase_add_loop_test(tests, calls_without_a_timeout, 0, sizeof others / sizeof *others);
	tcase_add_loop_test(tests, calls_of_sockets, 0, sizeof socket_calls / sizeof *socket_calls);
#endif
	tcase_add_loop_test(tests, texts_of_the_kernel, 0, sizeof texts / sizeof *texts);
	suite_add_tcase(suite, tests);
	return suite;
}
