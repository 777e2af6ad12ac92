/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/infile.h"
#include "base/process_file.h"

/* ---- files of /proc ---- */

ssize_t vg_proc_read(char *text, size_t size_bytes, const char *format, ...)
{
	char path[64];
	va_list values;
	ssize_t got;
	int fd;

	va_start(values, format);
	vsnprintf(path, sizeof path, format, values);
	va_end(values);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd >= 0 ? read(fd, text, size_bytes - 1) : -1;
	if (got < 0)
		got = -errno;
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got;
}

int vg_proc_number(const char *path, int otherwise)
{
	char text[16];

	return vg_proc_read(text, sizeof text, "%s", path) > 0 ? (int)strtol(text, NULL, 10) : otherwise;
}

bool vg_proc_status_capable(int capability)
{
	char text[VG_PROCESS_FIELD_BYTES];

	vg_process_status(VG_PROCESS_SELF, "CapEff:", text);
	return (strtoull(text, NULL, 16) >> capability & 1) != 0;
}

/* ---- the process ---- */

enum { AUXV_ATTEMPTS = 20, AUXV_WAIT_US = 500 };

/* The number of nested pid namespaces that the process is in, counted from the pid namespace of /proc inwards.  0: the
 * process is not in the namespace of /proc. */
static int namespaces_count(pid_t pid)
{
	char text[VG_PROCESS_FIELD_BYTES];
	int count = 0;

	vg_process_status(pid, "NSpid:", text);
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
	count = namespaces_count(VG_PROCESS_SELF);
	/* Linux before 4.1 has no NSpid line: this is -ENOTSUP, too. */
	if (count != 1)
		return vg_err_set(err, -ENOTSUP, "/proc belongs to another pid namespace; mount the /proc of "
				  "vignetted's own pid namespace");
	return 0;
}

/* The value of an entry of /proc/PID/auxv; 0: there is none, or it cannot be read.  posix_spawn(3) can
 * return before execve(2) has written the entries.  This function waits for the entries for up to 10 ms. */
static uint64_t auxv_value(pid_t pid, uint64_t type)
{
	Elf64_auxv_t entries[64] = { 0 };
	ssize_t got = 0;

	for (int i = 0; entries[0].a_type == AT_NULL && i < AUXV_ATTEMPTS; i++) {
		if (i > 0)
			usleep(AUXV_WAIT_US);
		got = vg_proc_read((char *)entries, sizeof entries, "/proc/%d/auxv", pid);
		if (got < 0)
			return 0;
	}
	for (size_t i = 0; i < (size_t)got / sizeof *entries; i++) {
		if (entries[i].a_type == type)
			return entries[i].a_un.a_val;
	}
	return 0;
}

/* Reads the path with which the program was executed.  Returns false if the path does not lead to the executable,
 * because it is the path of a script or the file was replaced.  The path of another user's process is not followed: it
 * can lead to a file system that never answers (base/process_file.h). */
static bool executed_path(pid_t pid, char path[PATH_MAX])
{
	struct iovec local = { path, PATH_MAX - 1 }, remote = { NULL, PATH_MAX - 1 };
	char link[64], *full;
	struct stat executable, executed;
	ssize_t got;
	bool same;

	if (!vg_process_is_own(pid))
		return false;
	remote.iov_base = (void *)(uintptr_t)auxv_value(pid, AT_EXECFN); // NOLINT(performance-no-int-to-ptr)
	/* The stack ends shortly behind the path, so process_vm_readv(2) reads fewer bytes than requested. */
	got = remote.iov_base == NULL ? -1 : process_vm_readv(pid, &local, 1, &remote, 1, 0);
	if (got <= 0)
		return false;
	path[got] = '\0';
	snprintf(link, sizeof link, "/proc/%d/exe", pid);
	if (stat(link, &executable) != 0 ||
	    asprintf(&full, "/proc/%d/%s/%s", pid, path[0] == '/' ? "root" : "cwd", path) < 0)
		return false;
	same = stat(full, &executed) == 0 && executed.st_dev == executable.st_dev &&
	       executed.st_ino == executable.st_ino;
	free(full);
	return same;
}

int vg_target_executable_open(pid_t pid)
{
	char link[64];
	int handle, fd;

	snprintf(link, sizeof link, "/proc/%d/exe", pid);
	handle = open(link, O_PATH | O_CLOEXEC);
	if (handle < 0)
		return -1;
	fd = vg_process_file_is_safe(handle, pid) ? vg_regular_handle_open(handle, link) : -1;
	close(handle);
	return fd >= 0 ? fd : -1;
}

static void executable_path(pid_t pid, char path[PATH_MAX])
{
	static const char deleted[] = " (deleted)";
	size_t suffix = sizeof deleted - 1, length;
	char link[64];
	ssize_t got;

	snprintf(link, sizeof link, "/proc/%d/exe", pid);
	got = readlink(link, path, PATH_MAX - 1);
	length = got > 0 ? (size_t)got : 0;
	path[length] = '\0';
	if (length > suffix && strcmp(path + length - suffix, deleted) == 0)
		path[length - suffix] = '\0';
}

static void last_part(const char *path, char name[VG_PROGRAM_BYTES])
{
	const char *slash = strrchr(path, '/');

	snprintf(name, VG_PROGRAM_BYTES, "%.255s", slash != NULL ? slash + 1 : path);
}

void vg_target_executable_name(pid_t pid, char name[VG_PROGRAM_BYTES])
{
	char path[PATH_MAX];

	executable_path(pid, path);
	last_part(path, name);
}

void vg_target_program_read(struct vg_target *target)
{
	char path[PATH_MAX];

	last_part(executed_path(target->pid, path) ? path : target->executable, target->program);
}

bool vg_target_program_update(struct vg_target *target)
{
	char path[PATH_MAX];

	executable_path(target->pid, path);
	if (path[0] == '\0' || strcmp(path, target->executable) == 0)
		return false;
	strcpy(target->executable, path);
	vg_target_program_read(target);
	return true;
}

int vg_target_open(struct vg_target *target, pid_t pid, struct vg_err *err)
{
	int rc;

	*target = (struct vg_target){ .pid = pid, .pidfd = -1 };
	rc = proc_check(err);
	if (rc != 0)
		return rc;
	target->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* If pid is a thread's, Linux returns EINVAL, and since 6.18 ENOENT. */
	if (target->pidfd < 0 && (errno == EINVAL || errno == ENOENT))
		return vg_err_set(err, -EINVAL, "process %d: it is a thread; use the id of its process", pid);
	if (target->pidfd < 0 && errno == ESRCH)
		return vg_err_set(err, -ESRCH, "process %d does not exist", pid);
	if (target->pidfd < 0)
		return vg_err_sys(err, -errno, "process %d: pidfd_open", pid);
	target->in_inner_namespace = namespaces_count(pid) > 1;
	executable_path(pid, target->executable);
	last_part(target->executable, target->program);
	clock_getcpuclockid(pid, &target->cpu_clock);
	return 0;
}

uint64_t vg_target_cpu_ns(const struct vg_target *target)
{
	return vg_clock_ns(target->cpu_clock);
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
