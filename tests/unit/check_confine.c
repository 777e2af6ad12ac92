/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A hostile file may give an attacker control of the vgtool process that reads the file. Section SECURITY of vgtool(1)
 * lists what the attacker can and cannot do. Each item of that list is a `promise` here. Each promise is tried with an
 * output and without one, and with every argument that the filter of system calls examines. Each attempt is made in a
 * process of its own. */
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system_calls.h"
#include "tests/unit/suites.h"
#include "vgtool/run/confine.h"
#include "vgtool/run/landlock.h"

#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* The expected result: an errno, 0 if the call is allowed, or one of these. */
enum {
	LANDLOCK = 1000,             /* EACCES with Landlock, 0 without it */
	KILLED = 2000,               /* the call ends the process with a signal */
};

static char directory[64];                /* the directory of the paths below */
static int terminal, opened_before;       /* a terminal; a file that was opened for writing before the confinement */
static void *page;

static void file_make(const char *path)
{
	ck_assert_int_eq(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
}

static void setup(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	snprintf(directory, sizeof directory, "check_confine.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chdir(directory), 0);
	ck_assert_int_eq(mkdir("out", 0700) | mkdir("out/empty", 0700) | mkdir("elsewhere", 0700), 0);
	file_make("input");
	file_make("other");
	file_make("out/there");
	file_make("elsewhere/there");
	ck_assert_int_ge(master, 0);
	ck_assert_int_eq(grantpt(master) | unlockpt(master), 0);
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	ck_assert_int_ge(terminal, 0);
	opened_before = open("out/standing", O_CREAT | O_RDWR | O_APPEND, 0600);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void teardown(void)
{
	char command[96];

	ck_assert_int_eq(chdir(".."), 0);
	snprintf(command, sizeof command, "rm -r %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static long landlock_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

/* ---- attempts ---- */

/* A system call with its arguments. It is made without the C library, as an attacker would make it. */
struct attempt {
	const char *promise, *name;
	long call;
	long arguments[6];
	int without_output, with_output;           /* the expected results */
};

#define PATH(text) (long)(text)
#define AT AT_FDCWD
#define HIGH (INT64_C(1) << 32)

static char bytes[4096];
static struct iovec vector = { bytes, 1 };
static const struct timespec no_time;
static struct flock lock = { .l_type = F_WRLCK };

/* What is allowed. tests/project/man.sh looks for each of these lines in vgtool(1). */
static const char READS[] = "read the files that the command was given";
static const char OPEN_FILES[] = "read from and write to what is open";
static const char FILE_NAMES[] = "see which files there are";
static const char MEMORY[] = "use memory that cannot be executed";
static const char OUTPUTS[] = "make, read, write, rename and remove files in the directory of the output";
/* What is not allowed. */
static const char OTHER_FILES[] = "read another file";
static const char WAITS[] = "wait in open(2) for the other end of a FIFO";
static const char WRITES[] = "open a file for writing, or make, rename or remove one";
static const char MODES[] = "make a file that can be executed or that others can use, or a sticky or set-ID directory";
static const char ATTRIBUTES[] = "change a file's owner, mode, times or attributes, or make a link or device";
static const char CODE[] = "make memory executable";
static const char TERMINAL[] = "type into the terminal, or change it";
static const char DESCRIPTORS[] = "have the kernel send signals for a descriptor, or change its owner or flags";
static const char PROCESSES[] = "execute a program, or make a process or thread";
static const char SIGNALS[] = "send a signal, or trace a process or read its memory";
static const char SOCKETS[] = "make a socket";
static const char SELF[] = "change its limits, identity, directory, namespaces, CPUs or priority";
static const char KERNEL[] = "reach other parts of the kernel";
static const char ABI[] = "make a system call by another ABI";

static const struct attempt attempts[] = {
	{ READS, "openat, to examine", SYS_openat, { AT, PATH("input"), O_PATH }, 0, 0 },
	{ WAITS, "openat, to write", SYS_openat, { AT, PATH("out/there"), O_WRONLY }, EPERM, EPERM },
	{ WAITS, "openat, for both", SYS_openat, { AT, PATH("out/there"), O_RDWR }, EPERM, EPERM },
	{ WAITS, "openat", SYS_openat, { AT, PATH("input"), O_RDONLY | O_CLOEXEC | O_NOCTTY }, EPERM, EPERM },
	{ READS, "openat, nonblocking", SYS_openat, { AT, PATH("input"), O_RDONLY | O_NONBLOCK }, 0, 0 },
#ifdef SYS_open
	{ READS, "open, nonblocking", SYS_open, { PATH("input"), O_RDONLY | O_NONBLOCK }, 0, 0 },
	{ WAITS, "open", SYS_open, { PATH("input"), O_RDONLY }, EPERM, EPERM },
	{ OTHER_FILES, "open", SYS_open, { PATH("other"), O_RDONLY | O_NONBLOCK }, LANDLOCK, LANDLOCK },
	{ WRITES, "open", SYS_open, { PATH("out/there"), O_WRONLY }, EPERM, EPERM },
	{ WRITES, "open, to create", SYS_open, { PATH("out/new"), O_RDWR | O_CREAT | O_EXCL, 0600 }, EPERM, EPERM },
	{ WRITES, "creat", SYS_creat, { PATH("out/new"), 0600 }, EPERM, EPERM },
	{ WRITES, "rename", SYS_rename, { PATH("out/there"), PATH("out/new") }, EPERM, EPERM },
	{ WRITES, "unlink", SYS_unlink, { PATH("out/there") }, EPERM, EPERM },
	{ WRITES, "rmdir", SYS_rmdir, { PATH("out/empty") }, EPERM, EPERM },
	{ OUTPUTS, "mkdir", SYS_mkdir, { PATH("out/new"), 0700 }, EPERM, 0 },
	{ OUTPUTS, "mkdir, for all", SYS_mkdir, { PATH("out/new"), 0777 }, EPERM, 0 },
	{ MODES, "mkdir, set-group-ID", SYS_mkdir, { PATH("out/new"), 02700 }, EPERM, EPERM },
	{ MODES, "mkdir, sticky", SYS_mkdir, { PATH("out/new"), 01777 }, EPERM, EPERM },
	{ WRITES, "mkdir elsewhere", SYS_mkdir, { PATH("elsewhere/new"), 0700 }, EPERM, LANDLOCK },
#endif
	{ OTHER_FILES, "openat", SYS_openat, { AT, PATH("other"), O_RDONLY | O_NONBLOCK }, LANDLOCK, LANDLOCK },
	{ OTHER_FILES, "openat, a directory", SYS_openat,
	  { AT, PATH("elsewhere"), O_RDONLY | O_NONBLOCK | O_DIRECTORY }, LANDLOCK, LANDLOCK },
	{ OTHER_FILES, "openat2", SYS_openat2, { AT, PATH("input"), 0, 0 }, EPERM, EPERM },
	{ WRITES, "openat, to write", SYS_openat, { AT, PATH("input"), O_WRONLY | O_NONBLOCK }, EPERM, LANDLOCK },
	{ WRITES, "openat, for both", SYS_openat, { AT, PATH("input"), O_RDWR | O_NONBLOCK }, EPERM, LANDLOCK },
	{ WRITES, "openat, to write, with upper bits", SYS_openat,
	  { AT, PATH("out/there"), O_WRONLY | O_NONBLOCK | HIGH }, EPERM, 0 },
	{ WRITES, "openat, for neither", SYS_openat, { AT, PATH("out/there"), O_ACCMODE }, EPERM, EPERM },
	{ WRITES, "openat, to truncate", SYS_openat, { AT, PATH("out/there"), O_RDONLY | O_TRUNC }, EPERM, EPERM },
	{ WRITES, "openat, to write and truncate", SYS_openat, { AT, PATH("out/there"), O_WRONLY | O_TRUNC }, EPERM,
	  EPERM },
	{ WRITES, "openat, to append", SYS_openat, { AT, PATH("out/there"), O_WRONLY | O_APPEND }, EPERM, EPERM },
	{ WRITES, "openat, to create and read", SYS_openat, { AT, PATH("out/new"), O_RDONLY | O_CREAT, 0600 }, EPERM,
	  EPERM },
	{ WRITES, "openat, to create or write", SYS_openat, { AT, PATH("out/new"), O_RDWR | O_CREAT, 0600 }, EPERM,
	  EPERM },
	{ WRITES, "openat, without a name", SYS_openat, { AT, PATH("out"), O_RDWR | O_TMPFILE, 0600 }, EPERM, EPERM },
	{ WRITES, "openat, to create elsewhere", SYS_openat,
	  { AT, PATH("elsewhere/new"), O_RDWR | O_CREAT | O_EXCL, 0600 }, EPERM, LANDLOCK },
	{ OUTPUTS, "openat, to create", SYS_openat,
	  { AT, PATH("out/new"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600 }, EPERM, 0 },
	{ OUTPUTS, "openat, for both", SYS_openat, { AT, PATH("out/there"), O_RDWR | O_NOFOLLOW | O_NONBLOCK }, EPERM, 0 },
	{ OUTPUTS, "openat, to write", SYS_openat, { AT, PATH("out/there"), O_WRONLY | O_NONBLOCK | O_NOCTTY }, EPERM, 0 },
	{ MODES, "openat, set-user-ID", SYS_openat, { AT, PATH("out/new"), O_RDWR | O_CREAT | O_EXCL, 04600 }, EPERM,
	  EPERM },
	{ MODES, "openat, set-group-ID", SYS_openat, { AT, PATH("out/new"), O_RDWR | O_CREAT | O_EXCL, 02600 }, EPERM,
	  EPERM },
	{ MODES, "openat, to execute", SYS_openat, { AT, PATH("out/new"), O_RDWR | O_CREAT | O_EXCL, 0700 }, EPERM,
	  EPERM },
	{ MODES, "openat, for others", SYS_openat, { AT, PATH("out/new"), O_RDWR | O_CREAT | O_EXCL, 0604 }, EPERM,
	  EPERM },
	{ MODES, "openat, with upper bits", SYS_openat,
	  { AT, PATH("out/new"), O_RDWR | O_CREAT | O_EXCL, 04755 | HIGH }, EPERM, EPERM },
	{ OUTPUTS, "openat, an existing file and a mode", SYS_openat, { AT, PATH("out/there"), O_RDWR | O_NONBLOCK, 04755 },
	  EPERM, 0 },
	{ OUTPUTS, "mkdirat", SYS_mkdirat, { AT, PATH("out/new"), 0777 }, EPERM, 0 },
	{ MODES, "mkdirat, set-group-ID", SYS_mkdirat, { AT, PATH("out/new"), 02700 }, EPERM, EPERM },
	{ MODES, "mkdirat, sticky", SYS_mkdirat, { AT, PATH("out/new"), 01777 }, EPERM, EPERM },
	{ OUTPUTS, "renameat2", SYS_renameat2, { AT, PATH("out/there"), AT, PATH("out/new"), 0 }, EPERM, 0 },
	{ WRITES, "renameat2, to exchange", SYS_renameat2,
	  { AT, PATH("out/there"), AT, PATH("out/standing"), RENAME_EXCHANGE }, EPERM, EPERM },
	{ WRITES, "renameat2, elsewhere", SYS_renameat2, { AT, PATH("out/there"), AT, PATH("elsewhere/new"), 0 }, EPERM,
	  LANDLOCK },
#ifdef SYS_renameat
	{ OUTPUTS, "renameat", SYS_renameat, { AT, PATH("out/there"), AT, PATH("out/new") }, EPERM, 0 },
	{ WRITES, "renameat elsewhere", SYS_renameat, { AT, PATH("elsewhere/there"), AT, PATH("elsewhere/new") }, EPERM,
	  LANDLOCK },
#endif
	{ OUTPUTS, "unlinkat", SYS_unlinkat, { AT, PATH("out/there"), 0 }, EPERM, 0 },
	{ WRITES, "unlinkat, a directory", SYS_unlinkat, { AT, PATH("out/empty"), AT_REMOVEDIR }, EPERM, EPERM },
	{ WRITES, "unlinkat elsewhere", SYS_unlinkat, { AT, PATH("elsewhere/there"), 0 }, EPERM, LANDLOCK },
	{ WRITES, "truncate", SYS_truncate, { PATH("out/there"), 0 }, EPERM, EPERM },
	{ OUTPUTS, "ftruncate", SYS_ftruncate, { -1, 0 }, EPERM, EBADF },
	{ OUTPUTS, "dup", SYS_dup, { 0 }, EPERM, 0 },
	{ OUTPUTS, "flock", SYS_flock, { -1, LOCK_EX | LOCK_NB }, EPERM, EBADF },
	{ OUTPUTS, "clock_nanosleep", SYS_clock_nanosleep, { 0, 0, PATH(&no_time), 0 }, EPERM, 0 },

	{ OPEN_FILES, "read", SYS_read, { 0, PATH(bytes), 0 }, 0, 0 },
	{ OPEN_FILES, "pread64", SYS_pread64, { -1, PATH(bytes), 1, 0 }, EBADF, EBADF },
	{ OPEN_FILES, "write", SYS_write, { 1, PATH(bytes), 0 }, 0, 0 },
	{ OPEN_FILES, "writev", SYS_writev, { 1, PATH(&vector), 0 }, 0, 0 },
	{ OPEN_FILES, "lseek", SYS_lseek, { -1, 0, SEEK_CUR }, EBADF, EBADF },
	{ OPEN_FILES, "close", SYS_close, { -1 }, EBADF, EBADF },
	{ OPEN_FILES, "ppoll", SYS_ppoll, { 0, 0, PATH(&no_time), 0, 0 }, 0, 0 },
	{ OPEN_FILES, "fcntl: F_GETFD", SYS_fcntl, { 0, F_GETFD }, 0, 0 },
	{ OPEN_FILES, "fcntl: F_GETFL", SYS_fcntl, { 0, F_GETFL }, 0, 0 },
	{ OPEN_FILES, "fcntl: F_DUPFD_CLOEXEC", SYS_fcntl, { 0, F_DUPFD_CLOEXEC, 3 }, 0, 0 },
	{ FILE_NAMES, "newfstatat", SYS_newfstatat, { AT, PATH("other"), PATH(bytes), 0 }, 0, 0 },
	{ FILE_NAMES, "statx", SYS_statx, { AT, PATH("other"), 0, 0, PATH(bytes) }, 0, 0 },
	{ FILE_NAMES, "faccessat", SYS_faccessat, { AT, PATH("other"), R_OK }, 0, 0 },
	{ FILE_NAMES, "readlinkat", SYS_readlinkat, { AT, PATH("/proc/self"), PATH(bytes), sizeof bytes }, 0, 0 },
	{ FILE_NAMES, "getcwd", SYS_getcwd, { PATH(bytes), sizeof bytes }, 0, 0 },

	{ MEMORY, "mmap", SYS_mmap, { 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1 }, 0, 0 },
	{ MEMORY, "brk", SYS_brk, { 0 }, 0, 0 },
	{ MEMORY, "madvise: MADV_DONTNEED", SYS_madvise, { 0, 0, MADV_DONTNEED }, 0, 0 },
	{ MEMORY, "madvise: MADV_SEQUENTIAL", SYS_madvise, { 0, 0, MADV_SEQUENTIAL }, 0, 0 },
	{ KERNEL, "madvise: MADV_HWPOISON", SYS_madvise, { 0, 0, MADV_HWPOISON }, EPERM, EPERM },
	{ KERNEL, "madvise: MADV_MERGEABLE", SYS_madvise, { 0, 0, MADV_MERGEABLE }, EPERM, EPERM },
	{ CODE, "mmap", SYS_mmap, { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1 }, EPERM, EPERM },
	{ CODE, "mmap, with upper bits", SYS_mmap,
	  { 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC | HIGH, MAP_PRIVATE | MAP_ANONYMOUS, -1 }, EPERM, EPERM },
	{ CODE, "mprotect", SYS_mprotect, { 0, 0, PROT_READ | PROT_EXEC }, EPERM, EPERM },
	{ MEMORY, "mprotect", SYS_mprotect, { 0, 0, PROT_READ | PROT_WRITE }, 0, 0 },
	{ CODE, "pkey_mprotect", SYS_pkey_mprotect, { 0, 0, PROT_READ | PROT_EXEC, -1 }, EPERM, EPERM },
	{ CODE, "memfd_create", SYS_memfd_create, { PATH("m"), 0 }, EPERM, EPERM },
	{ CODE, "personality: READ_IMPLIES_EXEC", SYS_personality, { 0x0400000 }, EPERM, EPERM },

	{ ATTRIBUTES, "fchmodat", SYS_fchmodat, { AT, PATH("out/there"), 0644 }, EPERM, EPERM },
	{ ATTRIBUTES, "fchmod", SYS_fchmod, { 1, 0644 }, EPERM, EPERM },
	{ ATTRIBUTES, "fchownat", SYS_fchownat, { AT, PATH("out/there"), -1, -1, 0 }, EPERM, EPERM },
	{ ATTRIBUTES, "utimensat", SYS_utimensat, { AT, PATH("out/there"), 0, 0 }, EPERM, EPERM },
	{ ATTRIBUTES, "setxattr", SYS_setxattr, { PATH("out/there"), PATH("user.x"), PATH("x"), 1, 0 }, EPERM, EPERM },
	{ ATTRIBUTES, "linkat", SYS_linkat, { AT, PATH("out/there"), AT, PATH("out/new"), 0 }, EPERM, EPERM },
	{ ATTRIBUTES, "symlinkat", SYS_symlinkat, { PATH("there"), AT, PATH("out/new") }, EPERM, EPERM },
	{ ATTRIBUTES, "mknodat", SYS_mknodat, { AT, PATH("out/new"), S_IFIFO | 0600, 0 }, EPERM, EPERM },
	{ ATTRIBUTES, "umask", SYS_umask, { 022 }, EPERM, EPERM },

	{ PROCESSES, "execve", SYS_execve, { PATH("/bin/true"), 0, 0 }, EPERM, EPERM },
	{ PROCESSES, "execveat", SYS_execveat, { AT, PATH("/bin/true"), 0, 0, 0 }, EPERM, EPERM },
	{ PROCESSES, "clone, a process", SYS_clone, { SIGCHLD }, EPERM, EPERM },
	{ PROCESSES, "clone3", SYS_clone3, { 0, 0 }, EPERM, EPERM },
	{ SIGNALS, "kill", SYS_kill, { 1, 0 }, EPERM, EPERM },
	{ SIGNALS, "tgkill", SYS_tgkill, { 1, 1, 0 }, EPERM, EPERM },
	{ SIGNALS, "pidfd_open", SYS_pidfd_open, { 1, 0 }, EPERM, EPERM },
	{ SIGNALS, "ptrace", SYS_ptrace, { 0x4206 /* PTRACE_SEIZE */, 1 }, EPERM, EPERM },
	{ SIGNALS, "process_vm_readv", SYS_process_vm_readv, { 1, 0, 0, 0, 0 }, EPERM, EPERM },
	{ SIGNALS, "process_vm_writev", SYS_process_vm_writev, { 1, 0, 0, 0, 0 }, EPERM, EPERM },
	{ SOCKETS, "socket", SYS_socket, { 1, 1, 0 }, EPERM, EPERM },
	{ SOCKETS, "socketpair", SYS_socketpair, { 1, 1, 0, PATH(bytes) }, EPERM, EPERM },
	{ SOCKETS, "sendmsg", SYS_sendmsg, { -1, 0, 0 }, EPERM, EPERM },
	{ SOCKETS, "recvmsg", SYS_recvmsg, { -1, 0, 0 }, EPERM, EPERM },
	{ SELF, "prlimit64", SYS_prlimit64, { 0, 7, 0, 0 }, EPERM, EPERM },
	{ SELF, "setrlimit", SYS_setrlimit, { 7, 0 }, EPERM, EPERM },
	{ SELF, "setuid", SYS_setuid, { 0 }, EPERM, EPERM },
	{ SELF, "capset", SYS_capset, { 0, 0 }, EPERM, EPERM },
	{ SELF, "prctl", SYS_prctl, { 0, 0, 0, 0, 0 }, EPERM, EPERM },
	{ SELF, "seccomp", SYS_seccomp, { 0, 0, 0 }, EPERM, EPERM },
	{ SELF, "chdir", SYS_chdir, { PATH(".") }, EPERM, EPERM },
	{ SELF, "chroot", SYS_chroot, { PATH(".") }, EPERM, EPERM },
	{ SELF, "unshare", SYS_unshare, { 0 }, EPERM, EPERM },
	{ SELF, "setns", SYS_setns, { -1, 0 }, EPERM, EPERM },
	{ SELF, "sched_setaffinity", SYS_sched_setaffinity, { 0, 0, 0 }, EPERM, EPERM },
	{ SELF, "setpriority", SYS_setpriority, { 0, 0, 0 }, EPERM, EPERM },
	{ KERNEL, "mount", SYS_mount, { 0, 0, 0, 0, 0 }, EPERM, EPERM },
	{ KERNEL, "bpf", SYS_bpf, { -1, 0, 0 }, EPERM, EPERM },
	{ KERNEL, "io_uring_setup", SYS_io_uring_setup, { 1, 0 }, EPERM, EPERM },
	{ KERNEL, "perf_event_open", SYS_perf_event_open, { 0, -1, -1, -1, 0 }, EPERM, EPERM },
	{ KERNEL, "userfaultfd", SYS_userfaultfd, { 0 }, EPERM, EPERM },
	{ KERNEL, "keyctl", SYS_keyctl, { -1 }, EPERM, EPERM },
	{ KERNEL, "shmget", SYS_shmget, { 0, 1, 0 }, EPERM, EPERM },
	{ KERNEL, "fallocate", SYS_fallocate, { 1, 0, 0, 1 }, EPERM, EPERM },
	{ KERNEL, "copy_file_range", SYS_copy_file_range, { 0, 0, 1, 0, 0, 0 }, EPERM, EPERM },
	{ KERNEL, "splice", SYS_splice, { 0, 0, 1, 0, 0, 0 }, EPERM, EPERM },
};

/* ioctl(2) of a terminal, which is open because the standard descriptors may be one. */
static const struct {
	const char *promise, *name;
	unsigned long request;
	int without_output, with_output;
} ioctls[] = {
	{ OPEN_FILES, "TCGETS", TCGETS, 0, 0 },
	{ OPEN_FILES, "TCGETS2", TCGETS2, 0, 0 },
	{ OUTPUTS, "FIONBIO", FIONBIO, EPERM, 0 },
	{ TERMINAL, "TIOCSTI", TIOCSTI, EPERM, EPERM },
	{ TERMINAL, "TIOCSTI, with upper bits", TIOCSTI | HIGH, EPERM, EPERM },
	{ TERMINAL, "TCGETS, with upper bits", TCGETS | HIGH, EPERM, EPERM },
	{ TERMINAL, "TIOCLINUX", TIOCLINUX, EPERM, EPERM },
	{ TERMINAL, "TIOCSCTTY", TIOCSCTTY, EPERM, EPERM },
	{ TERMINAL, "TIOCNOTTY", TIOCNOTTY, EPERM, EPERM },
	{ TERMINAL, "TIOCSPGRP", TIOCSPGRP, EPERM, EPERM },
	{ TERMINAL, "TIOCSETD", TIOCSETD, EPERM, EPERM },
	{ TERMINAL, "TIOCSWINSZ", TIOCSWINSZ, EPERM, EPERM },
	{ TERMINAL, "TCSETS", TCSETS, EPERM, EPERM },
	{ TERMINAL, "TCSETSW", TCSETSW, EPERM, EPERM },
	{ TERMINAL, "TCSETSF", TCSETSF, EPERM, EPERM },
	{ TERMINAL, "TCFLSH", TCFLSH, EPERM, EPERM },
	{ DESCRIPTORS, "FIOASYNC", FIOASYNC, EPERM, EPERM },
	{ DESCRIPTORS, "FIOSETOWN", 0x8901, EPERM, EPERM },
	{ DESCRIPTORS, "FIOCLEX", FIOCLEX, EPERM, EPERM },
	{ ATTRIBUTES, "FS_IOC_SETFLAGS", FS_IOC_SETFLAGS, EPERM, EPERM },
	{ WRITES, "FICLONE", FICLONE, EPERM, EPERM },
};

/* Commands of fcntl(2). The filter refuses all of them. */
static const struct {
	const char *name;
	int command;
	long argument;
} fcntls[] = {
	{ "F_SETFL", F_SETFL, 0 },
	{ "F_SETFL: O_ASYNC", F_SETFL, O_ASYNC },
	{ "F_SETFL: O_APPEND off", F_SETFL, O_RDWR },
	{ "F_SETOWN", F_SETOWN, 1 },
	{ "F_SETOWN_EX", F_SETOWN_EX, (long)bytes },
	{ "F_SETSIG", F_SETSIG, SIGKILL },
	{ "F_NOTIFY", F_NOTIFY, DN_ACCESS },
	{ "F_SETLEASE", F_SETLEASE, F_UNLCK },
	{ "F_SETLK", F_SETLK, (long)&lock },
	{ "F_SETPIPE_SZ", F_SETPIPE_SZ, 4096 },
	{ "F_ADD_SEALS", F_ADD_SEALS, 0 },
	{ "F_SETFD", F_SETFD, 0 },
	{ "F_DUPFD", F_DUPFD, 0 },
};

/* Makes these calls fail, as on a kernel that lacks them. Of prctl(2), only PR_SET_SECCOMP fails. */
static bool calls_fail(int error, const int *calls, size_t count)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int rc = filter != NULL ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (calls[i] == SYS_prctl)
			rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)error), calls[i], 1,
					      SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP));
		else
			rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)error), calls[i], 0);
	}
	return rc == 0 && seccomp_load(filter) == 0;
}

