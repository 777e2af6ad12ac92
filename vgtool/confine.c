/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint64_t READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t READ_FILE = LANDLOCK_ACCESS_FS_READ_FILE;
static const uint64_t WRITE = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
			      LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
			      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR;

/* All that the first version of Landlock knows: later ones only add. */
static const uint64_t HANDLED = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

static const int calls[] = {
	SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	SCMP_SYS(mprotect), SCMP_SYS(futex), SCMP_SYS(exit), SCMP_SYS(exit_group),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(restart_syscall), SCMP_SYS(getrandom), SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep), SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64),
	SCMP_SYS(lseek), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pwrite64), SCMP_SYS(close),
	SCMP_SYS(ftruncate), SCMP_SYS(fstat), SCMP_SYS(fstatfs), SCMP_SYS(newfstatat), SCMP_SYS(stat), SCMP_SYS(lstat),
	SCMP_SYS(statx), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
	SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64), SCMP_SYS(getcwd), SCMP_SYS(fcntl), SCMP_SYS(flock), SCMP_SYS(fsync),
	SCMP_SYS(fdatasync), SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(rename),
	SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
	SCMP_SYS(dup), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(getpid), SCMP_SYS(gettid),
	SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(sched_getaffinity), SCMP_SYS(sysinfo),
	SCMP_SYS(getrusage), SCMP_SYS(umask),
	/* is it a terminal */
	SCMP_SYS(ioctl),
};

static void path_allow(int rules, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access };
	struct stat status;

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return;
	/* Of a file that is no directory, rights that only make sense in one are refused. */
	if (fstat(rule.parent_fd, &status) == 0 && !S_ISDIR(status.st_mode))
		rule.allowed_access &= READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
	syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	close(rule.parent_fd);
}

/* What does not exist yet is made in the nearest directory that does. */
static void writes_allow(int rules, const char *path)
{
	char *directory = strdup(path);
	struct stat status;

	if (directory == NULL)
		return;
	while (stat(directory, &status) != 0 || !S_ISDIR(status.st_mode)) {
		char *slash = strrchr(directory, '/');

		if (slash == NULL || slash == directory) {
			path_allow(rules, slash == NULL ? "." : "/", WRITE);
			free(directory);
			return;
		}
		*slash = '\0';
	}
	path_allow(rules, directory, WRITE);
	free(directory);
}

static void reads_allow(int rules, const char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (paths[i] != NULL)
			path_allow(rules, paths[i], READ);
	}
}

static void files_confine(const struct vg_confinement *confinement)
{
	struct landlock_ruleset_attr handled = { .handled_access_fs = HANDLED };
	int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);

	if (rules < 0)
		return;
	reads_allow(rules, confinement->paths, confinement->path_count);
	reads_allow(rules, confinement->more, confinement->more_count);
	if (confinement->writes != NULL)
		writes_allow(rules, confinement->writes);
	syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
}

static void calls_confine(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = 0;

	if (filter == NULL)
		return;
	/* A call that this machine does not have cannot be allowed, and need not be. */
	for (size_t i = 0; rc == 0 && i < sizeof calls / sizeof *calls; i++) {
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
		if (rc == -EDOM || rc == -EINVAL)
			rc = 0;
	}
	if (rc == 0)
		seccomp_load(filter);
	seccomp_release(filter);
}

void vg_reader_confine(const struct vg_confinement *confinement)
{
	const struct rlimit no_core = { 0, 0 };

#if defined __SANITIZE_ADDRESS__
	/* A sanitizer looks at its own process, and attaches to it, at the end. */
	return;
#endif

	setrlimit(RLIMIT_CORE, &no_core);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return;
	files_confine(confinement);
	calls_confine();
}

void vg_reader_confine_to(const char *path, const char *writes)
{
	vg_reader_confine(&(struct vg_confinement){
		.paths = &path, .path_count = 1, .writes = writes,
	});
}
