/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a confined helper can and cannot do.  Each call is made in a process of its own.  Reports in
 * TAP.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vignetted/confine.h"

static pid_t target;                     /* stopped under our ptrace */
static int file;

static long rax_set(void)
{
	return ptrace(PTRACE_POKEUSER, target, offsetof(struct user, regs.rax), 1);
}

static long rip_set(void)
{
	return ptrace(PTRACE_POKEUSER, target, offsetof(struct user, regs.rip), 1);
}

static long memory_set(void)
{
	return ptrace(PTRACE_POKEDATA, target, &target, 1);
}

static long all_set(void)
{
	struct user_regs_struct regs = { 0 };
	struct iovec iov = { &regs, sizeof regs };

	return ptrace(PTRACE_SETREGSET, target, 1, &iov);
}

static long go_on(void)
{
	return ptrace(PTRACE_CONT, target, 0, 0);
}

static long memory_read(void)
{
	char byte;
	struct iovec local = { &byte, 1 }, remote = { &byte, 1 };

	return process_vm_readv(target, &local, 1, &remote, 1, 0);
}

static long memory_write(void)
{
	char byte = 0;
	struct iovec local = { &byte, 1 }, remote = { &byte, 1 };

	return process_vm_writev(target, &local, 1, &remote, 1, 0);
}

