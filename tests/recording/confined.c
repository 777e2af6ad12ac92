/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a confined helper can and cannot do.  Tests each line of the list in section Confinement of vignetted(8), and
 * for each argument that the filter checks, an allowed and a refused value.  Each call runs in a process of its own,
 * which traces a target.  Reports in TAP.
 *
 *     confined                          runs the tests
 *     confined COMMAND [ARGUMENT ...]   runs a command that may not load filters
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vignetted/serve/confine.h"

static pid_t target;                     /* stopped under our ptrace */
static pid_t untraced;                   /* a process that we may trace, and do not trace */
static int file, pair[2];                /* a file that is open for writing; a socket pair */

/* These stand for arguments that are known only when the test runs.  No call has such numbers as arguments. */
enum { TARGET = -77000001, UNTRACED = -77000002, FILE_FD = -77000003, SOCKET_FD = -77000004, BUFFER = -77000005,
       PATH = -77000006 };

#define RAX (long)offsetof(struct user, regs.rax)
#define RIP (long)offsetof(struct user, regs.rip)
#define RESTART -514L                    /* the kernel's -ERESTARTNOHAND */
#define NO (-1L)
#define HERE AT_FDCWD, PATH

enum allowed { NEVER, ALWAYS, LISTENING };

/* A system call and its arguments.  If it is allowed, the kernel executes it or refuses it for its own reasons.
 * Otherwise the filter returns EPERM. */
