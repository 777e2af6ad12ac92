/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writing where the kernel takes less than it was given, or nothing yet; and where others can put something into
 * the way of an output. */
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
#include "tests/spin.h"
#include "tests/unit/suites.h"
#include "tests/unit/taken.h"

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

/* ---- a directory of its own for each test ---- */

enum { OTHER = 65534, ORDINARY = 65533 };

static char directory[] = "/tmp/check_outfile.XXXXXX";
static int back;

static void directory_enter(void)
{
	back = open(".", O_PATH | O_CLOEXEC);
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chdir(directory), 0);
}

static void directory_leave(void)
{
	static const char *const names[] = { "out", "out.part", "first", "second", "kept", "mine" };

	rmdir("out.part");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unlink(names[i]);
	ck_assert_int_eq(fchdir(back), 0);
	close(back);
	ck_assert_int_eq(rmdir(directory), 0);
}

/* One that all may write to, and whose files are their owners' to remove. */
static void shared_enter(void)
{
	directory_enter();
	ck_assert_int_eq(chmod(directory, 01777), 0);
	umask(0);
}

static void shared_leave(void)
{
	ck_assert_int_eq(seteuid(0), 0);
	directory_leave();
}

/* As that user, for what follows. */
static void become(uid_t user)
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

/* ---- a .part that is no longer there ---- */

/* Of a .part that was removed, replaced by another file, moved, or replaced by a link or a directory. */
enum { GONE_REMOVED, GONE_REPLACED, GONE_MOVED, GONE_LINKED, GONE_DIRECTORY, GONE_KINDS };

static void part_lose(int kind)
{
	if (kind == GONE_MOVED)
		ck_assert_int_eq(rename("out.part", "mine"), 0);
	else
		ck_assert_int_eq(unlink("out.part"), 0);
	if (kind == GONE_REPLACED)
		file_make("out.part", "theirs");
	else if (kind == GONE_LINKED)
		ck_assert_int_eq(symlink("kept", "out.part"), 0);
	else if (kind == GONE_DIRECTORY)
		ck_assert_int_eq(mkdir("out.part", 0700), 0);
}

static void own_open(struct vg_outfile *file, const unsigned char *bytes)
{
	struct vg_err err;

	ck_assert_msg(vg_outfile_open(file, "out", &err) == 0, "%s", err.text);
	ck_assert_int_eq(vg_write_all(file->fd, bytes, MUCH_BYTES), 0);
}

/* Files in this directory, `.` and `..` left out. */
static int files_count(void)
{
	DIR *here = opendir(".");
	int count = -2;

	while (readdir(here) != NULL)
		count++;
	closedir(here);
	return count;
}

