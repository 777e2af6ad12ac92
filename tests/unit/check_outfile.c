/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Output files: writes that the kernel interrupts or cuts short, a .part that is lost, and files that other users put
 * in the path of an output. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/outfile.h"
#include "libvgctl/vgctl.h"
#include "profile/writer.h"
#include "tests/unit/suites.h"
#include "tests/unit/recorded.h"

enum { PATTERN_BYTES = 4 << 20 };

static volatile sig_atomic_t signals_received;

static void on_alarm(int number)
{
	(void)number;
	signals_received++;
}

/* Sends SIGALRM to this process every 2 ms, which interrupts waits. */
static void signals_start(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } };

	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
}

static void signals_stop(void)
{
	struct itimerval never = { 0 };

	setitimer(ITIMER_REAL, &never, NULL);
}

static unsigned char *pattern_make(void)
{
	unsigned char *bytes = malloc(PATTERN_BYTES);

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < PATTERN_BYTES; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
	return bytes;
}

/* A process that reads a pipe slowly and compares the bytes. Its exit status is 0 if they are right and complete. */
static pid_t reader_start(int pipe_ends[2], const unsigned char *expected)
{
	pid_t reader = fork();
	static unsigned char piece[40000];
	size_t at = 0;
	ssize_t read_bytes;

	if (reader != 0)
		return reader;
	close(pipe_ends[1]);
	while ((read_bytes = read(pipe_ends[0], piece, sizeof piece)) > 0) {
		if (at + (size_t)read_bytes > PATTERN_BYTES || memcmp(piece, expected + at, (size_t)read_bytes) != 0)
			_exit(1);
		at += (size_t)read_bytes;
		usleep(5000);
	}
	_exit(at == PATTERN_BYTES ? 0 : 2);
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
	signals_received = 0;
	signals_start();
	ck_assert_int_eq(vg_write_all(ends[1], bytes, PATTERN_BYTES), 0);
	signals_stop();
	close(ends[1]);
	while (waitpid(reader, &status, 0) < 0)
		ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(status, 0);
	ck_assert_int_ge(signals_received, 10);
	free(bytes);
}

/* A signal interrupts a write into a full pipe. The write then returns the part that it wrote, or fails with EINTR. */
START_TEST(writes_cut_short_by_signals)
{
	write_through_pipe(0);
}
END_TEST

START_TEST(writes_to_a_nonblocking_pipe)
{
	write_through_pipe(O_NONBLOCK);
}
END_TEST

START_TEST(write_errors)
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

/* A writer that fails in a file with earlier contents removes only its unfinished chunk. It writes the end record if
 * there is space for it. */
static void write_until_limit(const char *before, int flags)
{
	char path[] = "check_outfile.XXXXXX", kept_text[64] = "";
	struct vg_writer_header header = { .mode = "wall", .writer = "test", .arch = "x", .program = "p" };
	struct vg_named_value none = { "samples", 0 };
	int file_fd = mkstemp(path), fd = open(path, O_RDWR | flags);
	struct vg_writer writer;
	struct rlimit limit = { 3000, RLIM_INFINITY }, no_limit = { RLIM_INFINITY, RLIM_INFINITY };
	size_t length = strlen(before);

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(write(file_fd, before, length), (ssize_t)length);
	if (flags == 0)
		lseek(fd, 0, SEEK_END);
	vg_writer_open(&writer, fd, 0);
	ck_assert_int_eq(vg_writer_header(&writer, &header), 0);
	ck_assert_int_eq(vg_writer_flush(&writer), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (uint32_t i = 0; i < 3000; i++)
		vg_writer_stack(&writer, VG_STACK_ROOTS + i, 0, VG_NONE, i, VG_FOUND_BY_CFI);
	ck_assert_int_eq(vg_writer_flush(&writer), -EFBIG);
	ck_assert_int_eq(vg_writer_unresolved(&writer, 0), -EFBIG);
	ck_assert_int_eq(vg_writer_end(&writer, "no room", 5000, &none, 1), -EFBIG);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &no_limit), 0);
	ck_assert_int_eq(lseek(file_fd, 0, SEEK_END), (off_t)(length + writer.file_bytes));
	ck_assert_int_eq(pread(file_fd, kept_text, length, 0), (ssize_t)length);
	ck_assert_str_eq(kept_text, before);
	if (length == 0) {
		struct recorded recorded;

		recorded_read(&recorded, path);
		ck_assert_uint_eq(recorded.profile.damaged_bytes, 0);
		ck_assert_str_eq(vg_profile_text(&recorded.profile, recorded.profile.end_reason), "no room");
		recorded_free(&recorded);
	}
	vg_writer_close(&writer);
	close(fd);
	close(file_fd);
	unlink(path);
}