static const struct attempt {
	const char *name;
	enum allowed allowed;
	long call, arguments[6];
} attempts[] = {
	/* ---- threads of other processes ---- */
	{ "attach to a thread", ALWAYS, SYS_ptrace, { PTRACE_SEIZE, UNTRACED, 0, 0 } },
	{ "attach so that our exit kills it", NEVER, SYS_ptrace, { PTRACE_SEIZE, UNTRACED, 0, PTRACE_O_EXITKILL } },
	{ "attach with another option", NEVER, SYS_ptrace, { PTRACE_SEIZE, UNTRACED, 0, PTRACE_O_TRACECLONE } },
	{ "stop a thread", ALWAYS, SYS_ptrace, { PTRACE_INTERRUPT, TARGET, 0, 0 } },
	{ "stop a thread with data", NEVER, SYS_ptrace, { PTRACE_INTERRUPT, TARGET, 0, 1 } },
	{ "continue a thread", ALWAYS, SYS_ptrace, { PTRACE_DETACH, TARGET, 0, 0 } },
	{ "continue a thread with SIGHUP", ALWAYS, SYS_ptrace, { PTRACE_DETACH, TARGET, 0, SIGHUP } },
	{ "continue a thread with SIGTERM", ALWAYS, SYS_ptrace, { PTRACE_DETACH, TARGET, 0, SIGTERM } },
	{ "continue a thread with SIGKILL", NEVER, SYS_ptrace, { PTRACE_DETACH, TARGET, 0, SIGKILL } },
	{ "read registers", ALWAYS, SYS_ptrace, { PTRACE_GETREGSET, TARGET, NT_PRSTATUS, BUFFER } },
	{ "read vector registers", NEVER, SYS_ptrace, { PTRACE_GETREGSET, TARGET, NT_X86_XSTATE, BUFFER } },
	{ "have a system call restarted", ALWAYS, SYS_ptrace, { PTRACE_POKEUSER, TARGET, RAX, RESTART } },
	{ "set RAX to another value", NEVER, SYS_ptrace, { PTRACE_POKEUSER, TARGET, RAX, 1 } },
	{ "set another register", NEVER, SYS_ptrace, { PTRACE_POKEUSER, TARGET, RIP, RESTART } },
	{ "set all registers", NEVER, SYS_ptrace, { PTRACE_SETREGSET, TARGET, NT_PRSTATUS, BUFFER } },
	{ "set all registers (PTRACE_SETREGS)", NEVER, SYS_ptrace, { PTRACE_SETREGS, TARGET, 0, BUFFER } },
	{ "write memory by ptrace", NEVER, SYS_ptrace, { PTRACE_POKEDATA, TARGET, BUFFER, 1 } },
	{ "write code by ptrace", NEVER, SYS_ptrace, { PTRACE_POKETEXT, TARGET, BUFFER, 1 } },
	{ "resume a tracee", NEVER, SYS_ptrace, { PTRACE_CONT, TARGET, 0, 0 } },
	{ "resume a tracee until its next call", NEVER, SYS_ptrace, { PTRACE_SYSCALL, TARGET, 0, 0 } },
	{ "step a tracee", NEVER, SYS_ptrace, { PTRACE_SINGLESTEP, TARGET, 0, 0 } },
	{ "kill a tracee", NEVER, SYS_ptrace, { PTRACE_KILL, TARGET, 0, 0 } },
	{ "set options of a tracee", NEVER, SYS_ptrace, { PTRACE_SETOPTIONS, TARGET, 0, PTRACE_O_EXITKILL } },
	{ "set a tracee's signal", NEVER, SYS_ptrace, { PTRACE_SETSIGINFO, TARGET, 0, BUFFER } },
	{ "set a tracee's signal mask", NEVER, SYS_ptrace, { PTRACE_SETSIGMASK, TARGET, 8, BUFFER } },
	{ "attach (PTRACE_ATTACH)", NEVER, SYS_ptrace, { PTRACE_ATTACH, UNTRACED, 0, 0 } },
	{ "read memory", ALWAYS, SYS_process_vm_readv, { TARGET, BUFFER, 0, BUFFER, 0, 0 } },
	{ "write memory", NEVER, SYS_process_vm_writev, { TARGET, BUFFER, 0, BUFFER, 0, 0 } },
	{ "wait for a tracee", ALWAYS, SYS_wait4, { TARGET, 0, WNOHANG | __WALL, 0 } },
	{ "kill", NEVER, SYS_kill, { TARGET, SIGUSR1 } },
	{ "tkill", NEVER, SYS_tkill, { TARGET, SIGUSR1 } },
	{ "tgkill", NEVER, SYS_tgkill, { TARGET, TARGET, SIGUSR1 } },
	{ "rt_sigqueueinfo", NEVER, SYS_rt_sigqueueinfo, { TARGET, SIGUSR1, BUFFER } },
	{ "pidfd_open", NEVER, SYS_pidfd_open, { TARGET, 0 } },
	{ "pidfd_send_signal", NEVER, SYS_pidfd_send_signal, { FILE_FD, SIGUSR1, 0, 0 } },
	{ "pidfd_getfd", NEVER, SYS_pidfd_getfd, { FILE_FD, 0, 0 } },
	{ "process_madvise", NEVER, SYS_process_madvise, { FILE_FD, BUFFER, 1, MADV_COLD, 0 } },
	/* ---- files ---- */
	{ "open a file to read", ALWAYS, SYS_openat, { HERE, O_RDONLY | O_CLOEXEC } },
	{ "open without following links", ALWAYS, SYS_openat, { HERE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK } },
	{ "open a directory's path", ALWAYS, SYS_openat, { HERE, O_PATH | O_DIRECTORY } },
	{ "open a file to write", NEVER, SYS_openat, { HERE, O_WRONLY } },
	{ "open a file to read and write", NEVER, SYS_openat, { HERE, O_RDWR } },
	{ "create a file", NEVER, SYS_openat, { HERE, O_RDONLY | O_CREAT, 0600 } },
	{ "truncate a file", NEVER, SYS_openat, { HERE, O_RDONLY | O_TRUNC } },
	{ "open a file to append", NEVER, SYS_openat, { HERE, O_RDONLY | O_APPEND } },
	{ "create a file without a name", NEVER, SYS_openat, { HERE, O_TMPFILE | O_RDWR, 0600 } },
	{ "open(2)", NEVER, SYS_open, { PATH, O_RDONLY } },
	{ "openat2", NEVER, SYS_openat2, { HERE, BUFFER, 24 } },
	{ "open_by_handle_at", NEVER, SYS_open_by_handle_at, { AT_FDCWD, BUFFER, O_RDONLY } },
	{ "creat", NEVER, SYS_creat, { PATH, 0600 } },
	{ "rename", NEVER, SYS_rename, { PATH, PATH } },
	{ "renameat", NEVER, SYS_renameat, { HERE, HERE } },
	{ "renameat2", NEVER, SYS_renameat2, { HERE, HERE, 0 } },
	{ "unlink", NEVER, SYS_unlink, { PATH } },
	{ "unlinkat", NEVER, SYS_unlinkat, { HERE, 0 } },
	{ "linkat", NEVER, SYS_linkat, { HERE, HERE, 0 } },
	{ "symlinkat", NEVER, SYS_symlinkat, { PATH, HERE } },
	{ "mkdirat", NEVER, SYS_mkdirat, { HERE, 0700 } },
	{ "rmdir", NEVER, SYS_rmdir, { PATH } },
	{ "mknodat", NEVER, SYS_mknodat, { HERE, 0600, 0 } },
	{ "chmod", NEVER, SYS_chmod, { PATH, 0600 } },
	{ "fchmod", NEVER, SYS_fchmod, { FILE_FD, 0600 } },
	{ "fchmodat", NEVER, SYS_fchmodat, { HERE, 0600 } },
	{ "fchown", NEVER, SYS_fchown, { FILE_FD, 0, 0 } },
	{ "truncate", NEVER, SYS_truncate, { PATH, 0 } },
	{ "utimensat", NEVER, SYS_utimensat, { HERE, 0, 0 } },
	{ "setxattr", NEVER, SYS_setxattr, { PATH, PATH, BUFFER, 0, 0 } },
	{ "chdir", NEVER, SYS_chdir, { PATH } },
	{ "chroot", NEVER, SYS_chroot, { PATH } },
	{ "mount", NEVER, SYS_mount, { PATH, PATH, PATH, 0, 0 } },
	{ "umount2", NEVER, SYS_umount2, { PATH, 0 } },
	/* ---- open descriptors ---- */
	{ "write to an open file", ALWAYS, SYS_write, { FILE_FD, BUFFER, 1 } },
	{ "truncate an open file", ALWAYS, SYS_ftruncate, { FILE_FD, 0 } },
	{ "sync an open file", ALWAYS, SYS_sync_file_range, { FILE_FD, 0, 0, 0 } },
	{ "lock an open file", ALWAYS, SYS_flock, { FILE_FD, LOCK_UN } },
	{ "send on an open socket", ALWAYS, SYS_sendmsg, { FILE_FD, BUFFER, 0 } },
	{ "receive on an open socket", ALWAYS, SYS_recvmsg, { FILE_FD, BUFFER, 0 } },
	{ "read the flags of a descriptor", ALWAYS, SYS_fcntl, { FILE_FD, F_GETFL } },
	{ "read the seals of a file", ALWAYS, SYS_fcntl, { FILE_FD, F_GET_SEALS } },
	{ "set the flags of a descriptor", NEVER, SYS_fcntl, { FILE_FD, F_SETFL, O_ASYNC } },
	{ "have a signal sent to an owner", NEVER, SYS_fcntl, { FILE_FD, F_SETOWN, TARGET } },
	{ "choose the signal for an owner", NEVER, SYS_fcntl, { FILE_FD, F_SETSIG, SIGKILL } },
	{ "have a signal sent for a directory", NEVER, SYS_fcntl, { FILE_FD, F_NOTIFY, 0 } },
	{ "copy a descriptor", NEVER, SYS_fcntl, { FILE_FD, F_DUPFD, 0 } },
	{ "lock a part of a file", NEVER, SYS_fcntl, { FILE_FD, F_SETLK, BUFFER } },
	{ "seal a file", NEVER, SYS_fcntl, { FILE_FD, F_ADD_SEALS, 0 } },
	{ "insert input into a terminal", NEVER, SYS_ioctl, { FILE_FD, TIOCSTI, BUFFER } },
	{ "read a terminal's settings", NEVER, SYS_ioctl, { FILE_FD, TCGETS, BUFFER } },
	{ "make a descriptor nonblocking", NEVER, SYS_ioctl, { FILE_FD, FIONBIO, BUFFER } },
	{ "have a descriptor send signals", NEVER, SYS_ioctl, { FILE_FD, FIOASYNC, BUFFER } },
	{ "dup", NEVER, SYS_dup, { FILE_FD } },
	{ "sendfile", NEVER, SYS_sendfile, { FILE_FD, FILE_FD, 0, 0 } },
	{ "splice", NEVER, SYS_splice, { FILE_FD, 0, FILE_FD, 0, 0, 0 } },
	{ "io_uring_setup", NEVER, SYS_io_uring_setup, { 1, BUFFER } },
	/* ---- sockets ---- */
	{ "accept a connection", LISTENING, SYS_accept4, { FILE_FD, 0, 0, 0 } },
	{ "read a peer's credentials", LISTENING, SYS_getsockopt,
	  { SOCKET_FD, SOL_SOCKET, SO_PEERCRED, BUFFER, BUFFER } },
	{ "read another option of a socket", NEVER, SYS_getsockopt,
	  { SOCKET_FD, SOL_SOCKET, SO_ERROR, BUFFER, BUFFER } },
	{ "read an option of another level", NEVER, SYS_getsockopt, { SOCKET_FD, 6, SO_PEERCRED, BUFFER, BUFFER } },
	{ "setsockopt", NEVER, SYS_setsockopt, { SOCKET_FD, SOL_SOCKET, SO_PASSCRED, BUFFER, 4 } },
	{ "socket", NEVER, SYS_socket, { AF_INET, SOCK_STREAM, 0 } },
	{ "socketpair", NEVER, SYS_socketpair, { AF_UNIX, SOCK_STREAM, 0, BUFFER } },
	{ "connect", NEVER, SYS_connect, { SOCKET_FD, BUFFER, 16 } },
	{ "bind", NEVER, SYS_bind, { SOCKET_FD, BUFFER, 16 } },
	{ "listen", NEVER, SYS_listen, { SOCKET_FD, 1 } },
	{ "sendto", NEVER, SYS_sendto, { SOCKET_FD, BUFFER, 0, 0, 0, 0 } },
	/* ---- perf events ---- */
	{ "open a counter of a thread", ALWAYS, SYS_perf_event_open, { 0, TARGET, NO, NO, PERF_FLAG_FD_CLOEXEC } },
	{ "open a timer of a thread", ALWAYS, SYS_perf_event_open, { 0, TARGET, 0, NO, PERF_FLAG_FD_CLOEXEC } },
	{ "open an event of a cgroup", NEVER, SYS_perf_event_open,
	  { 0, FILE_FD, 0, NO, PERF_FLAG_FD_CLOEXEC | PERF_FLAG_PID_CGROUP } },
	{ "open an event that survives execve", NEVER, SYS_perf_event_open, { 0, TARGET, NO, NO, 0 } },
	{ "enable an event", NEVER, SYS_ioctl, { FILE_FD, PERF_EVENT_IOC_ENABLE, 0 } },
	{ "disable an event", NEVER, SYS_ioctl, { FILE_FD, PERF_EVENT_IOC_DISABLE, 0 } },
	{ "read an event's id", NEVER, SYS_ioctl, { FILE_FD, PERF_EVENT_IOC_ID, BUFFER } },
	{ "give an event its ring", ALWAYS, SYS_ioctl, { FILE_FD, PERF_EVENT_IOC_SET_OUTPUT, NO } },
	{ "set an event's period", ALWAYS, SYS_ioctl, { FILE_FD, PERF_EVENT_IOC_PERIOD, BUFFER } },
	{ "reset an event", NEVER, SYS_ioctl, { FILE_FD, PERF_EVENT_IOC_RESET, 0 } },
	{ "give an event a filter", NEVER, SYS_ioctl, { FILE_FD, PERF_EVENT_IOC_SET_FILTER, BUFFER } },
	{ "give an event a program", NEVER, SYS_ioctl, { FILE_FD, PERF_EVENT_IOC_SET_BPF, FILE_FD } },
	{ "change an event", NEVER, SYS_ioctl, { FILE_FD, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, BUFFER } },
	/* ---- the helper itself ---- */
	{ "map memory", ALWAYS, SYS_mmap, { 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, NO, 0 } },
	{ "map executable memory", NEVER, SYS_mmap,
	  { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, NO, 0 } },
	{ "protect memory", ALWAYS, SYS_mprotect, { 0, 0, PROT_READ } },
	{ "free memory", ALWAYS, SYS_madvise, { 0, 0, MADV_DONTNEED } },
	{ "poison the machine's memory", NEVER, SYS_madvise, { BUFFER, 4096, MADV_HWPOISON } },
	{ "give other advice on memory", NEVER, SYS_madvise, { BUFFER, 4096, MADV_MERGEABLE } },
	{ "make memory executable", NEVER, SYS_mprotect, { 0, 0, PROT_READ | PROT_EXEC } },
	{ "pkey_mprotect", NEVER, SYS_pkey_mprotect, { 0, 0, PROT_READ | PROT_EXEC, NO } },
	{ "become an ordinary process", ALWAYS, SYS_sched_setscheduler, { 0, SCHED_OTHER, BUFFER } },
	{ "become a batch process", NEVER, SYS_sched_setscheduler, { 0, SCHED_BATCH, BUFFER } },
	{ "become a real-time process", ALWAYS, SYS_sched_setscheduler, { 0, SCHED_FIFO, 0 } },
	{ "take another policy", NEVER, SYS_sched_setscheduler, { 0, SCHED_RR, 0 } },
	{ "set another process's policy", NEVER, SYS_sched_setscheduler, { TARGET, SCHED_OTHER, BUFFER } },
	{ "set its slice", ALWAYS, SYS_sched_setattr, { 0, 0, 0 } },
	{ "set another process's slice", NEVER, SYS_sched_setattr, { TARGET, 0, 0 } },
	{ "set its slice with flags", NEVER, SYS_sched_setattr, { 0, 0, 1 } },
	{ "set its CPUs", NEVER, SYS_sched_setaffinity, { 0, 8, BUFFER } },
	{ "setpriority", NEVER, SYS_setpriority, { PRIO_PROCESS, TARGET, 19 } },
	{ "set its timer slack", ALWAYS, SYS_prctl, { PR_SET_TIMERSLACK, 1, 0, 0, 0 } },
	{ "become dumpable", NEVER, SYS_prctl, { PR_SET_DUMPABLE, 1, 0, 0, 0 } },
	{ "another prctl", NEVER, SYS_prctl, { PR_SET_NAME, BUFFER, 0, 0, 0 } },
	{ "read a limit of its own", ALWAYS, SYS_prlimit64, { 0, RLIMIT_NOFILE, 0, BUFFER } },
	{ "read another process's limit", NEVER, SYS_prlimit64, { TARGET, RLIMIT_NOFILE, 0, BUFFER } },
	{ "set a limit", NEVER, SYS_prlimit64, { 0, RLIMIT_NOFILE, BUFFER, 0 } },
	{ "setrlimit", NEVER, SYS_setrlimit, { RLIMIT_NOFILE, BUFFER } },
	{ "execve", NEVER, SYS_execve, { PATH, 0, 0 } },
	{ "execveat", NEVER, SYS_execveat, { HERE, 0, 0, 0 } },
	{ "fork", NEVER, SYS_fork, { 0 } },
	{ "vfork", NEVER, SYS_vfork, { 0 } },
	{ "clone", NEVER, SYS_clone, { SIGCHLD, 0, 0, 0, 0 } },
	{ "clone3", NEVER, SYS_clone3, { BUFFER, 0 } },
	{ "unshare", NEVER, SYS_unshare, { 0 } },
	{ "setns", NEVER, SYS_setns, { FILE_FD, 0 } },
	{ "setuid", NEVER, SYS_setuid, { 0 } },
	{ "setresuid", NEVER, SYS_setresuid, { NO, NO, NO } },
	{ "capset", NEVER, SYS_capset, { BUFFER, BUFFER } },
	{ "seccomp", NEVER, SYS_seccomp, { 1, 0, BUFFER } },
	{ "bpf", NEVER, SYS_bpf, { 0, BUFFER, 0 } },
	{ "keyctl", NEVER, SYS_keyctl, { 0, 0 } },
	{ "userfaultfd", NEVER, SYS_userfaultfd, { 0 } },
	{ "memfd_create", NEVER, SYS_memfd_create, { PATH, 0 } },
	{ "shmget", NEVER, SYS_shmget, { 0, 4096, 0 } },
	{ "inotify_init1", NEVER, SYS_inotify_init1, { 0 } },
	{ "personality", NEVER, SYS_personality, { 0xffffffff } },
	{ "timer_create", NEVER, SYS_timer_create, { CLOCK_MONOTONIC, 0, BUFFER } },
	{ "rt_sigaction", NEVER, SYS_rt_sigaction, { SIGUSR1, 0, BUFFER, 8 } },
};

