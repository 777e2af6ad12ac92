/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/confine.h"

#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_path.h"
#include "base/system_calls.h"
#include "vgtool/run/landlock.h"

/* A sanitized build is not confined: LeakSanitizer attaches to its own process with ptrace(2) at exit, and the
 * filter would forbid that call. */
#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* ---- files ---- */

/* The running kernel may know rights that the headers of this build lack.  The bits are from landlock(7). */
#define LANDLOCK_REFER (UINT64_C(1) << 13)
#define LANDLOCK_TRUNCATE (UINT64_C(1) << 14)
#define LANDLOCK_IOCTL_DEV (UINT64_C(1) << 15)

/* struct landlock_ruleset_attr of version 6.  An older kernel accepts the longer struct if the fields that
 * it does not know are 0. */
struct ruleset {
	uint64_t files;              /* access to files and directories */
	uint64_t net;                /* bind(2) and connect(2) of TCP */
	uint64_t scoped;             /* signals to processes that the ruleset does not confine, and connections to
	                                their abstract Unix sockets */
};

static const uint64_t READ_RIGHTS = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t WRITE_RIGHTS = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
			      LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
			      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_TRUNCATE;
/* The kernel refuses other rights for a path that is not a directory. */
static const uint64_t FILE_RIGHTS = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
				LANDLOCK_TRUNCATE;

struct rules {
	int fd;
	struct ruleset handled;      /* rights that are forbidden unless a rule allows them */
};

static struct ruleset handled_rights(long version)
{
	struct ruleset handled = { .files = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 };

	if (version >= 2)
		handled.files |= LANDLOCK_REFER;
	if (version >= 3)
		handled.files |= LANDLOCK_TRUNCATE;
	if (version >= 4)
		handled.net = 3;
	if (version >= 5)
		handled.files |= LANDLOCK_IOCTL_DEV;
	if (version >= 6)
		handled.scoped = 3;
	return handled;
}

/* Ignores a path that cannot be opened: the command will fail to open it, too, and report the error. */
static int path_allow(const struct rules *rules, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access & rules->handled.files };
	struct stat status;
	int rc = 0;

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return 0;
	if (fstat(rule.parent_fd, &status) == 0 && !S_ISDIR(status.st_mode))
		rule.allowed_access &= FILE_RIGHTS;
	/* EBADFD: a pipe or socket (/dev/fd/N), which Landlock does not restrict. */
	if (syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0 &&
	    errno != EBADFD)
		rc = -errno;
	close(rule.parent_fd);
	return rc;
}

/* Allows writing in the deepest existing directory of the path, because missing directories are created
 * there.  A pipe or device is written in place, so only the pipe or device itself is allowed. */
static int writes_allow(const struct rules *rules, const char *path, uint64_t access)
{
	char *directory;
	struct stat status;
	int rc;

	if (vg_output_path_is_special(path) && (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)))
		return path_allow(rules, path, LANDLOCK_ACCESS_FS_WRITE_FILE);
	directory = strdup(path);
	if (directory == NULL)
		return -ENOMEM;
	while (stat(directory, &status) != 0 || !S_ISDIR(status.st_mode)) {
		char *slash = strrchr(directory, '/');

		if (slash == NULL || slash == directory) {
			rc = path_allow(rules, slash == NULL ? "." : "/", access);
			free(directory);
			return rc;
		}
		*slash = '\0';
	}
	rc = path_allow(rules, directory, access);
	free(directory);
	return rc;
}

static int reads_allow(const struct rules *rules, const char *const *paths, size_t count, uint64_t access)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (paths[i] != NULL)
			rc = path_allow(rules, paths[i], access);
	}
	return rc;
}

static int files_confine(const struct vg_confinement *confinement)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct rules rules = { .handled = handled_rights(version) };
	uint64_t access = READ_RIGHTS | (confinement->executes ? LANDLOCK_ACCESS_FS_EXECUTE : 0);
	int rc;

	if (version < 1)
		return 0;
	rules.fd = (int)syscall(SYS_landlock_create_ruleset, &rules.handled, sizeof rules.handled, 0);
	if (rules.fd < 0)
		return -errno;
	rc = reads_allow(&rules, confinement->paths, confinement->path_count, access);
	if (rc == 0)
		rc = reads_allow(&rules, confinement->more, confinement->more_path_count, access);
	if (rc == 0 && confinement->writes != NULL)
		rc = writes_allow(&rules, confinement->writes,
				  WRITE_RIGHTS | (confinement->removes ? LANDLOCK_ACCESS_FS_REMOVE_DIR : 0));
	if (rc == 0 && syscall(SYS_landlock_restrict_self, rules.fd, 0) != 0)
		rc = -errno;
	close(rules.fd);
	return rc;
}