START_TEST(failure_keeps_earlier_contents)
{
	write_until_limit("", 0);
	write_until_limit("what others wrote\n", 0);
	write_until_limit("what others wrote\n", O_APPEND);
}
END_TEST

/* ---- each test has a directory of its own ---- */

enum { OTHER = 65533, ORDINARY = 65532 };

static char directory[] = "/tmp/check_outfile.XXXXXX";
static int previous_directory;

static void directory_enter(void)
{
	previous_directory = open(".", O_PATH | O_CLOEXEC);
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chdir(directory), 0);
}

static void directory_leave(void)
{
	static const char *const names[] = { "out", "out.part", "first", "second", "kept", "mine" };

	rmdir("out.part");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unlink(names[i]);
	ck_assert_int_eq(fchdir(previous_directory), 0);
	close(previous_directory);
	ck_assert_int_eq(rmdir(directory), 0);
}

/* A directory like /tmp: every user can write to it, and only its owner can remove a file. */
static void shared_directory_enter(void)
{
	directory_enter();
	ck_assert_int_eq(chmod(directory, 01777), 0);
	umask(0);
}

static void shared_directory_leave(void)
{
	ck_assert_int_eq(seteuid(0), 0);
	directory_leave();
}

/* Acts as that user from now on. */
static void act_as_user(uid_t user)
{
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(seteuid(user), 0);
}

