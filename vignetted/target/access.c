/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/access.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/process_file.h"
#include "vignetted/target/target.h"

/* A tracer is reported if each of 45 checks within 0.5 s finds the same one.  On a busy machine a vignetted may have to
 * wait 0.1 s for its CPU while it holds a thread.  The time between checks gets longer, so that the checks do not match
 * the period of a tracer that attaches now and then. */
enum { TRACER_CHECKS = 45, TRACER_WAIT_US = 500 };

/* The number behind the key in /proc/PID/status, or -1; see vg_process_status(). */
static long status_number(pid_t pid, const char *key)
{
	char text[VG_PROCESS_FIELD_BYTES];

	vg_process_status(pid, key, text);
	return text[0] != '\0' ? strtol(text, NULL, 10) : -1;
}

long vg_access_tracer(pid_t pid)
{
	long tracer = status_number(pid, "TracerPid:");

	return tracer > 0 && tracer != (long)getpid() ? tracer : 0;
}

/* The process that traces the target all the time, or 0.  Another vignetted is not reported, because it traces a thread
 * for only 20 to 30 us per sample.  We are not reported either: we may be the tracer of a thread whose stop is
 * pending. */
static long lasting_tracer(pid_t pid)
{
	long tracer = vg_access_tracer(pid);

	for (int i = 1; tracer != 0 && i < TRACER_CHECKS; i++) {
		usleep((useconds_t)i * TRACER_WAIT_US);
		if (vg_access_tracer(pid) != tracer)
			return 0;
	}
	return tracer;
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

static int yama_scope(void)
{
	return vg_proc_number("/proc/sys/kernel/yama/ptrace_scope", -1);
}

/* Reads the beginning of the ELF header of a process's executable.  Returns false if this is no ELF file. */
static bool elf_head_read(pid_t pid, Elf64_Ehdr *head)
{
	int fd = vg_target_executable_open(pid);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, head, sizeof *head);
	close(fd);
	/* e_machine is at the same place in 32-bit headers, which are shorter. */
	return got >= (ssize_t)sizeof(Elf32_Ehdr) && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0;
}

static void machine_read(struct vg_access *access)
{
	Elf64_Ehdr head, own;

	if (!elf_head_read(access->pid, &head))
		return;
	access->machine = head.e_machine;
	access->facts.is_32_bit = head.e_ident[EI_CLASS] == ELFCLASS32;
	access->facts.other_machine = elf_head_read(getpid(), &own) && own.e_machine != head.e_machine;
}

void vg_access_read_own(struct vg_access *access)
{
	*access = (struct vg_access){ .uid = -1, .filtered = filtered_syscall(), .facts.yama_scope = yama_scope() };
	access->facts.filtered = access->filtered != NULL;
	access->facts.root = geteuid() == 0;
}

static void trace_facts_read(struct vg_access *access, pid_t pid)
{
	struct stat owner;
	char path[64];

	access->pid = pid;
	access->tracer = lasting_tracer(pid);
	access->uid = status_number(pid, "Uid:");
	access->facts.traced = access->tracer > 0;
	access->facts.process_of_root = access->uid == 0;
	access->facts.same_user = access->uid < 0 || access->uid == (long)geteuid();
	/* /proc/PID itself always belongs to the process's user.  If the process is not dumpable, the files in
	 * /proc/PID belong to root. */
	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	access->facts.dumpable = stat(path, &owner) != 0 || owner.st_uid != 0;
}

void vg_access_read(struct vg_access *access, pid_t pid)
{
	char text[8];
	ssize_t got;

	vg_access_read_own(access);
	trace_facts_read(access, pid);
	/* Reading /proc/PID/syscall needs the same permission as tracing. */
	got = vg_proc_read(text, sizeof text, "/proc/%d/syscall", pid);
	access->facts.readable = got != -EPERM && got != -EACCES;
	machine_read(access);
}

void vg_access_own_path(char path[VG_ACCESS_PATH_BYTES])
{
	ssize_t length = readlink("/proc/self/exe", path, VG_ACCESS_PATH_BYTES);

	/* The path cannot be read, or is too long for a sentence. */
	if (length <= 0 || length == VG_ACCESS_PATH_BYTES)
		strcpy(path, "vignetted");
	else
		path[length] = '\0';
}

