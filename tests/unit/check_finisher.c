/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The process that renames or removes one file for a confined helper, which may not do so. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/outfile.h"
#include "tests/unit/suites.h"
#include "vignetted/serve/finisher.h"
#include "vignetted/serve/listener.h"

static char directory[32], path[64], part[64];
static struct vg_outfile file;
static struct vg_finisher finisher;

static int finish(void *context, enum vg_finish what, struct vg_err *err)
{
	int reached = open("reached", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	/* Shows that the finisher calls this function, whatever the action is. */
	if (reached >= 0)
		close(reached);
	if (what == VG_FINISH_KEEP)
		return vg_outfile_commit(context, err);
	if (what == VG_FINISH_DROP)
		vg_outfile_abandon(context);
	return 0;
}

static void setup(void)
{
	struct vg_err err;

	signal(SIGPIPE, SIG_IGN);        /* as in the helper */
	snprintf(directory, sizeof directory, "check_finisher.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chdir(directory), 0);
	snprintf(path, sizeof path, "out.vgp");
	snprintf(part, sizeof part, "out.vgp.part");
	ck_assert_int_eq(vg_outfile_open(&file, path, &err), 0);
	ck_assert_int_eq(vg_finisher_start(&finisher, finish, &file, &err), 0);
}

static void teardown(void)
{
	vg_outfile_close_copy(&file);
	unlink(path);
	unlink(part);
	unlink("reached");
	ck_assert_int_eq(chdir(".."), 0);
	rmdir(directory);
}

static bool exists(const char *name)
{
	return access(name, F_OK) == 0;
}

START_TEST(files_are_kept_and_dropped)
{
	struct vg_err err;

	ck_assert_int_eq(vg_finisher_ask(&finisher, _i == 0 ? VG_FINISH_KEEP : VG_FINISH_DROP, &err), 0);
	ck_assert_int_eq(exists(path), _i == 0);
	ck_assert(!exists(part));
	/* The second request does nothing. */
	ck_assert_int_eq(vg_finisher_ask(&finisher, VG_FINISH_DROP, &err), 0);
	ck_assert_int_eq(exists(path), _i == 0);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

/* Another file replaced the .part. The other file is neither renamed nor removed. A profile that is to be kept still
 * gets its name. */
START_TEST(other_files_stay)
{
	struct vg_err err;

	ck_assert_int_eq(unlink(part), 0);
	ck_assert_int_eq(close(open(part, O_WRONLY | O_CREAT, 0600)), 0);
	ck_assert_int_eq(vg_finisher_ask(&finisher, _i == 0 ? VG_FINISH_KEEP : VG_FINISH_DROP, &err), 0);
	ck_assert(exists(part) && exists(path) == (_i == 0));
}
END_TEST

/* The helper was killed, or an attacker who controls it sends an unknown request: the .part stays. */
START_TEST(part_stays_without_a_request)
{
	if (_i == 1)
		ck_assert_int_eq(write(finisher.socket, "\x7f", 1), 1);
	close(finisher.socket);
	ck_assert_int_eq(waitpid(finisher.child, NULL, 0), finisher.child);
	ck_assert(exists("reached") && exists(part) && !exists(path));
}
END_TEST

START_TEST(finisher_is_killed)
{
	struct vg_err err;

	ck_assert_int_eq(kill(finisher.child, SIGKILL), 0);
	ck_assert_int_eq(vg_finisher_ask(&finisher, VG_FINISH_KEEP, &err), -ESRCH);
	ck_assert_str_eq(err.text, "the process that renames the file at the end was killed: "
			 "the profile keeps its name with .part");
	ck_assert(exists(part) && !exists(path));
}
END_TEST

/* A terminal sends these signals to all of its processes. The finisher ignores them: the helper decides. */
START_TEST(terminal_signals_are_ignored)
{
	struct vg_err err;

	ck_assert_int_eq(kill(finisher.child, SIGINT), 0);
	ck_assert_int_eq(kill(finisher.child, SIGQUIT), 0);
	ck_assert_int_eq(kill(finisher.child, SIGHUP), 0);
	ck_assert_int_eq(vg_finisher_ask(&finisher, VG_FINISH_KEEP, &err), 0);
	ck_assert(exists(path));
}
END_TEST

/* A helper that waits in the kernel does not act on SIGTERM, so the finisher kills it. The helper of this test blocks
 * SIGTERM instead of waiting. */
START_TEST(helper_that_does_not_exit)
{
	sigset_t end;
	pid_t helper;
	int status;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, &end, NULL), 0);
	helper = fork();
	if (helper == 0) {
		struct vg_finisher own;

		if (vg_finisher_start(&own, finish, &file, NULL) == 0)
			kill(getpid(), SIGTERM);
		for (;;)
			pause();
	}
	ck_assert_int_eq(waitpid(helper, &status, 0), helper);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert(exists(part) && !exists(path));
}
END_TEST

/* A helper that is started just after another one of the process was killed waits until that one's finisher has removed
 * the socket. */
START_TEST(socket_of_a_killed_helper)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "sockets/77.sock" };
	struct vg_listener listener;
	struct vg_err err;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), status;
	pid_t child;

	ck_assert_int_eq(mkdir("sockets", 0700), 0);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	child = fork();
	if (child == 0) {
		close(fd);
		status = vg_listener_open(&listener, "sockets", 77, &err);
		if (status != 0)
			fprintf(stderr, "%s\n", err.text);
		vg_listener_close(&listener);
		_exit(status != 0);
	}
	usleep(20000);
	ck_assert_int_eq(unlink("sockets/77.sock"), 0);
	close(fd);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(rmdir("sockets"), 0);
}
END_TEST

Suite *finisher_suite(void)
{
	Suite *suite = suite_create("finisher");
	TCase *tests = tcase_create("finisher");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, files_are_kept_and_dropped, 0, 2);
	tcase_add_loop_test(tests, other_files_stay, 0, 2);
	tcase_add_loop_test(tests, part_stays_without_a_request, 0, 2);
	tcase_add_test(tests, finisher_is_killed);
	tcase_add_test(tests, terminal_signals_are_ignored);
	tcase_add_test(tests, helper_that_does_not_exit);
	tcase_add_test(tests, socket_of_a_killed_helper);
	suite_add_tcase(suite, tests);
	return suite;
}
