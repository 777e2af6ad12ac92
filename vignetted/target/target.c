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

/* A tracer is one that is there at each of these looks, in a tenth of a second.  Each pause is longer
 * than the one before, so that they do not fall in step with one that comes and goes. */
enum { TRACER_LOOKS = 20, TRACER_PAUSE_US = 500 };

/* What /proc/PID/status says behind that key; "" if it is not there.  PID 0: of ourselves. */
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

/* A number; -1 if it is not there. */
static long status_number(pid_t pid, const char *key)
{
	char text[256];

	status_line(pid, key, text);
	return text[0] != '\0' ? strtol(text, NULL, 10) : -1;
}

/* How many pid namespaces, from that of /proc inwards, a process is in; 0: it is in none of them. */
static int namespaces_count(pid_t pid)
{
	char text[256];
	int count = 0;

	status_line(pid, "NSpid:", text);
	for (const char *at = text; *at != '\0'; at++)
		count += *at == '\t';
	return count;
}

/* Numbers in the /proc of another pid namespace are those of other processes. */
static int proc_check(struct vg_err *err)
{
	struct statfs mounted;
	int count;

	if (statfs("/proc", &mounted) == 0 ? mounted.f_type != PROC_SUPER_MAGIC : errno == ENOENT)
		return vg_err_set(err, -ENOTSUP, "/proc is not mounted here, and without it threads "
				  "cannot be seen");
	count = namespaces_count(0);
	/* Before Linux 4.1 there was no such line. */
	if (count != 1)
		return vg_err_set(err, -ENOTSUP, "the /proc that is mounted here belongs to another pid "
				  "namespace: vignetted needs the one of its own");
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
	/* Newer kernels say ENOENT: Linux 6.18 does. */
	if (target->pidfd < 0 && (errno == EINVAL || errno == ENOENT))
		return vg_err_set(err, -EINVAL, "%d is a thread of a process, not a process", pid);
	if (target->pidfd < 0 && errno == ESRCH)
		return vg_err_set(err, -ESRCH, "there is no process %d", pid);
	if (target->pidfd < 0)
		return vg_err_sys(err, -errno, "process %d", pid);
	target->nested = namespaces_count(pid) > 1;
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

bool vg_target_ended(const struct vg_target *target, int timeout_ms)
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

/* The first line of a /proc file, without its newline; "" if there is none. */
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

static int yama_forbidden(long scope, pid_t pid, struct vg_err *err)
{
	switch (scope) {
	case 1:
		return vg_err_set(err, -EPERM, "Yama (kernel.yama.ptrace_scope is 1) lets a process "
				  "be traced by its ancestors only: process %d must use libvgctl, "
				  "or vignetted must start it or have CAP_SYS_PTRACE", pid);
	case 2:
		return vg_err_set(err, -EPERM, "Yama (kernel.yama.ptrace_scope is 2) lets only "
				  "processes with CAP_SYS_PTRACE trace others");
	case 3:
		return vg_err_set(err, -EPERM, "Yama (kernel.yama.ptrace_scope is 3) forbids all "
				  "tracing until the next boot");
	}
	return 0;
}

/* Who traces the process and stays: another vignetted holds a thread for some ten microseconds a
 * sample.  0: nobody, or us, a thread that we wait for to stop. */
static long tracer_lasting(pid_t pid)
{
	long tracer = 0;

	for (int i = 0; i < TRACER_LOOKS; i++) {
		usleep((useconds_t)i * TRACER_PAUSE_US);
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

int vg_target_forbidden(const struct vg_target *target, struct vg_err *err)
{
	long tracer = tracer_lasting(target->pid);
	long uid = status_number(target->pid, "Uid:");
	char path[64], line[64];
	struct stat owner;

	if (tracer > 0)
		return traced(target->pid, tracer, err);
	if (geteuid() != 0 && uid >= 0 && uid != (long)geteuid())
		return vg_err_set(err, -EPERM, "process %d belongs to another user (uid %ld)",
				  target->pid, uid);
	/* The directory itself is its user's in any case, and what is in it root's. */
	snprintf(path, sizeof path, "/proc/%d/fd", target->pid);
	if (geteuid() != 0 && uid != 0 && stat(path, &owner) == 0 && owner.st_uid == 0)
		return vg_err_set(err, -EPERM, "process %d does not let itself be traced: it has set "
				  "PR_SET_DUMPABLE to 0 or runs a program that its user cannot read",
				  target->pid);
	line_read("/proc/sys/kernel/yama/ptrace_scope", line, sizeof line);
	if (line[0] != '\0' && yama_forbidden(strtol(line, NULL, 10), target->pid, err) != 0)
		return -EPERM;
	return vg_err_set(err, -EPERM, "the kernel forbids to trace process %d: it has capabilities "
			  "that vignetted lacks, or a security policy (seccomp, SELinux, AppArmor, "
			  "a container's) is in force", target->pid);
}

static void call_note(const char **forbidden, const char *name, long rc)
{
	if (rc < 0 && *forbidden == NULL && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		*forbidden = name;
}

/* A call that a filter, which we have inherited, does not let through; or NULL.  Made in a way that
 * does nothing, it fails for another reason or not at all.  A tracer that cannot wait, for one, would
 * leave threads standing still. */
static const char *call_forbidden(void)
{
	struct timespec none = { 0, 0 };
	struct iovec nothing = { NULL, 0 };
	const char *forbidden = NULL;
	pid_t self = getpid();
	sigset_t no_signals;

	sigemptyset(&no_signals);
	call_note(&forbidden, "wait4", waitpid(self, NULL, WNOHANG | __WALL));
	call_note(&forbidden, "ppoll", ppoll(NULL, 0, &none, NULL));
	call_note(&forbidden, "rt_sigtimedwait", sigtimedwait(&no_signals, NULL, &none));
	call_note(&forbidden, "process_vm_readv", process_vm_readv(self, &nothing, 1, &nothing, 1, 0));
	call_note(&forbidden, "ptrace", ptrace(PTRACE_DETACH, self, NULL, NULL));
	/* Without it no thread would be found, which looks like a process that has just executed a program. */
	call_note(&forbidden, "getdents64", syscall(SYS_getdents64, -1, NULL, 0));
	return forbidden;
}

/* Registers and stacks of 32-bit programs are other ones. */
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

int vg_target_probe(const struct vg_target *target, struct vg_err *err)
{
	char path[64], text[8];
	const char *forbidden;
	long tracer = tracer_lasting(target->pid);
	int fd, rc = 0;

	if (tracer > 0)
		return traced(target->pid, tracer, err);
	/* The kernel asks of its reader what it asks of a tracer. */
	snprintf(path, sizeof path, "/proc/%d/syscall", target->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof text) < 0)
		rc = errno;
	if (fd >= 0)
		close(fd);
	if (rc == EPERM || rc == EACCES)
		return vg_target_forbidden(target, err);
	forbidden = call_forbidden();
	if (forbidden != NULL)
		return vg_err_set(err, -EPERM, "a filter of system calls (seccomp) forbids %s, without which "
				  "process %d cannot be sampled", forbidden, target->pid);
	if (is_32_bit(target))
		return vg_err_set(err, -ENOTSUP, "process %d runs a 32-bit program, and vignetted samples "
				  "64-bit ones", target->pid);
	return 0;
}