/* ---- system calls ---- */

static const int calls_always[] = {
	/* the process's own memory, signals and exit */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(futex), SCMP_SYS(exit),
	SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(restart_syscall),
	/* open descriptors */
	SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(lseek), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close),
	SCMP_SYS(fstat), SCMP_SYS(getdents64), SCMP_SYS(poll), SCMP_SYS(ppoll),
	/* file names and attributes */
	SCMP_SYS(newfstatat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx), SCMP_SYS(fstatfs), SCMP_SYS(access),
	SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getcwd),
	/* used by the C library itself */
	SCMP_SYS(getrandom), SCMP_SYS(clock_gettime), SCMP_SYS(getpid), SCMP_SYS(gettid),
	SCMP_SYS(sched_getaffinity), SCMP_SYS(sysinfo),
};

/* An output file is created as NAME.part, locked and renamed (base/outfile.c).  Adding to a symbol store waits
 * for the lock with clock_nanosleep(2). */
static const int calls_writing[] = {
	SCMP_SYS(ftruncate), SCMP_SYS(dup), SCMP_SYS(flock), SCMP_SYS(renameat), SCMP_SYS(clock_nanosleep),
};

/* Executing a program, and what the dynamic linker and the C library call at its start. */
static const int calls_executing[] = {
	SCMP_SYS(execve), SCMP_SYS(mmap), SCMP_SYS(mprotect), SCMP_SYS(arch_prctl), SCMP_SYS(set_tid_address),
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
};

/* A system call that is allowed if each listed argument equals a value, with or without a mask.  EQUAL
 * compares all 64 bits of an argument.  The kernel ignores the upper 32 bits of an int argument; EQUAL does not. */
struct rule {
	int call;
	unsigned int count;
	struct scmp_arg_cmp arguments[2];
};

#define EQUAL(index, value) { index, SCMP_CMP_EQ, (scmp_datum_t)(value), 0 }
#define MASKED(index, mask, value) { index, SCMP_CMP_MASKED_EQ, (scmp_datum_t)(mask), (scmp_datum_t)(value) }
#define OPENING (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY))

/* Files are created with mode 0600 (base/outfile.c), directories with 0777.  Modes with other bits are refused:
 * with S_ISUID, a vgtool that root runs could create a program that everybody can run as root. */
#define FILE_MODE_REFUSED 07177
#define DIRECTORY_MODE_REFUSED 07000

static const struct rule rules_always[] = {
	/* No executable memory. */
	{ SCMP_SYS(mmap), 1, { MASKED(2, PROT_EXEC, 0) } },
	{ SCMP_SYS(mprotect), 1, { MASKED(2, PROT_EXEC, 0) } },
	/* free(3) uses MADV_DONTNEED.  MADV_SEQUENTIAL is for files that are read once from start to end. */
	{ SCMP_SYS(madvise), 1, { EQUAL(2, MADV_DONTNEED) } },
	{ SCMP_SYS(madvise), 1, { EQUAL(2, MADV_SEQUENTIAL) } },
	/* Reading: vg_regular_file_open(), vg_infile_open_argument() and opendir(3).  A library that opens a path by
	 * itself would wait for the writer of a FIFO. */
	{ SCMP_SYS(open), 1, { MASKED(1, OPENING | O_NONBLOCK, O_RDONLY | O_NONBLOCK) } },
	{ SCMP_SYS(openat), 1, { MASKED(2, OPENING | O_NONBLOCK, O_RDONLY | O_NONBLOCK) } },
	{ SCMP_SYS(open), 1, { MASKED(1, OPENING | O_PATH, O_PATH) } },
	{ SCMP_SYS(openat), 1, { MASKED(2, OPENING | O_PATH, O_PATH) } },
	/* isatty(3); newer C libraries use TCGETS2. */
	{ SCMP_SYS(ioctl), 1, { EQUAL(1, TCGETS) } },
	{ SCMP_SYS(ioctl), 1, { EQUAL(1, TCGETS2) } },
	/* fdopen(3), libelf, and vg_descriptor_raise(). */
	{ SCMP_SYS(fcntl), 1, { EQUAL(1, F_GETFD) } },
	{ SCMP_SYS(fcntl), 1, { EQUAL(1, F_GETFL) } },
	{ SCMP_SYS(fcntl), 1, { EQUAL(1, F_DUPFD_CLOEXEC) } },
};