int vg_access_error(const struct vg_access *access, enum vg_permission permission, struct vg_err *err)
{
	char own[VG_ACCESS_PATH_BYTES], tracer[64];
	pid_t pid = access->pid;

	vg_access_own_path(own);
	switch (permission) {
	case VG_PERMITTED:
		return 0;
	case VG_FORBIDDEN_TRACED:
		vg_proc_read(tracer, sizeof tracer, "/proc/%ld/comm", access->tracer);
		tracer[strcspn(tracer, "\n")] = '\0';
		return vg_err_set(err, -EPERM, "process %d is being traced by another process, %s (pid %ld)", pid,
				  tracer, access->tracer);
	case VG_FORBIDDEN_OTHER_USER:
		/* Another user's /proc/PID/syscall has the mode 0400, so CAP_DAC_READ_SEARCH is needed, too. */
		return vg_err_set(err, -EPERM, "process %d belongs to another user (uid %ld); run vignetted as that "
				  "user or as root, or let root run: "
				  "setcap cap_sys_ptrace,cap_perfmon,cap_dac_read_search+ep %s", pid, access->uid, own);
	case VG_FORBIDDEN_NOT_DUMPABLE:
		return vg_err_set(err, -EPERM, "process %d cannot be traced: it has set PR_SET_DUMPABLE to 0, or its "
				  "user has no permission to read its program; run vignetted as root", pid);
	case VG_FORBIDDEN_YAMA_ANCESTORS:
		return vg_err_set(err, -EPERM, "Yama (kernel.yama.ptrace_scope is 1) allows only ancestors to trace "
				  "process %d; use libvgctl in it, start it with vignetted, or let root run: "
				  "sysctl kernel.yama.ptrace_scope=0", pid);
	case VG_FORBIDDEN_YAMA_CAPABILITY:
		return vg_err_set(err, -EPERM, "Yama (kernel.yama.ptrace_scope is 2) allows tracing only with "
				  "CAP_SYS_PTRACE; let root run: setcap cap_sys_ptrace,cap_perfmon+ep %s", own);
	case VG_FORBIDDEN_YAMA_NEVER:
		return vg_err_set(err, -EPERM, "Yama (kernel.yama.ptrace_scope is 3) forbids all tracing until the "
				  "next boot; boot with a lower value in /etc/sysctl.d");
	case VG_FORBIDDEN_FILTER:
		return pid == 0 ? vg_err_set(err, -EPERM, "vignetted runs under a seccomp filter that forbids %s",
					     access->filtered) :
		       vg_err_set(err, -EPERM, "process %d cannot be sampled: vignetted runs under a seccomp filter "
				  "that forbids %s", pid, access->filtered);
	case VG_FORBIDDEN_32_BIT:
		return vg_err_set(err, -ENOTSUP, "process %d runs a 32-bit program; vignetted samples 64-bit "
				  "programs only", pid);
	case VG_FORBIDDEN_MACHINE:
		return vg_err_set(err, -ENOTSUP, "process %d runs a program for another machine (ELF machine %u); use "
				  "a vignetted for that machine", pid, access->machine);
	case VG_FORBIDDEN_POLICY:
		break;
	}
	return vg_err_set(err, -EPERM, "process %d cannot be traced: it has capabilities that vignetted lacks, or a "
			  "security policy (seccomp, SELinux, AppArmor, a container's) forbids it", pid);
}

int vg_access_check(pid_t pid, struct vg_err *err)
{
	struct vg_access access;

	vg_access_read(&access, pid);
	return vg_access_error(&access, vg_permission_record(&access.facts), err);
}

int vg_access_explain_eperm(pid_t pid, struct vg_err *err)
{
	struct vg_access access = { .facts.yama_scope = yama_scope(), .facts.root = geteuid() == 0 };

	trace_facts_read(&access, pid);
	return vg_access_error(&access, vg_permission_trace(&access.facts), err);
}