static void file_make(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* ---- a lost .part ---- */

/* What happened to the .part: removed, replaced by another file, moved, replaced by a link, replaced by a directory. */
enum { PART_REMOVED, PART_REPLACED, PART_MOVED, PART_LINKED, PART_DIRECTORY, PART_LOSSES };

static void part_lose(int loss)
{
	if (loss == PART_MOVED)
		ck_assert_int_eq(rename("out.part", "mine"), 0);
	else
		ck_assert_int_eq(unlink("out.part"), 0);
	if (loss == PART_REPLACED)
		file_make("out.part", "theirs");
	else if (loss == PART_LINKED)
		ck_assert_int_eq(symlink("kept", "out.part"), 0);
	else if (loss == PART_DIRECTORY)
		ck_assert_int_eq(mkdir("out.part", 0700), 0);
}

static void outfile_begin(struct vg_outfile *file, const unsigned char *bytes)
{
	struct vg_err err;

	ck_assert_msg(vg_outfile_open(file, "out", &err) == 0, "%s", err.text);
	ck_assert_int_eq(vg_write_all(file->fd, bytes, PATTERN_BYTES), 0);
}

/* The number of files in this directory, without `.` and `..`. */
static int files_count(void)
{
	DIR *here = opendir(".");
	int count = -2;

	while (readdir(here) != NULL)
		count++;
	closedir(here);
	return count;
}

/* The profile replaces an older file of its name. Another file with the name of the .part stays. */
START_TEST(lost_part_is_kept)
{
	unsigned char *bytes = pattern_make(), *read_back = malloc(PATTERN_BYTES + 1);
	struct vg_outfile file;
	struct vg_err err;
	struct stat status;
	int fd;

	file_make("out", "older");
	outfile_begin(&file, bytes);
	part_lose(_i);
	ck_assert_msg(vg_outfile_commit(&file, &err) == 0, "%d: %s", _i, err.text);
	fd = open("out", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(fstat(fd, &status), 0);
	ck_assert_int_eq(status.st_mode, S_IFREG | 0600);
	ck_assert_int_eq(read(fd, read_back, PATTERN_BYTES + 1), PATTERN_BYTES);
	ck_assert_mem_eq(read_back, bytes, PATTERN_BYTES);
	close(fd);
	ck_assert_int_eq(files_count(), _i == PART_REMOVED ? 1 : 2);
	if (_i == PART_REPLACED) {
		ck_assert_int_eq(stat("out.part", &status), 0);
		ck_assert_int_eq(status.st_size, 6);
	}
	free(bytes);
	free(read_back);
}
END_TEST

START_TEST(lost_part_is_not_removed)
{
	unsigned char *bytes = pattern_make();
	struct vg_outfile file;

	outfile_begin(&file, bytes);
	part_lose(_i);
	vg_outfile_abandon(&file);
	ck_assert_int_eq(files_count(), _i == PART_REMOVED ? 0 : 1);
	free(bytes);
}
END_TEST

/* A writer's .part is lost, and another writer begins a new one. The other writer keeps its .part. The copy of the lost
 * .part gets a name that is not in use. */
START_TEST(lost_part_beside_another_writer)
{
	unsigned char *bytes = pattern_make();
	struct vg_outfile file, other;
	struct vg_err err;

	outfile_begin(&file, bytes);
	part_lose(PART_REMOVED);
	file_make("out.part.1", "theirs");
	outfile_begin(&other, bytes);
	ck_assert_msg(vg_outfile_commit(&file, &err) == 0, "%s", err.text);
	ck_assert_int_eq(files_count(), 3);
	ck_assert_msg(vg_outfile_commit(&other, &err) == 0, "%s", err.text);
	ck_assert_int_eq(files_count(), 2);
	ck_assert_int_eq(unlink("out.part.1"), 0);
	free(bytes);
}
END_TEST

START_TEST(lost_directory)
{
	unsigned char *bytes = pattern_make();
	struct vg_outfile file;
	struct vg_err err;

	ck_assert_int_eq(mkdir("mine", 0700), 0);
	ck_assert_int_eq(vg_outfile_open(&file, "mine/out", &err), 0);
	ck_assert_int_eq(unlink("mine/out.part"), 0);
	ck_assert_int_eq(rmdir("mine"), 0);
	ck_assert_int_eq(vg_outfile_commit(&file, &err), -ENOENT);
	ck_assert_str_eq(err.text, "mine/out.part was removed or replaced, and its data cannot be saved as mine/out: "
			 "No such file or directory");
	free(bytes);
}
END_TEST

/* If the copy would be larger than RLIMIT_FSIZE allows, it is not begun, and the process gets no SIGXFSZ. */
START_TEST(lost_part_above_the_limit)
{
	unsigned char *bytes = pattern_make();
	struct rlimit before, limit;
	struct vg_outfile file;
	struct vg_err err;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	outfile_begin(&file, bytes);
	part_lose(PART_REMOVED);
	limit = (struct rlimit){ PATTERN_BYTES - 1, before.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(vg_outfile_commit(&file, &err), -EFBIG);
	ck_assert_int_eq(files_count(), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	/* A copy that is exactly as large as the limit is made. */
	outfile_begin(&file, bytes);
	part_lose(PART_REMOVED);
	limit.rlim_cur = PATTERN_BYTES;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(vg_outfile_commit(&file, &err), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	ck_assert_int_eq(files_count(), 1);
	free(bytes);
}
END_TEST

/* The .part of a session is lost. The session's helper handles it. */
START_TEST(lost_part_of_a_session)
{
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	struct recorded recorded;

	ck_assert_int_eq(vgctl_begin("out", NULL, &session), 0);
	/* A busy machine may lose samples, but not all of these. */
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(vgctl_sample(session), 0);
	part_lose(_i);
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	recorded_read(&recorded, "out");
	ck_assert_uint_eq(recorded.profile.samples_total, summary.samples);
	ck_assert_uint_gt(summary.samples, 0);
	ck_assert_uint_ne(recorded.profile.end_reason, VG_NONE);
	recorded_free(&recorded);
}
END_TEST

/* ---- files of other users ---- */

/* Makes a pipe, opens it for reading, and returns the descriptor. */
static int fifo_make(const char *name)
{
	int reader;

	ck_assert_int_eq(mkfifo(name, 0666), 0);
	reader = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(reader, 0);
	return reader;
}

static bool is_empty(int reader)
{
	char byte;

	return read(reader, &byte, 1) <= 0;
}

/* vg_outfile_open() must fail with that code and a text that contains these words, and must begin no .part. */
static void expect_refused(const char *path, int code, const char *words)
{
	struct vg_outfile file;
	struct vg_err err = { "" };
	int rc = vg_outfile_open(&file, path, &err);

	if (rc == 0)
		vg_outfile_abandon(&file);
	ck_assert_msg(rc == code, "%s, uid %d: %d (%s), not %d", path, (int)geteuid(), rc, err.text, code);
	ck_assert_msg(strstr(err.text, words) != NULL && strstr(err.text, path) != NULL,
		      "%s, uid %d: \"%s\" has no \"%s\"", path, (int)geteuid(), err.text, words);
}

static void expect_refused_for_both(const char *path, int code, const char *words)
{
	static const uid_t users[] = { 0, ORDINARY };

	for (size_t i = 0; i < 2; i++) {
		act_as_user(users[i]);
		expect_refused(path, code, words);
	}
	act_as_user(0);
}

/* vg_outfile_open() must open the file. `in_place`: the file must be written in place; otherwise as a .part. */
static void expect_opened(const char *path, bool in_place)
{
	struct vg_outfile file;
	struct vg_err err;
	int rc = vg_outfile_open(&file, path, &err);

	ck_assert_msg(rc == 0, "%s, uid %d: %s", path, (int)geteuid(), rc != 0 ? err.text : "");
	ck_assert_int_eq(file.in_place, in_place);
	ck_assert_int_eq(fcntl(file.fd, F_GETFL) & O_NONBLOCK, 0);
	vg_outfile_abandon(&file);
}

START_TEST(fifo_of_another_user)
{
	int reader;

	act_as_user(OTHER);
	reader = fifo_make("out");
	expect_refused_for_both("out", -EACCES, "another user (uid 65533)");
	ck_assert(is_empty(reader));
	close(reader);
}
END_TEST

START_TEST(fifo_of_this_user_or_root)
{
	int reader = fifo_make("out"), own;

	expect_opened("out", true);
	act_as_user(ORDINARY);
	own = fifo_make("mine");
	expect_opened("out", true);
	expect_opened("mine", true);
	close(reader);
	close(own);
}
END_TEST

START_TEST(link_of_another_user)
{
	static const char *const targets[] = { "/dev/null", "/dev/stderr", "/dev/fd/2", "mine", "kept", "none" };
	int reader;

	file_make("kept", "kept");
	reader = fifo_make("mine");
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		act_as_user(OTHER);
		ck_assert_int_eq(symlink(targets[i], "out"), 0);
		expect_refused_for_both("out", -EACCES, "another user (uid 65533)");
		ck_assert_int_eq(unlink("out"), 0);
	}
	/* A link of this user that leads to another user's link is refused, too. */
	act_as_user(OTHER);
	ck_assert_int_eq(symlink("/dev/null", "second"), 0);
	act_as_user(ORDINARY);
	ck_assert_int_eq(symlink("second", "out"), 0);
	expect_refused("out", -EACCES, "another user (uid 65533)");
	close(reader);
}
END_TEST

START_TEST(own_link_to_a_fifo_of_another_user)
{
	int reader;

	act_as_user(OTHER);
	reader = fifo_make("first");
	act_as_user(ORDINARY);
	ck_assert_int_eq(symlink("first", "out"), 0);
	expect_refused("out", -EACCES, "another user (uid 65533)");
	ck_assert(is_empty(reader));
	close(reader);
}
END_TEST

/* Links to a device, to nothing, to a file, which stays as it is, and to themselves. Some are relative, and one leads
 * to another link. */
START_TEST(own_links)
{
	struct stat status;

	act_as_user(ORDINARY);
	ck_assert_int_eq(symlink("/dev/null", "first"), 0);
	ck_assert_int_eq(symlink("./first", "out"), 0);
	expect_opened("first", true);
	expect_opened("out", true);
	ck_assert_int_eq(unlink("out"), 0);
	ck_assert_int_eq(symlink("none", "out"), 0);
	expect_opened("out", false);
	ck_assert_int_eq(unlink("out"), 0);
	ck_assert_int_eq(symlink("out", "out"), 0);
	expect_opened("out", false);
	ck_assert_int_eq(unlink("out"), 0);
	file_make("kept", "kept");
	ck_assert_int_eq(symlink("kept", "out"), 0);
	expect_opened("out", false);
	ck_assert_int_eq(stat("kept", &status), 0);
	ck_assert_int_eq(status.st_size, 4);
}
END_TEST

/* Files that the parent process opened, such as the pipe of a shell's >(command), may belong to any user. */
START_TEST(descriptors_of_this_process)
{
	int ends[2], saved, file;
	char path[64];
	struct stat status;

	act_as_user(OTHER);
	ck_assert_int_eq(pipe(ends), 0);
	act_as_user(0);
	snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
	expect_opened(path, true);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
	expect_opened(path, true);
	saved = dup(STDOUT_FILENO);
	ck_assert_int_eq(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	expect_opened("/dev/stdout", true);
	file_make("kept", "kept");
	file = open("kept", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(dup2(file, STDOUT_FILENO), STDOUT_FILENO);
	expect_opened("/dev/stdout", true);
	ck_assert_int_eq(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	ck_assert_int_eq(fstat(file, &status), 0);
	ck_assert_int_eq(status.st_size, 4);
	expect_opened("/dev/null", true);
	close(file);
	close(saved);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* No driver has this number, so the test does no harm if the device is opened. */
START_TEST(block_device)
{
	ck_assert_int_eq(mknod("out", S_IFBLK | 0666, makedev(250, 250)), 0);
	expect_refused_for_both("out", -EINVAL, "not a file, pipe or character device");
	expect_refused("./", -EISDIR, "Is a directory");
}
END_TEST

START_TEST(part_of_another_user)
{
	int fd;

	act_as_user(OTHER);
	file_make("out.part", "theirs");
	fd = open("out.part", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	act_as_user(0);
	expect_refused("out", -EBUSY, "another user (uid 65533)");
	act_as_user(ORDINARY);
	expect_refused("out", -EBUSY, "another user (uid 65533)");
	/* A user who can write to another user's .part may not remove it. */
	close(fd);
	expect_refused("out", -EACCES, "another user (uid 65533)");
	/* A user who cannot write to it may not remove it either. */
	act_as_user(OTHER);
	ck_assert_int_eq(chmod("out.part", 0600), 0);
	act_as_user(ORDINARY);
	expect_refused("out", -EACCES, "another user (uid 65533)");
	/* Root may remove it. */
	act_as_user(0);
	expect_opened("out", false);
}
END_TEST

START_TEST(part_that_is_not_a_file)
{
	int reader;

	act_as_user(OTHER);
	reader = fifo_make("out.part");
	expect_refused_for_both("out", -EEXIST, "not a regular file");
	ck_assert_int_eq(access("out.part", F_OK), 0);
	close(reader);
	act_as_user(OTHER);
	ck_assert_int_eq(unlink("out.part"), 0);
	ck_assert_int_eq(symlink("kept", "out.part"), 0);
	expect_refused_for_both("out", -EEXIST, "not a regular file");
	ck_assert_int_ne(access("kept", F_OK), 0);
}
END_TEST

/* ---- races ---- */

/* Opens `out` and exits with 0 if it was written in place, 1 if it is a new file, 2 if it was refused. */
static void traced_open(void)
{
	struct vg_outfile file;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	if (vg_outfile_open(&file, "out", NULL) != 0)
		_exit(2);
	if (!file.in_place) {
		vg_outfile_abandon(&file);
		_exit(1);
	}
	_exit(vg_write_all(file.fd, "profile", 7) == 0 ? 0 : 3);
}

/* True if the process, which is stopped at the entry of a system call, is about to open `out` itself for writing. */
static bool is_opening(pid_t child)
{
	struct __ptrace_syscall_info call = { 0 };

	return ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof call, &call) > 0 &&
	       call.op == PTRACE_SYSCALL_INFO_ENTRY && call.entry.nr == SYS_openat &&
	       (call.entry.args[2] & (O_ACCMODE | O_PATH)) == O_WRONLY;
}

/* Replaces `out` by `first` after vg_outfile_open() has checked it, and returns the exit status of traced_open(). */
static int open_with_replacement(void)
{
	pid_t child = fork();
	bool replaced = false;
	int status;

	if (child == 0)
		traced_open();
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD), 0);
	while (!WIFEXITED(status)) {
		ck_assert(WIFSTOPPED(status));
		if (!replaced && is_opening(child)) {
			ck_assert_int_eq(rename("first", "out"), 0);
			replaced = true;
		}
		ck_assert_int_eq(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
		ck_assert_int_eq(waitpid(child, &status, 0), child);
	}
	ck_assert(replaced);
	return WEXITSTATUS(status);
}

/* `out` is replaced after it was checked and before it is opened. */
START_TEST(replaced_before_it_is_opened)
{
	int reader = fifo_make("out"), others_reader;
	struct stat status;

	/* by a file */
	file_make("kept", "kept");
	ck_assert_int_eq(link("kept", "first"), 0);
	ck_assert_int_eq(open_with_replacement(), 2);
	ck_assert_int_eq(unlink("out"), 0);
	close(reader);
	/* by a link to that file */
	reader = fifo_make("out");
	ck_assert_int_eq(symlink("kept", "first"), 0);
	ck_assert_int_eq(open_with_replacement(), 2);
	ck_assert_int_eq(unlink("out"), 0);
	close(reader);
	ck_assert_int_eq(stat("kept", &status), 0);
	ck_assert_int_eq(status.st_size, 4);
	/* by another user's pipe */
	reader = fifo_make("out");
	act_as_user(OTHER);
	others_reader = fifo_make("first");
	act_as_user(0);
	ck_assert_int_eq(open_with_replacement(), 2);
	ck_assert(is_empty(others_reader));
	close(others_reader);
	close(reader);
}
END_TEST

/* Three files take turns at one path: a pipe of root, a file of root and a pipe of another user. */
START_TEST(replaced_continually)
{
	int readers[2] = { fifo_make("out"), -1 };
	pid_t swapper;
	int status;

	file_make("first", "kept");
	act_as_user(OTHER);
	readers[1] = fifo_make("second");
	act_as_user(0);
	swapper = fork();
	if (swapper == 0) {
		for (;;) {
			syscall(SYS_renameat2, AT_FDCWD, "out", AT_FDCWD, "first", 2 /* RENAME_EXCHANGE */);
			syscall(SYS_renameat2, AT_FDCWD, "out", AT_FDCWD, "second", 2);
		}
	}
	for (int i = 0; i < 20000; i++) {
		struct vg_outfile file;

		if (vg_outfile_open(&file, "out", NULL) != 0)
			continue;
		if (file.in_place) {
			struct stat opened_file;

			ck_assert_int_eq(fstat(file.fd, &opened_file), 0);
			ck_assert_msg(S_ISFIFO(opened_file.st_mode) && opened_file.st_uid == 0,
				      "round %d: mode %o, uid %d", i, opened_file.st_mode, (int)opened_file.st_uid);
		}
		vg_outfile_abandon(&file);
	}
	kill(swapper, SIGKILL);
	ck_assert_int_eq(waitpid(swapper, &status, 0), swapper);
	ck_assert(is_empty(readers[1]));
	close(readers[0]);
	close(readers[1]);
}
END_TEST

/* reported as skipped, instead of the tests that need root */
START_TEST(other_users)
{
}
END_TEST

Suite *outfile_suite(void)
{
	Suite *suite = suite_create("outfile");
	TCase *tests = tcase_create("writing");

	tcase_add_test(tests, writes_cut_short_by_signals);
	tcase_add_test(tests, writes_to_a_nonblocking_pipe);
	tcase_add_test(tests, write_errors);
	tcase_add_test(tests, failure_keeps_earlier_contents);
	suite_add_tcase(suite, tests);
	tests = tcase_create("lost");
	tcase_add_checked_fixture(tests, directory_enter, directory_leave);
	tcase_add_loop_test(tests, lost_part_is_kept, 0, PART_LOSSES);
	tcase_add_loop_test(tests, lost_part_is_not_removed, 0, PART_LOSSES);
	tcase_add_test(tests, lost_part_beside_another_writer);
	tcase_add_test(tests, lost_directory);
	tcase_add_test(tests, lost_part_above_the_limit);
	tcase_add_loop_test(tests, lost_part_of_a_session, 0, PART_LOSSES);
	suite_add_tcase(suite, tests);
	if (geteuid() != 0) {
		tests = tcase_create("others # SKIP not root");
		tcase_add_test(tests, other_users);
		suite_add_tcase(suite, tests);
		return suite;
	}
	tests = tcase_create("others");
	tcase_add_checked_fixture(tests, shared_directory_enter, shared_directory_leave);
	tcase_add_test(tests, fifo_of_another_user);
	tcase_add_test(tests, fifo_of_this_user_or_root);
	tcase_add_test(tests, link_of_another_user);
	tcase_add_test(tests, own_link_to_a_fifo_of_another_user);
	tcase_add_test(tests, own_links);
	tcase_add_test(tests, descriptors_of_this_process);
	tcase_add_test(tests, block_device);
	tcase_add_test(tests, part_of_another_user);
	tcase_add_test(tests, part_that_is_not_a_file);
	tcase_add_test(tests, replaced_before_it_is_opened);
	tcase_add_test(tests, replaced_continually);
	suite_add_tcase(suite, tests);
	return suite;
}
