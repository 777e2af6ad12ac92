/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* A tracer is reported if each of 20 checks within 0.1 s finds it.  The time between checks gets longer, so that the
 * checks do not match the period of a tracer that attaches now and then. */
enum { TRACER_CHECKS = 20, TRACER_WAIT_US = 500 };

/* The text behind the key in /proc/PID/status, or "".  PID 0: our own status. */
static void status_line(pid_t pid, const char *key, char text[256])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof path, pid != 0 ? "/proc/%d/status" : "/proc/self/status", pid);
	text[0] = '\0';
	file = fopen(path, "re");
	while (file != NULL && fgets(text, 256, file) != NULL) {
		if (strncmp(text, key, strlen(key)) == 0) {
			memmove(text, text + strlen(key), strlen(text + strlen(key)) + 1);
			break;
		}
		text[0] = '\0';
	}
	if (file != NULL)
		fclose(file);
}

/* The number behind the key in /proc/PID/status, or -1. */
static long status_number(pid_t pid, const char *key)
{
	char text[256];

	status_line(pid, key, text);
	return text[0] != '\0' ? strtol(text, NULL, 10) : -1;
}

/* The number of nested pid namespaces that the process is in, counted from the pid namespace of /proc inwards.  0: the
 * process is not in the namespace of /proc. */
static int namespaces_count(pid_t pid)
{
	char text[256];
	int count = 0;

	status_line(pid, "NSpid:", text);
	for (const char *at = text; *at != '\0'; at++)
		count += *at == '\t';
	return count;
}

/* In a /proc of another pid namespace our pids are numbers of other processes. */
static int proc_check(struct vg_err *err)
{
	struct statfs mounted;
	int count;

	if (statfs("/proc", &mounted) == 0 ? mounted.f_type != PROC_SUPER_MAGIC : errno == ENOENT)
		return vg_err_set(err, -ENOTSUP, "/proc is not mounted; vignetted needs it to find threads");
	count = namespaces_count(0);
	/* Linux before 4.1 has no NSpid line: this is -ENOTSUP, too. */
	if (count != 1)
		return vg_err_set(err, -ENOTSUP, "/proc belongs to another pid namespace; mount the /proc of "
				  "vignetted's own pid namespace");
	return 0;
}

static void program_name(struct vg_target *target)
{
	char link[64], path[PATH_MAX];
	const char *name = path;
	ssize_t length;

	snprintf(link, sizeof link, "/proc/%d/exe", target->pid);
	length = readlink(link, path, sizeof path - 1);
	path[length > 0 ? length : 0] = '\0';
	if (strrchr(path, '/') != NULL)
		name = strrchr(path, '/') + 1;
	snprintf(target->program, sizeof target->program, "%.255s", name);
	name = strstr(target->program, " (deleted)");
	if (name != NULL && name[strlen(" (deleted)")] == '\0')
		target->program[name - target->program] = '\0';
}

int vg_target_open(struct vg_target *target, pid_t pid, struct vg_err *err)
{
	int rc;

	*target = (struct vg_target){ .pid = pid, .pidfd = -1 };
	rc = proc_check(err);
	if (rc != 0)
		return rc;
	target->pidfd = pidfd_open(pid, 0);
	/* If pid is a thread's, Linux returns EINVAL, and since 6.18 ENOENT. */
	if (target->pidfd < 0 && (errno == EINVAL || errno == ENOENT))
		return vg_err_set(err, -EINVAL, "process %d: it is a thread; use the id of its process", pid);
	if (target->pidfd < 0 && errno == ESRCH)
		return vg_err_set(err, -ESRCH, "process %d does not exist", pid);
	if (target->pidfd < 0)
		return vg_err_sys(err, -errno, "cannot open process %d", pid);
	target->in_inner_namespace = namespaces_count(pid) > 1;
	program_name(target);
	clock_getcpuclockid(pid, &target->cpu_clock);
	return 0;
}