static long file_read(void)
{
	return open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

static long file_create(void)
{
	return open("confined.created", O_WRONLY | O_CREAT, 0600);
}

static long file_change(void)
{
	return open("/dev/null", O_RDWR);
}

static long file_write(void)
{
	return write(file, "x", 1);
}

static long file_remove(void)
{
	int rc = unlinkat(AT_FDCWD, "confined.nothing", 0);

	return rc != 0 && errno == ENOENT ? 0 : rc;
}

static long program_run(void)
{
	return execl("/bin/true", "true", NULL);
}

static long process_make(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long signal_send(void)
{
	return kill(target, SIGUSR1);
}

static long socket_make(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static long memory_take(void)
{
	return mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED ? -1 : 0;
}

static long directory_change(void)
{
	return chdir("/");
}

/* What is no socket, where it is allowed to try. */
static long connection_take(void)
{
	return accept4(file, NULL, NULL, 0) < 0 && errno == ENOTSOCK ? 0 : -1;
}

/* Without a description of it, where it is allowed to try. */
static long event_open(pid_t pid, int cpu, unsigned long flags)
{
	return syscall(SYS_perf_event_open, NULL, pid, cpu, -1, flags) < 0 && errno == EFAULT ? 0 : -1;
}

static long counter_open(void)
{
	return event_open(target, -1, PERF_FLAG_FD_CLOEXEC);
}

static long timer_open(void)
{
	return event_open(target, 0, PERF_FLAG_FD_CLOEXEC);
}

static long timer_of_cpu(void)
{
	return event_open(-1, 0, PERF_FLAG_FD_CLOEXEC);
}

/* Who may not trace everyone: call_try() sees to that. */
static long timer_of_cpu_as_user(void)
{
	return timer_of_cpu();
}

static long timer_of_cgroup(void)
{
	return event_open(file, 0, PERF_FLAG_FD_CLOEXEC | PERF_FLAG_PID_CGROUP);
}

/* Whether we may trace every process; if it is dropped, never from now on. */
static bool traces_everyone(bool drop)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	const uint32_t wanted = 1u << CAP_SYS_PTRACE;

	if (syscall(SYS_capget, &header, data) != 0 || (data[0].effective & wanted) == 0)
		return false;
	data[0].effective &= ~wanted;
	return !drop || syscall(SYS_capset, &header, data) == 0;
}

static long limit_read(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit);
}

static long limit_set(void)
{
	const struct rlimit limit = { 64, 64 };

	return setrlimit(RLIMIT_NOFILE, &limit);
}

static long privileges_gone(void)
{
	static char text[4096];
	int fd = open("/proc/self/status", O_RDONLY);

	errno = EPERM;
	return read(fd, text, sizeof text - 1) > 0 && strstr(text, "NoNewPrivs:\t1") != NULL &&
	       strstr(text, "Seccomp:\t2") != NULL ? 0 : -1;
}

static const struct {
	const char *name;
	long (*call)(void);
	bool allowed[3];             /* in the role: serving, alone, listening */
} calls[] = {
	{ "ptrace: set the register of a restarted call", rax_set, { true, true, true } },
	{ "ptrace: set another register", rip_set, { false, false, false } },
	{ "ptrace: set all registers", all_set, { false, false, false } },
	{ "ptrace: write memory", memory_set, { false, false, false } },
	{ "ptrace: let a tracee go on", go_on, { false, false, false } },
	{ "read memory of the target", memory_read, { true, true, true } },
	{ "write memory of the target", memory_write, { false, false, false } },
	{ "open a file to read", file_read, { true, true, true } },
	{ "create a file", file_create, { false, false, false } },
	{ "open a file to write", file_change, { false, false, false } },
	{ "write to an open file", file_write, { true, true, true } },
	{ "remove a file", file_remove, { false, true, true } },
	{ "execute a program", program_run, { false, false, false } },
	{ "make a process", process_make, { false, false, false } },
	{ "send a signal", signal_send, { false, false, false } },
	{ "make a socket", socket_make, { false, false, false } },
	{ "take memory", memory_take, { true, true, true } },
	{ "change the directory", directory_change, { false, false, false } },
	{ "take a connection", connection_take, { false, false, true } },
	{ "open a counter of a thread", counter_open, { true, true, true } },
	{ "open a timer of a thread", timer_open, { true, true, true } },
	{ "open one of a CPU", timer_of_cpu_as_user, { false, false, false } },
	{ "open one of a CPU, who may trace everyone", timer_of_cpu, { true, true, true } },
	{ "open one of a cgroup", timer_of_cgroup, { false, false, false } },
	{ "read a limit", limit_read, { true, true, true } },
	{ "set a limit", limit_set, { false, false, false } },
	{ "be as its status says", privileges_gone, { true, true, true } },
};

/* Status of a child: 0 done, 1 forbidden, 2 something else went wrong. */
static int call_try(enum vg_confine_role role, long (*call)(void))
{
	struct vg_err err;
	int status;
	pid_t child = fork();

	if (child == 0) {
		target = fork();
		if (target == 0) {
			for (;;)
				pause();
		}
		if (call == timer_of_cpu_as_user)
			traces_everyone(true);
		if (ptrace(PTRACE_SEIZE, target, 0, PTRACE_O_EXITKILL) != 0 ||
		    ptrace(PTRACE_INTERRUPT, target, 0, 0) != 0 ||
		    waitpid(target, &status, __WALL) != target ||
		    vg_confine(role, (uint64_t)4 << 30, &err) != 0)
			_exit(2);
		_exit(call() >= 0 ? 0 : errno == EPERM ? 1 : 2);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return 2;
	return WEXITSTATUS(status);
}

int main(void)
{
	static const char *const roles[] = { "serving", "alone", "listening" };
	static const enum vg_confine_role given[] = {
		VG_CONFINE_SERVE, VG_CONFINE_ALONE, VG_CONFINE_LISTEN,
	};
	size_t count = sizeof calls / sizeof *calls;
	int failures = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	file = open("/dev/null", O_WRONLY);
	printf("1..%zu\n", 3 * count);
	for (size_t i = 0; i < 3 * count; i++) {
		size_t role = i / count;
		bool allowed = calls[i % count].allowed[role] &&
			       (calls[i % count].call != timer_of_cpu || traces_everyone(false));
		int got = call_try(given[role], calls[i % count].call);
		bool good = got == (allowed ? 0 : 1);

		failures += !good;
		printf("%s %zu - %s: %s is %s%s\n", good ? "ok" : "not ok", i + 1,
		       roles[role], calls[i % count].name, allowed ? "allowed" : "forbidden",
		       good ? "" : got == 2 ? " (neither)" : "");
	}
	return failures != 0;
}