static const struct rule rules_writing[] = {
	/* Opens one of three files: a new NAME.part, a NAME.part that another process left behind, or a device. */
	{ SCMP_SYS(openat), 2,
	  { MASKED(2, OPENING, O_RDWR | O_CREAT | O_EXCL), MASKED(3, FILE_MODE_REFUSED, 0) } },
	{ SCMP_SYS(openat), 1, { MASKED(2, OPENING | O_NONBLOCK, O_RDWR | O_NONBLOCK) } },
	{ SCMP_SYS(openat), 1, { MASKED(2, OPENING | O_NONBLOCK, O_WRONLY | O_NONBLOCK) } },
	{ SCMP_SYS(mkdir), 1, { MASKED(1, DIRECTORY_MODE_REFUSED, 0) } },
	{ SCMP_SYS(mkdirat), 1, { MASKED(2, DIRECTORY_MODE_REFUSED, 0) } },
	/* The C library's renameat() makes this call on architectures that do not have the system call renameat. */
	{ SCMP_SYS(renameat2), 1, { EQUAL(4, 0) } },
	/* Removes files.  Directories need AT_REMOVEDIR: see rules_removing. */
	{ SCMP_SYS(unlinkat), 1, { EQUAL(2, 0) } },
	/* An output is opened nonblocking and then made blocking (base/output_path.c). */
	{ SCMP_SYS(ioctl), 1, { EQUAL(1, FIONBIO) } },
};

/* Removes empty directories. */
static const struct rule rules_removing[] = {
	{ SCMP_SYS(unlinkat), 1, { EQUAL(2, AT_REMOVEDIR) } },
};

/* The C library reads the limit of the stack, and must not change it.  The program opens its files as it likes. */
static const struct rule rules_executing[] = {
	{ SCMP_SYS(open), 1, { MASKED(1, OPENING, O_RDONLY) } },
	{ SCMP_SYS(openat), 1, { MASKED(2, OPENING, O_RDONLY) } },
	{ SCMP_SYS(prlimit64), 1, { EQUAL(2, 0) } },
};

/* seccomp_rule_add(3) and seccomp_rule_add_array(3) return 0 for a system call that this architecture does not have.
 * (seccomp_rule_add_exact(3) returns -EDOM.) */
static int calls_allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	return rc;
}

static int rules_allow(scmp_filter_ctx filter, const struct rule *rules, size_t count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rules[i].call, rules[i].count,
					    rules[i].arguments);
	return rc;
}

#define COUNT(array) (sizeof (array) / sizeof *(array))

static int calls_confine(const struct vg_confinement *confinement)
{
	const struct rule receive = { SCMP_SYS(recvmsg), 1, { EQUAL(0, confinement->broker) } };
	const struct rule send = { SCMP_SYS(sendmsg), 1, { EQUAL(0, confinement->broker) } };
	bool writes = confinement->writes != NULL, executes = confinement->executes;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc;

	if (filter == NULL)
		return -ENOMEM;
	/* Without this attribute libseccomp returns ECANCELED for every error of the kernel. */
	rc = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (rc == 0)
		rc = calls_allow(filter, calls_always, COUNT(calls_always));
	if (rc == 0)
		rc = rules_allow(filter, rules_always, COUNT(rules_always));
	if (rc == 0 && writes)
		rc = calls_allow(filter, calls_writing, COUNT(calls_writing));
	if (rc == 0 && writes)
		rc = rules_allow(filter, rules_writing, COUNT(rules_writing));
	if (rc == 0 && confinement->removes)
		rc = rules_allow(filter, rules_removing, COUNT(rules_removing));
	if (rc == 0 && executes)
		rc = calls_allow(filter, calls_executing, COUNT(calls_executing));
	if (rc == 0 && executes)
		rc = rules_allow(filter, rules_executing, COUNT(rules_executing));
	if (rc == 0 && confinement->broker > 0)
		rc = rules_allow(filter, &receive, 1);
	if (rc == 0 && confinement->broker > 0 && confinement->sends)
		rc = rules_allow(filter, &send, 1);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc;
}

/* This prctl(2) passes no filter, so it always fails.  If the kernel has seccomp filters, errno is EFAULT. */
bool vg_confine_has_seccomp(void)
{
	return SANITIZED || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == 0 ||
	       (errno != EINVAL && errno != ENOSYS);
}

int vg_reader_confine(const struct vg_confinement *confinement, struct vg_err *err)
{
	const struct rlimit no_core = { 0, 0 };
	int rc;

	if (SANITIZED)
		return 0;
	setrlimit(RLIMIT_CORE, &no_core);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return vg_err_sys(err, -errno, "cannot confine the process with PR_SET_NO_NEW_PRIVS");
	rc = files_confine(confinement);
	if (rc != 0)
		return vg_err_sys(err, rc, "cannot confine the process with Landlock");
	rc = vg_confine_has_seccomp() ? calls_confine(confinement) : 0;
	return rc == 0 ? 0 : vg_err_sys(err, rc, "cannot confine the process with seccomp");
}