/* set if attempts are made as on a kernel without Landlock */
static bool has_no_landlock;

/* set if directories can be removed */
static bool removes;

static int confine(bool output)
{
	static const int landlock[] = { SYS_landlock_create_ruleset };
	const char *input = "input";

	if (has_no_landlock && !calls_fail(ENOSYS, landlock, 1))
		return -1;
	return vg_reader_confine(&(struct vg_confinement){
		.paths = &input, .path_count = 1, .writes = output ? "out/output" : NULL, .removes = removes,
	}, NULL);
}

enum { UNCONFINED = 250 };

/* Makes a call in a confined process. Returns 0, an errno, or KILLED. */
static int confined_call(bool output, long call, const long *at)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (confine(output) != 0)
			_exit(UNCONFINED);
		_exit(syscall(call, at[0], at[1], at[2], at[3], at[4], at[5]) == -1 ? errno : 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

static void expect(const char *promise, const char *name, bool output, int expected, int result)
{
	if (expected == LANDLOCK)
		expected = landlock_version() > 0 && !has_no_landlock ? EACCES : 0;
	ck_assert_msg(result == expected, "%s (%s), %s output: %d, not %d", promise, name,
		      output ? "with an" : "without", result, expected);
}

/* Undoes what the previous attempt has made, renamed or removed. */
static void paths_restore(void)
{
	rename("elsewhere/new", "elsewhere/there");
	rename("out/new", "out/there");
	rmdir("out/new");
	rmdir("elsewhere/new");
	mkdir("out/empty", 0700);
	close(open("out/there", O_CREAT | O_WRONLY, 0600));
	close(open("elsewhere/there", O_CREAT | O_WRONLY, 0600));
}

static void attempt_try(const struct attempt *attempt, bool output)
{
	for (int no_landlock = 0; no_landlock < 2; no_landlock++) {
		has_no_landlock = no_landlock;
		paths_restore();
		expect(attempt->promise, attempt->name, output, output ? attempt->with_output : attempt->without_output,
		       confined_call(output, attempt->call, attempt->arguments));
	}
}

/* With `removes`, only empty directories below that of the output can be removed. */
START_TEST(directories_can_be_removed)
{
	const long within[6] = { AT, PATH("out/empty"), AT_REMOVEDIR };
	const long filled[6] = { AT, PATH("out"), AT_REMOVEDIR };
	const long elsewhere[6] = { AT, PATH("elsewhere/empty"), AT_REMOVEDIR };

	removes = true;
	for (int no_landlock = 0; no_landlock < 2; no_landlock++) {
		has_no_landlock = no_landlock;
		paths_restore();
		mkdir("elsewhere/empty", 0700);
		expect(OUTPUTS, "unlinkat, a directory", true, 0, confined_call(true, SYS_unlinkat, within));
		expect(WRITES, "unlinkat, its parent", true, landlock_version() > 0 && !no_landlock ? EACCES : ENOTEMPTY,
		       confined_call(true, SYS_unlinkat, filled));
		expect(WRITES, "unlinkat, a directory elsewhere", true, LANDLOCK,
		       confined_call(true, SYS_unlinkat, elsewhere));
		rmdir("elsewhere/empty");
	}
}
END_TEST

/* This test also runs in a build with sanitizers. The others do not: vgtool is not confined in that build. */
START_TEST(reading_and_writing_is_allowed)
{
	const long reads[6] = { AT, PATH("input"), O_RDONLY | O_NONBLOCK };
	const long makes[6] = { AT, PATH("out/new"), O_RDWR | O_CREAT | O_EXCL, 0600 };

	paths_restore();
	expect(READS, "openat", false, 0, confined_call(false, SYS_openat, reads));
	expect(OUTPUTS, "openat", true, 0, confined_call(true, SYS_openat, makes));
}
END_TEST

START_TEST(calls_without_an_output)
{
	attempt_try(&attempts[_i], false);
}
END_TEST

START_TEST(calls_with_an_output)
{
	attempt_try(&attempts[_i], true);
}
END_TEST

/* `bytes` is the character for TIOCSTI, and the memory for the results of other requests. */
START_TEST(ioctls_of_a_terminal)
{
	for (int output = 0; output < 2; output++) {
		long arguments[6] = { terminal, (long)ioctls[_i].request, (long)bytes };

		expect(ioctls[_i].promise, ioctls[_i].name, output,
		       output ? ioctls[_i].with_output : ioctls[_i].without_output,
		       confined_call(output, SYS_ioctl, arguments));
	}
}
END_TEST

START_TEST(fcntls_of_a_file)
{
	for (int output = 0; output < 2; output++) {
		long arguments[6] = { opened_before, fcntls[_i].command, fcntls[_i].argument };

		expect(DESCRIPTORS, fcntls[_i].name, output, EPERM,
		       confined_call(output, SYS_fcntl, arguments));
	}
}
END_TEST

/* An output that was opened before the confinement can be truncated, even if it was opened for appending. */
START_TEST(output_opened_before_can_be_truncated)
{
	long arguments[6] = { opened_before, 0 };

	expect(WRITES, "ftruncate", false, EPERM, confined_call(false, SYS_ftruncate, arguments));
	expect(OUTPUTS, "ftruncate", true, 0, confined_call(true, SYS_ftruncate, arguments));
}
END_TEST

/* When a file is opened, Landlock decides whether it can be truncated later. */
START_TEST(output_opened_later_can_be_truncated)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (confine(true) != 0)
			_exit(UNCONFINED);
		_exit(ftruncate(openat(AT, "out/there", O_RDWR | O_NONBLOCK), 0) != 0 ? errno : 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(existing_memory_cannot_become_executable)
{
	long arguments[6] = { (long)page, 4096, PROT_READ | PROT_EXEC };

	expect(CODE, "mprotect", false, EPERM, confined_call(false, SYS_mprotect, arguments));
	arguments[2] = PROT_READ;
	expect(MEMORY, "mprotect", false, 0, confined_call(false, SYS_mprotect, arguments));
}
END_TEST

/* If the output is a device, only the device can be written, not the other files of its directory. */
START_TEST(only_the_output_device_can_be_written)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (vg_reader_confine(&(struct vg_confinement){ .writes = "/dev/null" }, NULL) != 0)
			_exit(UNCONFINED);
		if (open("/dev/null", O_WRONLY | O_NONBLOCK) < 0)
			_exit(1);
		if (landlock_version() > 0 && (open("/dev/full", O_WRONLY | O_NONBLOCK) >= 0 || errno != EACCES))
			_exit(2);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

#ifdef __x86_64__
/* getpid(2) of the x32 ABI, which has 32-bit pointers and 64-bit registers. */
START_TEST(x32_call_ends_the_process)
{
	long no_arguments[6] = { 0 };

	for (int output = 0; output < 2; output++)
		expect(ABI, "x32", output, KILLED, confined_call(output, 0x40000000 + SYS_getpid, no_arguments));
}
END_TEST

/* 5 is open(2) in the 32-bit ABI and fstat(2) in the 64-bit ABI. */
START_TEST(call_of_32_bits_ends_the_process)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		long result = 5;

		if (confine(false) != 0)
			_exit(UNCONFINED);
		__asm__ volatile("int $0x80" : "+a"(result) : "b"(0), "c"(0), "d"(0) : "memory");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFSIGNALED(status), "%s (int 0x80): %x", ABI, status);
}
END_TEST
#endif