uint64_t vg_target_cpu_ns(const struct vg_target *target)
{
	struct timespec used;

	if (clock_gettime(target->cpu_clock, &used) != 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

bool vg_target_exited(const struct vg_target *target, int timeout_ms)
{
	struct pollfd ended = { .fd = target->pidfd, .events = POLLIN };

	return poll(&ended, 1, timeout_ms) == 1;
}

void vg_target_close(struct vg_target *target)
{
	if (target->pidfd >= 0)
		close(target->pidfd);
	target->pidfd = -1;
}

/* The first line of a /proc file without its newline, or "". */
static void line_read(const char *path, char *line, size_t line_bytes)
{
	FILE *file = fopen(path, "re");

	line[0] = '\0';
	if (file == NULL)
		return;
	if (fgets(line, (int)line_bytes, file) == NULL)
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	fclose(file);
}

static int yama_error(long scope, pid_t pid, struct vg_err *err)
{
	switch (scope) {
	case 1:
		return vg_err_set(err, -EPERM, "Yama (kernel.yama.ptrace_scope is 1) allows only ancestors to "
				  "trace process %d; use libvgctl in it, start it with vignetted, or give vignetted "
				  "CAP_SYS_PTRACE", pid);
	case 2:
		return vg_err_set(err, -EPERM, "Yama (kernel.yama.ptrace_scope is 2) allows tracing only with "
				  "CAP_SYS_PTRACE");
	case 3:
		return vg_err_set(err, -EPERM, "Yama (kernel.yama.ptrace_scope is 3) forbids all tracing until the "
				  "next boot");
	}
	return 0;
}

/* The process that traces the target all the time, or 0.  Another vignetted is not reported, because it traces a thread
 * for only about 10 us per sample.  We are not reported either: we may be the tracer of a thread whose stop is
 * pending. */
static long lasting_tracer(pid_t pid)
{
	long tracer = 0;

	for (int i = 0; i < TRACER_CHECKS; i++) {
		usleep((useconds_t)i * TRACER_WAIT_US);
		tracer = status_number(pid, "TracerPid:");
		if (tracer <= 0 || tracer == (long)getpid())
			return 0;
	}
	return tracer;
}

static int traced(pid_t pid, long tracer, struct vg_err *err)
{
	char path[64], name[64];

	snprintf(path, sizeof path, "/proc/%ld/comm", tracer);
	line_read(path, name, sizeof name);
	return vg_err_set(err, -EPERM, "process %d is being traced by another process, %s (pid %ld)",
			  pid, name, tracer);
}

int vg_target_explain_eperm(const struct vg_target *target, struct vg_err *err)
{
	long tracer = lasting_tracer(target->pid);
	long uid = status_number(target->pid, "Uid:");
	char path[64], line[64];
	struct stat owner;

	if (tracer > 0)
		return traced(target->pid, tracer, err);
	if (geteuid() != 0 && uid >= 0 && uid != (long)geteuid())
		return vg_err_set(err, -EPERM, "process %d belongs to another user (uid %ld)",
				  target->pid, uid);
	/* /proc/PID itself always belongs to the process's user.  If the process is not dumpable, the files in
	 * /proc/PID belong to root. */
	snprintf(path, sizeof path, "/proc/%d/fd", target->pid);
	if (geteuid() != 0 && uid != 0 && stat(path, &owner) == 0 && owner.st_uid == 0)
		return vg_err_set(err, -EPERM, "process %d cannot be traced: it has set PR_SET_DUMPABLE to 0, or its "
				  "user has no permission to read its program", target->pid);
	line_read("/proc/sys/kernel/yama/ptrace_scope", line, sizeof line);
	if (line[0] != '\0' && yama_error(strtol(line, NULL, 10), target->pid, err) != 0)
		return -EPERM;
	return vg_err_set(err, -EPERM, "process %d cannot be traced: it has capabilities that vignetted lacks, or "
			  "a security policy (seccomp, SELinux, AppArmor, a container's) forbids it", target->pid);
}

static void syscall_note(const char **forbidden, const char *name, long rc)
{
	if (rc < 0 && *forbidden == NULL && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		*forbidden = name;
}

/* The first system call that we need and that an inherited seccomp filter forbids, or NULL.  Each call is tried with
 * arguments that have no effect.  Without wait4, for example, we could not release a stopped thread. */
static const char *filtered_syscall(void)
{
	struct timespec none = { 0, 0 };
	struct iovec nothing = { NULL, 0 };
	const char *forbidden = NULL;
	pid_t self = getpid();
	sigset_t no_signals;

	sigemptyset(&no_signals);
	syscall_note(&forbidden, "wait4", waitpid(self, NULL, WNOHANG | __WALL));
	syscall_note(&forbidden, "ppoll", ppoll(NULL, 0, &none, NULL));
	syscall_note(&forbidden, "rt_sigtimedwait", sigtimedwait(&no_signals, NULL, &none));
	syscall_note(&forbidden, "process_vm_readv", process_vm_readv(self, &nothing, 1, &nothing, 1, 0));
	syscall_note(&forbidden, "ptrace", ptrace(PTRACE_DETACH, self, NULL, NULL));
	/* Without getdents64 no thread would be found.  That would look like a process that has just called
	 * execve(2). */
	syscall_note(&forbidden, "getdents64", syscall(SYS_getdents64, -1, NULL, 0));
	return forbidden;
}

static bool is_32_bit(const struct vg_target *target)
{
	char path[64];
	unsigned char head[EI_CLASS + 1] = { 0 };
	int fd;
	ssize_t got;

	snprintf(path, sizeof path, "/proc/%d/exe", target->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, head, sizeof head);
	close(fd);
	return got == (ssize_t)sizeof head && memcmp(head, ELFMAG, SELFMAG) == 0 &&
	       head[EI_CLASS] == ELFCLASS32;
}

int vg_target_check_traceable(const struct vg_target *target, struct vg_err *err)
{
	char path[64], text[8];
	const char *forbidden;
	long tracer = lasting_tracer(target->pid);
	int fd, rc = 0;

	if (tracer > 0)
		return traced(target->pid, tracer, err);
	/* Reading this file needs the same permission as tracing. */
	snprintf(path, sizeof path, "/proc/%d/syscall", target->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof text) < 0)
		rc = errno;
	if (fd >= 0)
		close(fd);
	if (rc == EPERM || rc == EACCES)
		return vg_target_explain_eperm(target, err);
	forbidden = filtered_syscall();
	if (forbidden != NULL)
		return vg_err_set(err, -EPERM, "process %d cannot be sampled: vignetted runs under a seccomp filter "
				  "that forbids %s", target->pid, forbidden);
	if (is_32_bit(target))
		return vg_err_set(err, -ENOTSUP, "process %d runs a 32-bit program; vignetted samples 64-bit "
				  "programs only", target->pid);
	return 0;
}
