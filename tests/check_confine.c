/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a command that reads strangers' files can still do: its task, and nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suites.h"
#include "vgtool/confine.h"

#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static char directory[64], input[96], output[96], other[96];

static void setup(void)
{
	snprintf(directory, sizeof directory, "check_confine.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(input, sizeof input, "%s/input", directory);
	snprintf(other, sizeof other, "%s/other", directory);
	snprintf(output, sizeof output, "%s/out/output", directory);
	ck_assert_int_eq(close(open(input, O_CREAT | O_WRONLY, 0600)), 0);
	ck_assert_int_eq(close(open(other, O_CREAT | O_WRONLY, 0600)), 0);
	snprintf(output, sizeof output, "%s/out", directory);
	ck_assert_int_eq(mkdir(output, 0700), 0);
	snprintf(output, sizeof output, "%s/out/output", directory);
}

static void teardown(void)
{
	char made[96];

	unlink(input);
	unlink(other);
	unlink(output);
	snprintf(made, sizeof made, "%s/out", directory);
	rmdir(made);
	rmdir(directory);
}

static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

/* The errno of what the function does in a process that is confined; 0: it may. */
static int confined(int (*attempt)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		vg_reader_confine_to(input, output);
		_exit(attempt() < 0 ? errno : 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int read_input(void)
{
	return open(input, O_RDONLY);
}

static int read_other(void)
{
	return open(other, O_RDONLY);
}

static int write_input(void)
{
	return open(input, O_WRONLY);
}

static int write_output(void)
{
	return open(output, O_WRONLY | O_CREAT, 0600);
}

static int run_program(void)
{
	return execl("/bin/true", "true", NULL);
}

static int make_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int send_signal(void)
{
	return kill(getppid(), 0);
}

static int trace(void)
{
	return (int)ptrace(PTRACE_SEIZE, getppid(), 0, 0);
}

static int change_mode(void)
{
	return chmod(input, 0644);
}


START_TEST(task_is_allowed)
{
	ck_assert_int_eq(confined(read_input), 0);
	ck_assert_int_eq(confined(write_output), 0);
}
END_TEST

START_TEST(nothing_else_is)
{
	ck_assert_int_eq(confined(run_program), EPERM);
	ck_assert_int_eq(confined(make_socket), EPERM);
	ck_assert_int_eq(confined(change_mode), EPERM);
	ck_assert_int_eq(confined(send_signal), EPERM);
	ck_assert_int_eq(confined(trace), EPERM);
}
END_TEST

/* A kernel may have been started without Landlock: then these are open, and no test can say more. */
START_TEST(other_files_are_not)
{
	int expected = has_landlock() ? EACCES : 0;

	ck_assert_int_eq(confined(read_other), expected);
	ck_assert_int_eq(confined(write_input), expected);
}
END_TEST

Suite *confine_suite(void)
{
	Suite *suite = suite_create("confine");
	TCase *tests = tcase_create("readers");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, task_is_allowed);
	/* Under a sanitizer nothing is confined. */
	if (!SANITIZED) {
		tcase_add_test(tests, nothing_else_is);
		tcase_add_test(tests, other_files_are_not);
	}
	suite_add_tcase(suite, tests);
	return suite;
}