static long argument_of(long argument)
{
	static char buffer[1 << 16] __attribute__((aligned(64)));

	switch (argument) {
	case TARGET: return target;
	case UNTRACED: return untraced;
	case FILE_FD: return file;
	case SOCKET_FD: return pair[0];
	case BUFFER: return (long)buffer;
	case PATH: return (long)"confined.nothing";
	}
	return argument;
}

static bool attempt_passes(const struct attempt *attempt)
{
	long arguments[6];

	for (int i = 0; i < 6; i++)
		arguments[i] = argument_of(attempt->arguments[i]);
	errno = 0;
	syscall(attempt->call, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
	return errno != EPERM;
}

/* ---- effects that take more than one system call ---- */

static bool cpu_timer_passes(void)
{
	return syscall(SYS_perf_event_open, NULL, -1, 0, -1, PERF_FLAG_FD_CLOEXEC) < 0 && errno == EFAULT;
}

static bool memory_reads(void)
{
	/* The target is a fork of this process, so it has the same addresses. */
	static char text[] = "private";
	char copy[sizeof text] = "";
	struct iovec local = { copy, sizeof copy }, remote = { text, sizeof text };

	return process_vm_readv(target, &local, 1, &remote, 1, 0) == (ssize_t)sizeof text &&
	       memcmp(copy, text, sizeof text) == 0;
}

static bool any_file_reads(void)
{
	char byte;
	int fd = open("/proc/1/status", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, &byte, 1) == 1;
}

static bool no_new_privileges(void)
{
	static char text[4096];
	int fd = open("/proc/self/status", O_RDONLY);

	return read(fd, text, sizeof text - 1) > 0 && strstr(text, "NoNewPrivs:\t1") != NULL &&
	       strstr(text, "Seccomp:\t2") != NULL;
}

/* SIGUSR1 is pending for the target, and the target gets SIGTERM instead. */
static bool signal_is_exchanged(void)
{
	int status;

	return ptrace(PTRACE_DETACH, target, 0, SIGTERM) == 0 &&
	       waitpid(target, &status, __WALL) == target && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}

/* An event with `sigtrap` has the kernel send SIGTRAP to the thread (Linux 5.13). */
static bool trap_is_sent(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 100000, .exclude_kernel = 1, .sigtrap = 1, .remove_on_exec = 1,
	};
	int status, fd;

	if (ptrace(PTRACE_DETACH, target, 0, 0) != 0)
		return false;
	fd = (int)syscall(SYS_perf_event_open, &attr, target, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 && waitpid(target, &status, __WALL) == target && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGTRAP;
}

/* A uprobe changes the code of every process that runs the file.  On Linux 6.18, CAP_PERFMON alone does not allow
 * it. */
static bool uprobe_is_placed(void)
{
	struct perf_event_attr attr = { .size = sizeof attr, .config2 = 64, .sample_period = 1 };
	char program[4096] = "", type[16] = "";
	int fd = open("/sys/bus/event_source/devices/uprobe/type", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, type, sizeof type - 1) <= 0 ||
	    readlink("/proc/self/exe", program, sizeof program - 1) <= 0)
		return true;
	attr.type = (uint32_t)atoi(type);
	attr.config1 = (uint64_t)program;
	return syscall(SYS_perf_event_open, &attr, target, -1, -1, PERF_FLAG_FD_CLOEXEC) >= 0 ||
	       (errno != EACCES && errno != EPERM);
}

