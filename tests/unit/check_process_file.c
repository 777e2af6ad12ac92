/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files of another user's process on FUSE and on overlays are used only if their file system is mounted in our own
 * mount namespace, and FUSE by root.  No test may ask the FUSE file system here: nobody answers, so it would wait for
 * ever. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/process_file.h"
#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"

enum { OTHER_USER = 65533, CHILD_FD = 100 };

static char directory[64];
static pid_t child;

/* The path of a file of the test's directory, valid until the fourth next call. */
static const char *at(const char *name)
{
	static char paths[4][160];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof *paths, "%s/%s", directory, name);
	return path;
}

static void file_make(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static void directory_make(void)
{
	char made[] = "/tmp/check_process_file.XXXXXX", *real;

	ck_assert_ptr_nonnull(mkdtemp(made));
	real = realpath(made, NULL);
	ck_assert(real != NULL && strlen(real) < sizeof directory);
	strcpy(directory, real);
	free(real);
	ck_assert_int_eq(chmod(directory, 0755) | mkdir(at("shared"), 0755) | mkdir(at("own"), 0755), 0);
	ck_assert_int_eq(mkdir(at("fuse"), 0755) | mkdir(at("theirs"), 0755) | mkdir(at("over"), 0755), 0);
	file_make(at("shared/file"), "shared");
	ck_assert_int_eq(symlink("file", at("shared/link")), 0);
}

static void directory_remove(void)
{
	char command[128];

	snprintf(command, sizeof command, "/bin/rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

/* Mounts a FUSE file system of another user, which nobody serves. */
static void fuse_mount(const char *path)
{
	char options[128];
	int fd;

	/* A container may lack the device's file.  Linux 6.18 has the number 10:229. */
	if (access("/dev/fuse", F_OK) != 0)
		ck_assert_int_eq(mknod(at("device"), S_IFCHR | 0600, makedev(10, 229)), 0);
	fd = open(access("/dev/fuse", F_OK) == 0 ? "/dev/fuse" : at("device"), O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=0", fd, OTHER_USER);
	ck_assert_int_eq(mount("nobody", path, "fuse", 0, options), 0);
}

static bool mounts_make(void *unused)
{
	char layers[400];

	(void)unused;
	snprintf(layers, sizeof layers, "lowerdir=%s:%s", at("shared"), at("own"));
	if (dup2(open(at("shared/file"), O_RDONLY), CHILD_FD) < 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount("none", at("own"), "tmpfs", 0, "") != 0 || mount("none", at("over"), "overlay", 0, layers) != 0)
		return false;
	fuse_mount(at("theirs"));
	file_make(at("own/file"), "own");
	return true;
}

static bool finds(pid_t pid, const char *path)
{
	int file = vg_process_path_find(pid, pid, path);

	if (file >= 0)
		close(file);
	return file >= 0;
}

static bool link_is_safe(const char *name)
{
	char path[64];
	bool safe;
	int file;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)child, name);
	file = open(path, O_PATH | O_CLOEXEC);
	ck_assert_int_ge(file, 0);
	safe = vg_process_file_is_safe(file, child);
	close(file);
	return safe;
}

static void own_mounts(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	directory_make();
}

static void setup(void)
{
	own_mounts();
	fuse_mount(at("fuse"));
	child = fixture_other_user(OTHER_USER, mounts_make, NULL);
}

static void teardown(void)
{
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_int_eq(umount2(at("fuse"), MNT_DETACH), 0);
	directory_remove();
}

START_TEST(mounts_of_another_user)
{
	char inner[64];

	ck_assert(!vg_process_is_own(child));
	ck_assert(finds(child, at("shared/file")));
	ck_assert(finds(child, at("own/file")));
	ck_assert(!finds(child, at("over/file")));
	ck_assert(!finds(child, at("theirs/file")));
	ck_assert(!finds(child, at("fuse/file")));
	ck_assert(!finds(child, at("shared/none")));
	ck_assert(!finds(child, at("shared/../shared/file")));
	ck_assert(!finds(child, "relative"));
	/* A file that it has opened before it left our mount namespace. */
	snprintf(inner, sizeof inner, "fd/%d", CHILD_FD);
	ck_assert(link_is_safe(inner));
	snprintf(inner, sizeof inner, "root%s", at("shared"));
	ck_assert(link_is_safe(inner));
	snprintf(inner, sizeof inner, "root%s", at("over"));
	ck_assert(!link_is_safe(inner));
	snprintf(inner, sizeof inner, "root%s", at("theirs"));
	ck_assert(!link_is_safe(inner));
}
END_TEST

/* Returns 0, or the errno with which the file cannot be opened. */
static int named_errno(const char *path)
{
	int fd = vg_named_file_open(path);

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : -fd;
}

/* A path through /proc/PID/root would ask the FUSE file system. */
START_TEST(names_that_lead_to_another_user)
{
	char path[160];

	snprintf(path, sizeof path, "/proc/%d/root%s/file", (int)child, at("theirs"));
	ck_assert_int_eq(named_errno(path), ELOOP);
	ck_assert_int_eq(symlink(path, at("shared/away")), 0);
	ck_assert_int_eq(named_errno(at("shared/away")), ELOOP);
	snprintf(path, sizeof path, "/proc/%d/root", (int)child);
	ck_assert_int_eq(symlink(path, at("shared/root")), 0);
	ck_assert_ptr_null(vg_named_real_path(at("shared/root/tmp")));
}
END_TEST

START_TEST(names)
{
	char *real;

	ck_assert(vg_process_is_own(getpid()));
	ck_assert(finds(getpid(), at("shared/file")));
	ck_assert_int_eq(named_errno(at("shared/file")), 0);
	ck_assert_int_eq(named_errno(at("shared/link")), 0);
	ck_assert_int_eq(named_errno(at("shared//.././shared/link")), 0);
	ck_assert_int_eq(named_errno(at("shared")), EISDIR);
	ck_assert_int_eq(named_errno(at("shared/none")), ENOENT);
	ck_assert_int_eq(named_errno(at("shared/file/none")), ENOTDIR);
	ck_assert_int_eq(named_errno("/dev/null"), EINVAL);
	ck_assert_int_eq(named_errno("/proc/self/exe"), ELOOP);
	ck_assert_int_eq(symlink("shared", at("linked")) | symlink(at("linked"), at("absolute")), 0);
	ck_assert_int_eq(symlink("circle", at("circle")), 0);
	ck_assert_int_eq(named_errno(at("circle")), ELOOP);
	ck_assert_int_eq(chdir(directory), 0);
	ck_assert_int_eq(named_errno("linked/link"), 0);
	real = vg_named_real_path("absolute/link");
	ck_assert_ptr_nonnull(real);
	ck_assert_str_eq(real, at("shared/file"));
	free(real);
	ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

/* debugfs has a directory that the kernel mounts on first use. */
START_TEST(mount_of_first_use)
{
	char *real;

	ck_assert_int_eq(mount("none", at("own"), "debugfs", 0, ""), 0);
	real = vg_named_real_path(at("own/tracing/README"));
	ck_assert_int_eq(umount2(at("own"), MNT_DETACH), 0);
	ck_assert_ptr_nonnull(real);
	ck_assert_str_eq(real, at("own/tracing/README"));
	free(real);
}
END_TEST

START_TEST(skipped)
{
}
END_TEST

/* Leaves this process in a mount namespace of its own. */
static bool mounts_work(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", "/tmp", "tmpfs", 0, "") == 0 && mkdir("/tmp/a", 0700) == 0 && mkdir("/tmp/b", 0700) == 0;
}

static bool fuse_works(void)
{
	return mounts_work() && mknod("/tmp/fuse", S_IFCHR | 0600, makedev(10, 229)) == 0 &&
	       open("/tmp/fuse", O_RDWR) >= 0 &&
	       mount("none", "/tmp/a", "overlay", 0, "lowerdir=/tmp/a:/tmp/b") == 0;
}

static bool debugfs_works(void)
{
	return mounts_work() && mount("none", "/tmp/a", "debugfs", 0, "") == 0 &&
	       access("/tmp/a/tracing/README", F_OK) == 0;
}

/* Whether this process may mount this, and the kernel has it. */
static bool in_child(bool (*works)(void))
{
	int status = 1;
	pid_t tester = fork();

	if (tester == 0)
		_exit(!works());
	return tester > 0 && waitpid(tester, &status, 0) == tester && status == 0;
}

Suite *process_file_suite(void)
{
	bool mounts = in_child(fuse_works), debugfs = in_child(debugfs_works);
	Suite *suite = suite_create("process_file");
	TCase *own = tcase_create("own");
	TCase *other_users = tcase_create(mounts ? "other_users" : "other_users # SKIP no root, mounts or FUSE");
	TCase *first_use = tcase_create(debugfs ? "first_use" : "first_use # SKIP no root, mounts or debugfs");

	tcase_add_checked_fixture(own, directory_make, directory_remove);
	tcase_add_test(own, names);
	suite_add_tcase(suite, own);
	if (mounts) {
		tcase_add_checked_fixture(other_users, setup, teardown);
		tcase_add_test(other_users, mounts_of_another_user);
		tcase_add_test(other_users, names_that_lead_to_another_user);
	} else {
		tcase_add_test(other_users, skipped);
	}
	suite_add_tcase(suite, other_users);
	if (debugfs)
		tcase_add_checked_fixture(first_use, own_mounts, directory_remove);
	tcase_add_test(first_use, debugfs ? mount_of_first_use : skipped);
	suite_add_tcase(suite, first_use);
	return suite;
}
