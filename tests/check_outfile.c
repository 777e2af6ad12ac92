/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writing where the kernel takes less than it was given, or nothing yet. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/outfile.h"
#include "profile/writer.h"
#include "tests/suites.h"
#include "tests/taken.h"

enum { MUCH_BYTES = 4 << 20 };

static volatile sig_atomic_t interrupted;

static void on_alarm(int number)
{
	(void)number;
	interrupted++;
}

/* Interrupts whatever waits, every 2 ms. */
static void interrupts_start(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } };

	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
}

static void interrupts_stop(void)
{
	struct itimerval never = { 0 };

	setitimer(ITIMER_REAL, &never, NULL);
}

static unsigned char *pattern_make(void)
{
	unsigned char *bytes = malloc(MUCH_BYTES);

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < MUCH_BYTES; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
	return bytes;
}

/* A slow reader of a pipe, which checks what it gets; its exit status is 0 if that is all right. */
static pid_t reader_start(int pipe_ends[2], const unsigned char *expected)
{
	pid_t reader = fork();
	static unsigned char piece[40000];
	size_t at = 0;
	ssize_t got;

	if (reader != 0)
		return reader;
	close(pipe_ends[1]);
	while ((got = read(pipe_ends[0], piece, sizeof piece)) > 0) {
		if (at + (size_t)got > MUCH_BYTES || memcmp(piece, expected + at, (size_t)got) != 0)
			_exit(1);
		at += (size_t)got;
		usleep(5000);
	}
	_exit(at == MUCH_BYTES ? 0 : 2);
}

static void write_through_pipe(int flags)
{
	unsigned char *bytes = pattern_make();
	int ends[2], status;
	pid_t reader;

	ck_assert_int_eq(pipe2(ends, flags), 0);
	fcntl(ends[0], F_SETFL, 0);
	reader = reader_start(ends, bytes);
	close(ends[0]);
	interrupted = 0;
	interrupts_start();
	ck_assert_int_eq(vg_write_all(ends[1], bytes, MUCH_BYTES), 0);
	interrupts_stop();
	close(ends[1]);
	while (waitpid(reader, &status, 0) < 0)
		ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(status, 0);
	ck_assert_int_ge(interrupted, 10);
	free(bytes);
}

/* A write into a full pipe that a signal interrupts has written a part, or returns EINTR. */
START_TEST(interrupted_and_short_writes)
{
	write_through_pipe(0);
}
END_TEST

START_TEST(pipe_that_would_not_wait)
{
	write_through_pipe(O_NONBLOCK);
}
END_TEST

START_TEST(reader_gone)
{
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe(ends), 0);
	close(ends[0]);
	ck_assert_int_eq(vg_write_all(ends[1], "x", 1), -EPIPE);
	ck_assert_int_eq(vg_write_all(-1, "x", 1), -EBADF);
	close(ends[1]);
}
END_TEST

/* Of a file that had something in it already, a failure takes away what was begun and no more;
 * and the end is written where there is still room for it. */
static void cut_after(const char *before, int flags)
{
	char path[] = "check_outfile.XXXXXX", kept[64] = "";
	struct vg_writer_header header = { .mode = "wall", .writer = "test", .arch = "x", .program = "p" };
	struct vg_named none = { "samples", 0 };
	int made = mkstemp(path), fd = open(path, O_RDWR | flags);
	struct vg_writer writer;
	struct rlimit limit = { 3000, RLIM_INFINITY }, no_limit = { RLIM_INFINITY, RLIM_INFINITY };
	size_t length = strlen(before);

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(write(made, before, length), (ssize_t)length);
	if (flags == 0)
		lseek(fd, 0, SEEK_END);
	vg_writer_open(&writer, fd, 0);
	ck_assert_int_eq(vg_writer_header(&writer, &header), 0);
	ck_assert_int_eq(vg_writer_flush(&writer), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (uint32_t i = 0; i < 3000; i++)
		vg_writer_stack(&writer, VG_STACK_ROOTS + i, 0, VG_NONE, i, VG_FOUND_CFI);
	ck_assert_int_eq(vg_writer_flush(&writer), -EFBIG);
	ck_assert_int_eq(vg_writer_unresolved(&writer, 0), -EFBIG);
	ck_assert_int_eq(vg_writer_end(&writer, "no room", 5000, &none, 1), -EFBIG);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &no_limit), 0);
	ck_assert_int_eq(lseek(made, 0, SEEK_END), (off_t)(length + writer.file_bytes));
	ck_assert_int_eq(pread(made, kept, length, 0), (ssize_t)length);
	ck_assert_str_eq(kept, before);
	if (length == 0) {
		struct taken taken;

		taken_read(&taken, path);
		ck_assert_uint_eq(taken.profile.damaged_bytes, 0);
		ck_assert_str_eq(vg_profile_text(&taken.profile, taken.profile.end_reason), "no room");
		taken_free(&taken);
	}
	vg_writer_close(&writer);
	close(fd);
	close(made);
	unlink(path);
}

START_TEST(failure_leaves_what_was_there)
{
	cut_after("", 0);
	cut_after("what others wrote\n", 0);
	cut_after("what others wrote\n", O_APPEND);
}
END_TEST

Suite *outfile_suite(void)
{
	Suite *suite = suite_create("outfile");
	TCase *tests = tcase_create("writing");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, interrupted_and_short_writes);
	tcase_add_test(tests, pipe_that_would_not_wait);
	tcase_add_test(tests, reader_gone);
	tcase_add_test(tests, failure_leaves_what_was_there);
	suite_add_tcase(suite, tests);
	return suite;
}