/* What was written gets its name, in the place of an older file; what has the name of the .part stays. */
START_TEST(lost_part_is_kept)
{
	unsigned char *bytes = pattern_make(), *read_back = malloc(MUCH_BYTES + 1);
	struct vg_outfile file;
	struct vg_err err;
	struct stat status;
	int fd;

	file_make("out", "older");
	own_open(&file, bytes);
	part_lose(_i);
	ck_assert_msg(vg_outfile_commit(&file, &err) == 0, "%d: %s", _i, err.text);
	fd = open("out", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(fstat(fd, &status), 0);
	ck_assert_int_eq(status.st_mode, S_IFREG | 0600);
	ck_assert_int_eq(read(fd, read_back, MUCH_BYTES + 1), MUCH_BYTES);
	ck_assert_mem_eq(read_back, bytes, MUCH_BYTES);
	close(fd);
	ck_assert_int_eq(files_count(), _i == GONE_REMOVED ? 1 : 2);
	if (_i == GONE_REPLACED) {
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

	own_open(&file, bytes);
	part_lose(_i);
	vg_outfile_abandon(&file);
	ck_assert_int_eq(files_count(), _i == GONE_REMOVED ? 0 : 1);
	free(bytes);
}
END_TEST

/* Another writer, which has begun since, keeps its own .part; a name that is taken is passed over. */
START_TEST(lost_part_beside_another_writer)
{
	unsigned char *bytes = pattern_make();
	struct vg_outfile file, other;
	struct vg_err err;

	own_open(&file, bytes);
	part_lose(GONE_REMOVED);
	file_make("out.part.1", "theirs");
	own_open(&other, bytes);
	ck_assert_msg(vg_outfile_commit(&file, &err) == 0, "%s", err.text);
	ck_assert_int_eq(files_count(), 3);
	ck_assert_msg(vg_outfile_commit(&other, &err) == 0, "%s", err.text);
	ck_assert_int_eq(files_count(), 2);
	ck_assert_int_eq(unlink("out.part.1"), 0);
	free(bytes);
}
END_TEST

START_TEST(lost_with_its_directory)
{
	unsigned char *bytes = pattern_make();
	struct vg_outfile file;
	struct vg_err err;

	ck_assert_int_eq(mkdir("mine", 0700), 0);
	ck_assert_int_eq(vg_outfile_open(&file, "mine/out", &err), 0);
	ck_assert_int_eq(unlink("mine/out.part"), 0);
	ck_assert_int_eq(rmdir("mine"), 0);
	ck_assert_int_eq(vg_outfile_commit(&file, &err), -ENOENT);
	ck_assert_str_eq(err.text, "mine/out.part has been removed or replaced, and cannot be written again as mine/out: "
			 "No such file or directory");
	free(bytes);
}
END_TEST

/* A copy that is larger than files may be is not begun, and no signal says so. */
START_TEST(lost_part_above_the_limit)
{
	unsigned char *bytes = pattern_make();
	struct rlimit before, limit;
	struct vg_outfile file;
	struct vg_err err;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	own_open(&file, bytes);
	part_lose(GONE_REMOVED);
	limit = (struct rlimit){ MUCH_BYTES - 1, before.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(vg_outfile_commit(&file, &err), -EFBIG);
	ck_assert_int_eq(files_count(), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	/* What just fits is copied. */
	own_open(&file, bytes);
	part_lose(GONE_REMOVED);
	limit.rlim_cur = MUCH_BYTES;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(vg_outfile_commit(&file, &err), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	ck_assert_int_eq(files_count(), 1);
	free(bytes);
}
END_TEST

/* A lost .part through the library and its helper. */
START_TEST(lost_part_of_a_session)
{
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	struct taken taken;

	ck_assert_int_eq(vgctl_begin("out", NULL, &session), 0);
	for (struct spin spin = spin_begin(200); spin_on(&spin);)
		;
	part_lose(_i);
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	taken_read(&taken, "out");
	ck_assert_uint_eq(taken.profile.samples_total, summary.samples);
	ck_assert_uint_gt(summary.samples, 0);
	ck_assert_uint_ne(taken.profile.end_reason, VG_NONE);
	taken_free(&taken);
}
END_TEST

/* ---- what others have put there ---- */

/* A pipe that somebody reads; that descriptor. */
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

/* It is refused, with that code and a sentence that has these words; and no .part is begun. */
static void refused(const char *path, int code, const char *words)
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

static void refused_by_both(const char *path, int code, const char *words)
{
	static const uid_t users[] = { 0, ORDINARY };

	for (size_t i = 0; i < 2; i++) {
		become(users[i]);
		refused(path, code, words);
	}
	become(0);
}

/* It is opened, and written in place, or not. */
static void opened(const char *path, bool in_place)
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

	become(OTHER);
	reader = fifo_make("out");
	refused_by_both("out", -EACCES, "another user (uid 65534)");
	ck_assert(is_empty(reader));
	close(reader);
}
END_TEST

START_TEST(fifo_of_this_user_or_root)
{
	int reader = fifo_make("out"), own;

	opened("out", true);
	become(ORDINARY);
	own = fifo_make("mine");
	opened("out", true);
	opened("mine", true);
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
		become(OTHER);
		ck_assert_int_eq(symlink(targets[i], "out"), 0);
		refused_by_both("out", -EACCES, "another user (uid 65534)");
		ck_assert_int_eq(unlink("out"), 0);
	}
	/* By a link of one's own, too. */
	become(OTHER);
	ck_assert_int_eq(symlink("/dev/null", "second"), 0);
	become(ORDINARY);
	ck_assert_int_eq(symlink("second", "out"), 0);
	refused("out", -EACCES, "another user (uid 65534)");
	close(reader);
}
END_TEST

/* To a pipe of another user. */
START_TEST(own_link_to_a_strangers_fifo)
{
	int reader;

	become(OTHER);
	reader = fifo_make("first");
	become(ORDINARY);
	ck_assert_int_eq(symlink("first", "out"), 0);
	refused("out", -EACCES, "another user (uid 65534)");
	ck_assert(is_empty(reader));
	close(reader);
}
END_TEST

/* To a device, to nothing, to a file, which stays as it is, to itself; relative, or by way of another. */
START_TEST(own_links)
{
	struct stat status;

	become(ORDINARY);
	ck_assert_int_eq(symlink("/dev/null", "first"), 0);
	ck_assert_int_eq(symlink("./first", "out"), 0);
	opened("first", true);
	opened("out", true);
	ck_assert_int_eq(unlink("out"), 0);
	ck_assert_int_eq(symlink("none", "out"), 0);
	opened("out", false);
	ck_assert_int_eq(unlink("out"), 0);
	ck_assert_int_eq(symlink("out", "out"), 0);
	opened("out", false);
	ck_assert_int_eq(unlink("out"), 0);
	file_make("kept", "kept");
	ck_assert_int_eq(symlink("kept", "out"), 0);
	opened("out", false);
	ck_assert_int_eq(stat("kept", &status), 0);
	ck_assert_int_eq(status.st_size, 4);
}
END_TEST

/* As a shell's >(command), or what whoever started this process has opened: of whichever user they are. */
START_TEST(descriptors_of_this_process)
{
	int ends[2], saved, kept;
	char path[64];
	struct stat status;

	become(OTHER);
	ck_assert_int_eq(pipe(ends), 0);
	become(0);
	snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
	opened(path, true);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
	opened(path, true);
	saved = dup(STDOUT_FILENO);
	ck_assert_int_eq(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	opened("/dev/stdout", true);
	file_make("kept", "kept");
	kept = open("kept", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
	opened("/dev/stdout", true);
	ck_assert_int_eq(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	ck_assert_int_eq(fstat(kept, &status), 0);
	ck_assert_int_eq(status.st_size, 4);
	opened("/dev/null", true);
	close(kept);
	close(saved);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* A number that no driver has: nothing is opened if it is not refused. */
START_TEST(block_device)
{
	ck_assert_int_eq(mknod("out", S_IFBLK | 0666, makedev(250, 250)), 0);
	refused_by_both("out", -EINVAL, "no file, pipe or character device");
	refused("./", -EISDIR, "Is a directory");
}
END_TEST

START_TEST(part_of_another_user)
{
	int fd;

	become(OTHER);
	file_make("out.part", "theirs");
	fd = open("out.part", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	become(0);
	refused("out", -EBUSY, "another user (uid 65534)");
	become(ORDINARY);
	refused("out", -EBUSY, "another user (uid 65534)");
	/* Who may write to it may not remove it. */
	close(fd);
	refused("out", -EACCES, "another user (uid 65534)");
	/* Who may not even do that. */
	become(OTHER);
	ck_assert_int_eq(chmod("out.part", 0600), 0);
	become(ORDINARY);
	refused("out", -EACCES, "another user (uid 65534)");
	/* Root may. */
	become(0);
	opened("out", false);
}
END_TEST

START_TEST(part_that_is_no_file)
{
	int reader;

	become(OTHER);
	reader = fifo_make("out.part");
	refused_by_both("out", -EEXIST, "no regular file");
	ck_assert_int_eq(access("out.part", F_OK), 0);
	close(reader);
	become(OTHER);
	ck_assert_int_eq(unlink("out.part"), 0);
	ck_assert_int_eq(symlink("kept", "out.part"), 0);
	refused_by_both("out", -EEXIST, "no regular file");
	ck_assert_int_ne(access("kept", F_OK), 0);
}
END_TEST

/* ---- races ---- */

/* Opens `out`, and says by its exit status how that went: 0, written in place; 1, as a new file; 2, refused. */
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

/* Whether the process, stopped at the entry of a system call, is about to open `out` itself for writing. */
static bool is_opening(pid_t child)
{
	struct __ptrace_syscall_info call = { 0 };

	return ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof call, &call) > 0 &&
	       call.op == PTRACE_SYSCALL_INFO_ENTRY && call.entry.nr == SYS_openat &&
	       (call.entry.args[2] & (O_ACCMODE | O_PATH)) == O_WRONLY;
}

/* What comes of it when `first` takes the place of `out` after that has been looked at. */
static int swapped_while_opening(void)
{
	pid_t child = fork();
	bool swapped = false;
	int status;

	if (child == 0)
		traced_open();
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD), 0);
	while (!WIFEXITED(status)) {
		ck_assert(WIFSTOPPED(status));
		if (!swapped && is_opening(child)) {
			ck_assert_int_eq(rename("first", "out"), 0);
			swapped = true;
		}
		ck_assert_int_eq(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
		ck_assert_int_eq(waitpid(child, &status, 0), child);
	}
	ck_assert(swapped);
	return WEXITSTATUS(status);
}

/* The look says one thing, the open finds another. */
START_TEST(replaced_between_look_and_open)
{
	int reader = fifo_make("out"), theirs;
	struct stat status;

	/* By a file, */
	file_make("kept", "kept");
	ck_assert_int_eq(link("kept", "first"), 0);
	ck_assert_int_eq(swapped_while_opening(), 2);
	ck_assert_int_eq(unlink("out"), 0);
	close(reader);
	/* by a link to it, */
	reader = fifo_make("out");
	ck_assert_int_eq(symlink("kept", "first"), 0);
	ck_assert_int_eq(swapped_while_opening(), 2);
	ck_assert_int_eq(unlink("out"), 0);
	close(reader);
	ck_assert_int_eq(stat("kept", &status), 0);
	ck_assert_int_eq(status.st_size, 4);
	/* by another user's pipe. */
	reader = fifo_make("out");
	become(OTHER);
	theirs = fifo_make("first");
	become(0);
	ck_assert_int_eq(swapped_while_opening(), 2);
	ck_assert(is_empty(theirs));
	close(theirs);
	close(reader);
}
END_TEST

/* A pipe of root's, a file of root's and another user's pipe take turns at one path. */
START_TEST(replaced_all_the_time)
{
	int readers[2] = { fifo_make("out"), -1 };
	pid_t swapper;
	int status;

	file_make("first", "kept");
	become(OTHER);
	readers[1] = fifo_make("second");
	become(0);
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
			struct stat at;

			ck_assert_int_eq(fstat(file.fd, &at), 0);
			ck_assert_msg(S_ISFIFO(at.st_mode) && at.st_uid == 0, "round %d: mode %o, uid %d", i,
				      at.st_mode, (int)at.st_uid);
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

/* Stands for the tests that need them. */
START_TEST(other_users)
{
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
	tests = tcase_create("lost");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, directory_enter, directory_leave);
	tcase_add_loop_test(tests, lost_part_is_kept, 0, GONE_KINDS);
	tcase_add_loop_test(tests, lost_part_is_not_removed, 0, GONE_KINDS);
	tcase_add_test(tests, lost_part_beside_another_writer);
	tcase_add_test(tests, lost_with_its_directory);
	tcase_add_test(tests, lost_part_above_the_limit);
	tcase_add_loop_test(tests, lost_part_of_a_session, 0, GONE_KINDS);
	suite_add_tcase(suite, tests);
	if (geteuid() != 0) {
		tests = tcase_create("others # SKIP not root");
		tcase_add_test(tests, other_users);
		suite_add_tcase(suite, tests);
		return suite;
	}
	tests = tcase_create("others");
	tcase_set_timeout(tests, 120);
	tcase_add_checked_fixture(tests, shared_enter, shared_leave);
	tcase_add_test(tests, fifo_of_another_user);
	tcase_add_test(tests, fifo_of_this_user_or_root);
	tcase_add_test(tests, link_of_another_user);
	tcase_add_test(tests, own_link_to_a_strangers_fifo);
	tcase_add_test(tests, own_links);
	tcase_add_test(tests, descriptors_of_this_process);
	tcase_add_test(tests, block_device);
	tcase_add_test(tests, part_of_another_user);
	tcase_add_test(tests, part_that_is_no_file);
	tcase_add_test(tests, replaced_between_look_and_open);
	tcase_add_test(tests, replaced_all_the_time);
	suite_add_tcase(suite, tests);
	return suite;
}