/* The process has only those of root's capabilities that vignetted(8) names, and none that execve(2) would keep. */
static bool capabilities_are_few(void)
{
	const uint64_t few = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_IPC_LOCK |
			     UINT64_C(1) << CAP_SYS_NICE | UINT64_C(1) << CAP_DAC_READ_SEARCH |
			     UINT64_C(1) << CAP_PERFMON;
	static char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	const char *inheritable, *permitted;

	if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
		return false;
	inheritable = strstr(text, "CapInh:\t");
	permitted = strstr(text, "CapPrm:\t");
	return inheritable != NULL && strtoull(inheritable + 8, NULL, 16) == 0 && permitted != NULL &&
	       (strtoull(permitted + 8, NULL, 16) & ~few) == 0;
}

/* System calls have other numbers in the 32-bit interface. */
static bool other_interface_kills(void)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
	return false;
}

/* A kernel without the 32-bit interface (IA32_EMULATION, which may also be switched off when the machine boots) sends
 * SIGSEGV instead. */
static bool other_interface_exists(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		other_interface_kills();
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
}

static const struct effect {
	const char *name;
	bool (*happens)(void);
	bool spins, signalled;       /* the target runs; a signal is pending for it */
	enum { HAPPENS, DOES_NOT, KILLS } expected;
} effects[] = {
	{ "memory of the target is read", memory_reads, false, false, HAPPENS },
	{ "a file that is not the target's is read", any_file_reads, false, false, HAPPENS },
	{ "no new privileges can be gained", no_new_privileges, false, false, HAPPENS },
	{ "a pending signal is replaced by another", signal_is_exchanged, true, true, HAPPENS },
	{ "a perf event kills by SIGTRAP", trap_is_sent, true, false, HAPPENS },
	{ "a uprobe is placed", uprobe_is_placed, false, false, DOES_NOT },
	{ "capabilities are the few that sampling needs", capabilities_are_few, false, false, HAPPENS },
	{ "a per-CPU timer is opened", cpu_timer_passes, false, false, DOES_NOT },
	{ "a call of the 32-bit interface kills the helper", other_interface_kills, false, false, KILLS },
};

