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
#include "vgtool/commands/symbol_saver.h"
#include "vgtool/run/workers.h"

enum { JOBS = 12, CRASHING_JOB = 3, HANGING_JOB = 5, KILLED_JOB = 8, COMPLAINING_JOB = 9 };

/* The job that hangs uses 1 s of CPU time, so only one run has one. */
static bool has_hanging_job;
static size_t done_count;
static int statuses[JOBS];
static char error_texts[JOBS][320];

static int job_run(void *context, size_t number)
{
	struct timespec pause = { .tv_nsec = (JOBS - (long)number) * 5000000 };
	volatile unsigned spin = 1;

	(void)context;
	nanosleep(&pause, NULL);
	printf("job %zu\033\n", number);
	switch (number) {
	case CRASHING_JOB:
		fflush(stdout);
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
		break;
	case HANGING_JOB:
		while (has_hanging_job && spin)
			spin++, spin |= 1;
		break;
	case KILLED_JOB:
		raise(SIGKILL);
		break;
	case COMPLAINING_JOB:
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
	strcpy(error_texts[number], err->text);
}

static void run(unsigned jobs_max, const size_t *order)
{
	struct vg_workers workers = { .jobs_max = jobs_max, .cpu_seconds_max = 1, .count = JOBS,
				      .order = order, .run = job_run, .done = job_done };
	struct vg_err err;

	done_count = 0;
	ck_assert_int_eq(vg_workers_run(&workers, &err), 0);
	ck_assert_uint_eq(done_count, JOBS);
}

START_TEST(failed_jobs_do_not_harm_others)
{
	size_t order[JOBS];
	char text[4096] = "", line[32];
	FILE *out = tmpfile();
	int standard_output = dup(STDOUT_FILENO);
	size_t at = 0;

	ck_assert_ptr_nonnull(out);
	for (size_t i = 0; i < JOBS; i++)
		order[i] = JOBS - 1 - i;
	has_hanging_job = _i == 2;
	fflush(stdout);
	ck_assert_int_ge(dup2(fileno(out), STDOUT_FILENO), 0);
	run(1 + (unsigned)_i * 4, _i > 1 ? order : NULL);
	fflush(stdout);
	dup2(standard_output, STDOUT_FILENO);
	ck_assert_int_gt(pread(fileno(out), text, sizeof text - 1, 0), 0);
	/* Lines are whole and in order. Output that a job had not flushed when it was killed is lost. */
	for (size_t i = 0; i < JOBS; i++) {
		int length = snprintf(line, sizeof line, "job %zu\\x1b\n", i);

		if ((i == HANGING_JOB && has_hanging_job) || i == KILLED_JOB)
			continue;
		ck_assert_msg(strncmp(text + at, line, (size_t)length) == 0, "at %zu: %s", at, text);
		at += (size_t)length;
	}
	ck_assert_int_eq(text[at], '\0');
	for (int i = 0; i < JOBS; i++)
		ck_assert_int_eq(statuses[i], i == CRASHING_JOB || (i == HANGING_JOB && has_hanging_job) ||
				 i == KILLED_JOB ? -1 : i == COMPLAINING_JOB ? 7 : 0);
	ck_assert_ptr_nonnull(strstr(error_texts[CRASHING_JOB], "crashed: Segmentation fault"));
	if (has_hanging_job)
		ck_assert_ptr_nonnull(strstr(error_texts[HANGING_JOB], "more than 1 s of CPU time"));
	ck_assert_ptr_nonnull(strstr(error_texts[KILLED_JOB], "killed"));
	fclose(out);
	close(standard_output);
}
END_TEST

START_TEST(failure_to_create_a_process)
{
	struct vg_workers workers = { .jobs_max = 2, .cpu_seconds_max = 1, .count = 1,
				      .run = job_run, .done = job_done };
	struct rlimit limit, before;
	struct vg_err err;
	int rc;

	/* Limits descriptors, because the limit of processes has no effect on root. */
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

/* Returns how many outputs of other jobs this job could write to, plus 100 if it can read a terminal. */
static int accessible_count(void *context, size_t number)
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

START_TEST(job_cannot_reach_terminal_or_other_outputs)
{
	struct vg_workers workers = { .jobs_max = 4, .cpu_seconds_max = 60, .count = JOBS,
				      .run = accessible_count, .done = job_done };
	int master = posix_openpt(O_RDWR | O_NOCTTY), standard_output = dup(STDIN_FILENO), terminal;
	struct vg_err err;

	ck_assert_int_ge(master, 0);
	ck_assert_int_eq(grantpt(master) | unlockpt(master), 0);
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	ck_assert_int_eq(dup2(terminal, STDIN_FILENO), STDIN_FILENO);
	ck_assert(isatty(STDIN_FILENO));
	done_count = 0;
	ck_assert_int_eq(vg_workers_run(&workers, &err), 0);
	dup2(standard_output, STDIN_FILENO);
	close(standard_output);
	close(terminal);
	close(master);
	for (int i = 0; i < JOBS; i++)
		ck_assert_int_eq(statuses[i], 0);
}
END_TEST

/* A file of less than four bytes is not an ELF file, even if the file before it was one. */
START_TEST(short_files_are_not_elf)
{
	static const char magic[] = "\177ELF";
	char whole[] = "check_workers.XXXXXX", cut[] = "check_workers.XXXXXX";
	int of_whole = mkstemp(whole), of_cut = mkstemp(cut);
	struct vg_symbol_saver saver = { 0 };

	ck_assert_int_eq(write(of_whole, magic, 4), 4);
	for (size_t bytes = 0; bytes < 4; bytes++) {
		int rc;

		ck_assert_int_eq(pwrite(of_cut, magic, bytes, 0), (ssize_t)bytes);
		rc = vg_symbol_saver_add(&saver, whole, 4, false);
		/* No other call is made between these two, so that the stack memory of the second still holds the magic
		 * number of the first file. */
		rc |= vg_symbol_saver_add(&saver, cut, (off_t)bytes, false);
		ck_assert_int_eq(rc, 0);
	}
	ck_assert_uint_eq(saver.files.count, 4);
	vg_symbol_saver_free(&saver);
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

	tcase_add_loop_test(tests, failed_jobs_do_not_harm_others, 0, 3);
	tcase_add_test(tests, job_cannot_reach_terminal_or_other_outputs);
	tcase_add_test(tests, failure_to_create_a_process);
	tcase_add_test(tests, short_files_are_not_elf);
	suite_add_tcase(suite, tests);
	return suite;
}
