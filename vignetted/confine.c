/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vignetted/waits.h"

/* A sanitizer maps terabytes, and attaches to its own process at the end. */
#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static const int calls_always[] = {
	/* its own memory and its end */
	SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	SCMP_SYS(mprotect), SCMP_SYS(futex), SCMP_SYS(exit), SCMP_SYS(exit_group),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall), SCMP_SYS(getrandom),
	/* time and waiting; a timer's signal interrupts none of it */
	SCMP_SYS(clock_getres), SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep), SCMP_SYS(ppoll), SCMP_SYS(poll), SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(wait4),
	/* the target */
	SCMP_SYS(process_vm_readv), SCMP_SYS(getdents64), SCMP_SYS(readlinkat), SCMP_SYS(readlink),
	/* descriptors that are open */
	SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(lseek), SCMP_SYS(close), SCMP_SYS(fstat),
	SCMP_SYS(newfstatat), SCMP_SYS(write), SCMP_SYS(ftruncate), SCMP_SYS(io_setup),
	SCMP_SYS(io_submit), SCMP_SYS(io_getevents), SCMP_SYS(io_destroy), SCMP_SYS(sync_file_range),
	SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(flock),
	/* who and where we are: of the C library's own use */
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getcpu),
};

/* The file is renamed from NAME.part, or removed. */
static const int calls_alone[] = { SCMP_SYS(renameat), SCMP_SYS(unlinkat) };

static const int calls_listen[] = {
	SCMP_SYS(accept4), SCMP_SYS(getsockopt), SCMP_SYS(renameat), SCMP_SYS(unlinkat),
};

static int calls_allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	return rc;
}

#define ALLOW(filter, calls) calls_allow(filter, calls, sizeof (calls) / sizeof *(calls))

static int ptrace_allow(scmp_filter_ctx filter)
{
	static const int requests[] = {
		PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, PTRACE_GETREGSET,
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof requests / sizeof *requests; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ptrace), 1,
				      SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)requests[i]));
	if (rc == 0 && vg_regs_repaired_at >= 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ptrace), 2,
				      SCMP_A0(SCMP_CMP_EQ, PTRACE_POKEUSER),
				      SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)vg_regs_repaired_at));
	return rc;
}

/* Our own: while a thread stands still, while all that we do can wait, and at other times. */
static int priority_allow(scmp_filter_ctx filter)
{
	static const int policies[] = { SCHED_FIFO, SCHED_OTHER, SCHED_BATCH };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof policies / sizeof *policies; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sched_setscheduler), 2,
				      SCMP_A0(SCMP_CMP_EQ, 0),
				      SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)policies[i]));
	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sched_setattr), 2,
				      SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
	return rc != 0 ? rc : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
					       SCMP_A0(SCMP_CMP_EQ, PR_SET_TIMERSLACK));
}

/* Who may trace every process learns no more from what runs on a CPU.  In a user namespace the capability is for the
 * processes of that, and the kernel asks for another one before it lets such a helper watch CPUs. */
static bool traces_everyone(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capget, &header, data) == 0 &&
	       (data[0].effective & 1u << CAP_SYS_PTRACE) != 0;
}

/* Timers of the kernel's own samples, and counters: of one thread each, not of all that a CPU does, where that would
 * be more than we may see anyway. */
static int events_allow(scmp_filter_ctx filter)
{
	static const unsigned long requests[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_ID, PERF_EVENT_IOC_SET_OUTPUT,
		PERF_EVENT_IOC_PERIOD,
	};
	/* The sign of an int, which the kernel takes for a pid whatever the upper half holds. */
	int rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(perf_event_open), 2,
				  SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_C(1) << 31, 0),
				  SCMP_A4(SCMP_CMP_EQ, PERF_FLAG_FD_CLOEXEC));

	if (rc == 0 && traces_everyone())
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(perf_event_open), 2,
				      SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, UINT32_MAX),
				      SCMP_A4(SCMP_CMP_EQ, PERF_FLAG_FD_CLOEXEC));
	for (size_t i = 0; rc == 0 && i < sizeof requests / sizeof *requests; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				      SCMP_A1(SCMP_CMP_EQ, requests[i]));
	/* How many there may be, and where: to read limits, not to set them. */
	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
				      SCMP_A2(SCMP_CMP_EQ, 0));
	return rc != 0 ? rc : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sched_getaffinity), 0);
}

static int filter_load(enum vg_confine_role role)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc;

	if (filter == NULL)
		return -ENOMEM;
	/* The kernel knows by now which calls pass whatever their arguments, and runs the filter for the
	 * others only: of those, what is asked while a thread stands still comes first. */
	rc = seccomp_syscall_priority(filter, SCMP_SYS(ptrace), 255);
	if (rc == 0)
		rc = ALLOW(filter, calls_always);
	/* To read. */
	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ,
					      O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND, O_RDONLY));
	/* How a file that a dump goes to is open. */
	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				      SCMP_A1(SCMP_CMP_EQ, F_GETFL));
	if (rc == 0)
		rc = ptrace_allow(filter);
	if (rc == 0)
		rc = priority_allow(filter);
	if (rc == 0)
		rc = events_allow(filter);
	if (rc == 0 && role == VG_CONFINE_ALONE)
		rc = ALLOW(filter, calls_alone);
	else if (rc == 0 && role == VG_CONFINE_LISTEN)
		rc = ALLOW(filter, calls_listen);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc;
}

int vg_confine(enum vg_confine_role role, uint64_t memory_bytes, struct vg_err *err)
{
	const struct rlimit no_core = { 0, 0 };
	struct rlimit memory = { memory_bytes, memory_bytes }, given;
	int rc;

	if (SANITIZED)
		return 0;
	setrlimit(RLIMIT_CORE, &no_core);
	/* Whoever started us may have set less; root could lift that. */
	if (getrlimit(RLIMIT_AS, &given) == 0 && given.rlim_cur < memory.rlim_cur)
		memory.rlim_cur = memory.rlim_max = given.rlim_cur;
	setrlimit(RLIMIT_AS, &memory);
	/* The helper holds a copy of another program's stack, and perhaps a capability. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return vg_err_sys(err, -errno, "cannot give up gaining privileges");
	rc = filter_load(role);
	/* A kernel without seccomp (its configuration may leave it out) samples as well. */
	if (rc == -EINVAL || rc == -ENOSYS || rc == -ECANCELED)
		return 0;
	return rc != 0 ? vg_err_sys(err, rc, "cannot confine the helper") : 0;
}