/* Forbids seccomp(2) and prctl(2) to load filters, as a security policy may; or to read registers, so that a sample by
 * a stop is lost. */
static bool forbid(const char *what)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (filter == NULL)
		return false;
	if (strcmp(what, "registers") == 0)
		return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EIO), SCMP_SYS(ptrace), 1,
					SCMP_A0(SCMP_CMP_EQ, PTRACE_GETREGSET)) == 0 && seccomp_load(filter) == 0;
	return strcmp(what, "filters") == 0 &&
	       seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(seccomp), 0) == 0 &&
	       seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prctl), 1,
				SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP)) == 0 && seccomp_load(filter) == 0;
}

/* ---- the processes ---- */

static pid_t process_make(bool spins)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	for (;;) {
		if (!spins)
			pause();
	}
}

/* Starts a target, stops it, and loads the filter. */
static bool prepare(bool listens, const struct effect *effect)
{
	struct vg_err err;
	int status;

	target = process_make(effect != NULL && effect->spins);
	untraced = process_make(false);
	if (target < 0 || untraced < 0 || ptrace(PTRACE_SEIZE, target, 0, 0) != 0)
		return false;
	if (effect != NULL && effect->signalled ? kill(target, SIGUSR1) != 0 :
						  ptrace(PTRACE_INTERRUPT, target, 0, 0) != 0)
		return false;
	return waitpid(target, &status, __WALL) == target && vg_confine(listens, (uint64_t)4 << 30, &err) == 0;
}