/* ---- kernels that cannot confine a process ---- */

static int confine_when_seccomp_fails(int error)
{
	static const int calls[] = { SYS_seccomp, SYS_prctl };
	int status;
	pid_t child = fork();

	if (child == 0) {
		int rc = calls_fail(error, calls, 2) ? confine(false) : UNCONFINED;

		_exit(rc != 0 ? abs(rc) : vg_confine_has_seccomp() ? 251 : 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(kernel_without_seccomp_is_accepted)
{
	ck_assert(vg_confine_has_seccomp());
	ck_assert_int_eq(confine_when_seccomp_fails(EINVAL), 0);
	ck_assert_int_eq(confine_when_seccomp_fails(ENOSYS), 0);
}
END_TEST

START_TEST(failure_to_load_the_filter_is_an_error)
{
	ck_assert_int_eq(confine_when_seccomp_fails(ENOMEM), ENOMEM);
	ck_assert_int_eq(confine_when_seccomp_fails(EACCES), EACCES);
}
END_TEST

#define COUNT(array) ((int)(sizeof (array) / sizeof *(array)))

Suite *confine_suite(void)
{
	Suite *suite = suite_create("confine");
	TCase *tests = tcase_create("readers");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, reading_and_writing_is_allowed);
	if (!SANITIZED) {
		tcase_add_loop_test(tests, calls_without_an_output, 0, COUNT(attempts));
		tcase_add_loop_test(tests, calls_with_an_output, 0, COUNT(attempts));
		tcase_add_test(tests, directories_can_be_removed);
		tcase_add_loop_test(tests, ioctls_of_a_terminal, 0, COUNT(ioctls));
		tcase_add_loop_test(tests, fcntls_of_a_file, 0, COUNT(fcntls));
		tcase_add_test(tests, output_opened_before_can_be_truncated);
		tcase_add_test(tests, output_opened_later_can_be_truncated);
		tcase_add_test(tests, existing_memory_cannot_become_executable);
		tcase_add_test(tests, only_the_output_device_can_be_written);
#ifdef __x86_64__
		tcase_add_test(tests, x32_call_ends_the_process);
		tcase_add_test(tests, call_of_32_bits_ends_the_process);
#endif
		tcase_add_test(tests, kernel_without_seccomp_is_accepted);
		tcase_add_test(tests, failure_to_load_the_filter_is_an_error);
	}
	suite_add_tcase(suite, tests);
	return suite;
}
