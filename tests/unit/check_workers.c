/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/suites.h"
#include "vgtool/commands/saving.h"
#include "vgtool/run/workers.h"

enum { JOBS = 12, CRASHES = 3, HANGS = 5, KILLED = 8, TALKS = 9 };

static size_t done_count;
static int statuses[JOBS];
static char sentences[JOBS][320];

static int job_run(void *context, size_t number)
{
	struct timespec pause = { .tv_nsec = (JOBS - (long)number) * 5000000 };
	volatile unsigned spin = 1;

	(void)context;
	nanosleep(&pause, NULL);
	printf("job %zu\033\n", number);
	switch (number) {
	case CRASHES:
		fflush(stdout);
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
		break;
	case HANGS:
		while (spin)
			spin++, spin |= 1;
		break;
	case KILLED:
		raise(SIGKILL);
		break;
	case TALKS:
		fprintf(stderr, "complaint\n");
		return 7;
	}
	return 0;
}

static void job_done(void *context, size_t number, int status, const struct vg_err *err)
{
	(void)context;
	ck_assert_uint_eq(number, done_count);
	done_count++;
	statuses[number] = status;
	strcpy(sentences[number], err->text);
}

static void run(unsigned at_once, const size_t *order)
{
	struct vg_workers workers = { .at_once = at_once, .cpu_seconds_max = 1, .count = JOBS,
				      .order = order, .run = job_run, .done = job_done };
	struct vg_err err;

	done_count = 0;
	ck_assert_int_eq(vg_workers_run(&workers, &err), 0);
	ck_assert_uint_eq(done_count, JOBS);
}

START_TEST(one_job_does_not_harm_the_others)
{
	size_t order[JOBS];
	char text[4096] = "", line[32];
	FILE *out = tmpfile();
	int standard = dup(STDOUT_FILENO);
	size_t at = 0;

	ck_assert_ptr_nonnull(out);
	for (size_t i = 0; i < JOBS; i++)
		order[i] = JOBS - 1 - i;
	fflush(stdout);
	ck_assert_int_ge(dup2(fileno(out), STDOUT_FILENO), 0);
	run(1 + (unsigned)_i * 4, _i > 1 ? order : NULL);
	fflush(stdout);
	dup2(standard, STDOUT_FILENO);
	ck_assert_int_gt(pread(fileno(out), text, sizeof text - 1, 0), 0);
	/* Lines are whole and in order; of those that were killed, what they had not written out is
	 * lost. */
	for (size_t i = 0; i < JOBS; i++) {
		int length = snprintf(line, sizeof line, "job %zu\\x1b\n", i);

		if (i == HANGS || i == KILLED)
			continue;
		ck_assert_msg(strncmp(text + at, line, (size_t)length) == 0, "at %zu: %s", at, text);
		at += (size_t)length;
	}
	ck_assert_int_eq(text[at], '\0');
	for (int i = 0; i < JOBS; i++)
		ck_assert_int_eq(statuses[i], i == CRASHES || i == HANGS || i == KILLED ? -1 :
				 i == TALKS ? 7 : 0);
	ck_assert_ptr_nonnull(strstr(sentences[CRASHES], "crashed: Segmentation fault"));
	ck_assert_ptr_nonnull(strstr(sentences[HANGS], "given up after 1 second"));
	ck_assert_ptr_nonnull(strstr(sentences[KILLED], "killed"));
	fclose(out);
	close(standard);
}
END_TEST

START_TEST(says_when_there_can_be_no_process)
{
	struct vg_workers workers = { .at_once = 2, .cpu_seconds_max = 1, .count = 1,
				      .run = job_run, .done = job_done };
	struct rlimit limit, before;
	struct vg_err err;
	int rc;

	/* Descriptors, because root may have as many processes as it likes. */
	done_count = 0;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = (struct rlimit){ 3, before.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	rc = vg_workers_run(&workers, &err);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(rc, -EMFILE);
	ck_assert_uint_eq(done_count, 0);
	ck_assert_ptr_nonnull(strstr(err.text, "process"));
	workers.count = 0;
	ck_assert_int_eq(vg_workers_run(&workers, &err), 0);
	ck_assert_uint_ge(vg_workers_cpus(), 1);
}
END_TEST

/* How many outputs of jobs it could write beside its own; 100 more if it can read a terminal. */
static int job_looks(void *context, size_t number)
{
	struct timespec pause = { .tv_nsec = 20000000 };
	int found = isatty(STDIN_FILENO) ? 100 : 0;
	char path[32], target[32];

	(void)context, (void)number;
	nanosleep(&pause, NULL);
	for (int fd = STDERR_FILENO + 1; fd < 64; fd++) {
		ssize_t length;

		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		length = readlink(path, target, sizeof target);
		found += length > 0 && strncmp(target, "/memfd:output", 13) == 0;
	}
	return found;
}

START_TEST(job_has_neither_a_terminal_nor_the_output_of_another)
{
	struct vg_workers workers = { .at_once = 4, .cpu_seconds_max = 60, .count = JOBS,
				      .run = job_looks, .done = job_done };
	int master = posix_openpt(O_RDWR | O_NOCTTY), standard = dup(STDIN_FILENO), terminal;
	struct vg_err err;

	ck_assert_int_ge(master, 0);
	ck_assert_int_eq(grantpt(master) | unlockpt(master), 0);
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	ck_assert_int_eq(dup2(terminal, STDIN_FILENO), STDIN_FILENO);
	ck_assert(isatty(STDIN_FILENO));
	done_count = 0;
	ck_assert_int_eq(vg_workers_run(&workers, &err), 0);
	dup2(standard, STDIN_FILENO);
	close(standard);
	close(terminal);
	close(master);
	for (int i = 0; i < JOBS; i++)
		ck_assert_int_eq(statuses[i], 0);
}
END_TEST

/* A file that ends before its fourth byte is none, whatever was read before it. */
START_TEST(short_files_are_no_elf)
{
	static const char magic[] = "\177ELF";
	char whole[] = "check_workers.XXXXXX", cut[] = "check_workers.XXXXXX";
	int of_whole = mkstemp(whole), of_cut = mkstemp(cut);
	struct vg_saving saving = { 0 };

	ck_assert_int_eq(write(of_whole, magic, 4), 4);
	for (size_t bytes = 0; bytes < 4; bytes++) {
		int rc;

		ck_assert_int_eq(pwrite(of_cut, magic, bytes, 0), (ssize_t)bytes);
		/* One call behind the other: on the stack stands what the first has read. */
		rc = vg_saving_add(&saving, whole, 4, false) | vg_saving_add(&saving, cut, (off_t)bytes, false);
		ck_assert_int_eq(rc, 0);
	}
	ck_assert_uint_eq(saving.files.count, 4);
	vg_saving_free(&saving);
	close(of_whole);
	close(of_cut);
	unlink(whole);
	unlink(cut);
}
END_TEST

Suite *workers_suite(void)
{
	Suite *suite = suite_create("workers");
	TCase *tests = tcase_create("workers");

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, one_job_does_not_harm_the_others, 0, 3);
	tcase_add_test(tests, job_has_neither_a_terminal_nor_the_output_of_another);
	tcase_add_test(tests, says_when_there_can_be_no_process);
	tcase_add_test(tests, short_files_are_no_elf);
	suite_add_tcase(suite, tests);
	return suite;
}
