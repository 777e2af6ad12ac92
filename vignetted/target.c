/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

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
	*target = (struct vg_target){ .pid = pid, .pidfd = pidfd_open(pid, 0) };
	if (target->pidfd < 0 && errno == EINVAL)
		return vg_err_set(err, -EINVAL, "%d is a thread of a process, not a process", pid);
	if (target->pidfd < 0 && errno == ESRCH)
		return vg_err_set(err, -ESRCH, "there is no process %d", pid);
	if (target->pidfd < 0)
		return vg_err_sys(err, -errno, "process %d", pid);
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

/* A number out of /proc/PID/status; -1 if it is not there. */
static long status_number(pid_t pid, const char *key)
{
	char path[64], line[256];
	long value = -1;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file != NULL && value < 0 && fgets(line, sizeof line, file) != NULL) {
		if (strncmp(line, key, strlen(key)) == 0)
			value = strtol(line + strlen(key), NULL, 10);
	}
	if (file != NULL)
		fclose(file);
	return value;
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

int vg_target_forbidden(const struct vg_target *target, struct vg_err *err)
{
	long tracer = status_number(target->pid, "TracerPid:");
	long uid = status_number(target->pid, "Uid:");
	char path[64], line[64];
	struct stat owner;

	if (tracer > 0) {
		snprintf(path, sizeof path, "/proc/%ld/comm", tracer);
		line_read(path, line, sizeof line);
		return vg_err_set(err, -EPERM, "process %d is being traced by another process, %s "
				  "(pid %ld)", target->pid, line, tracer);
	}
	if (geteuid() != 0 && uid >= 0 && uid != (long)geteuid())
		return vg_err_set(err, -EPERM, "process %d belongs to another user (uid %ld)",
				  target->pid, uid);
	snprintf(path, sizeof path, "/proc/%d", target->pid);
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

int vg_target_probe(const struct vg_target *target, struct vg_err *err)
{
	char path[64], text[8];
	int fd, rc = 0;

	if (status_number(target->pid, "TracerPid:") > 0)
		return vg_target_forbidden(target, err);
	/* The kernel asks of its reader what it asks of a tracer. */
	snprintf(path, sizeof path, "/proc/%d/syscall", target->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof text) < 0)
		rc = errno;
	if (fd >= 0)
		close(fd);
	return rc == EPERM || rc == EACCES ? vg_target_forbidden(target, err) : 0;
}