enum outcome { PASSED, REFUSED, KILLED, BROKEN };

static enum outcome run(bool listens, const struct attempt *attempt, const struct effect *effect)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		setpgid(0, 0);
		alarm(120); /* ends a test that waits for a signal or a stop that does not come */
		if (!prepare(listens, effect))
			_exit(BROKEN);
		_exit((attempt != NULL ? attempt_passes(attempt) : effect->happens()) ? PASSED : REFUSED);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return BROKEN;
	/* The confined process could not kill its targets. */
	kill(-child, SIGKILL);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? KILLED : BROKEN;
	return WEXITSTATUS(status) <= BROKEN ? (enum outcome)WEXITSTATUS(status) : BROKEN;
}

static bool report(size_t number, bool listens, const char *name, enum outcome expected, enum outcome got)
{
	static const char *const words[] = { "is allowed", "is refused", "kills", "could not be tested" };

	printf("%s %zu - %s: %s: %s%s%s\n", got == expected ? "ok" : "not ok", number,
	       listens ? "listening" : "sampling", name, words[expected], got == expected ? "" : ", but ",
	       got == expected ? "" : words[got]);
	return got == expected;
}

int main(int argc, char **argv)
{
	size_t attempt_count = sizeof attempts / sizeof *attempts, effect_count = sizeof effects / sizeof *effects;
	size_t number = 0, failures = 0;

	if (argc > 2) {
		if (forbid(argv[1]))
			execvp(argv[2], argv + 2);
		perror("confined");
		return 126;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	file = open("/dev/null", O_WRONLY);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0)
		return 1;
	printf("1..%zu\n", 2 * (attempt_count + effect_count));
	for (int listens = 0; listens < 2; listens++) {
		for (size_t i = 0; i < attempt_count; i++) {
			const struct attempt *attempt = &attempts[i];
			bool allowed = attempt->allowed == ALWAYS || (attempt->allowed == LISTENING && listens);

			failures += !report(++number, listens, attempt->name, allowed ? PASSED : REFUSED,
					    run(listens, attempt, NULL));
		}
		for (size_t i = 0; i < effect_count; i++) {
			const struct effect *effect = &effects[i];
			enum outcome expected = effect->expected == KILLS ? KILLED :
						effect->expected == HAPPENS ? PASSED : REFUSED;

			if (effect->happens == other_interface_kills && !other_interface_exists()) {
				printf("ok %zu - %s # SKIP this kernel has no 32-bit interface\n", ++number,
				       effect->name);
				continue;
			}
			failures += !report(++number, listens, effect->name, expected, run(listens, NULL, effect));
		}
	}
	return failures != 0;
}
