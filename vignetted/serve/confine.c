/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/confine.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vignetted/capture/waits.h"

/* A sanitizer maps terabytes, and traces its own process at the end, so a build with a sanitizer cannot be confined. */
#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* Calls that are allowed with any arguments.  Landlock is not used in addition: a process in a Landlock domain may
 * trace only processes of that domain (Linux 6.18). */
static const int calls_always[] = {
	/* its own memory and its end */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(futex),
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
	SCMP_SYS(getrandom),
	/* time and waiting */
	SCMP_SYS(clock_getres), SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep), SCMP_SYS(ppoll), SCMP_SYS(poll), SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(wait4),
	/* the target */
	SCMP_SYS(process_vm_readv), SCMP_SYS(getdents64), SCMP_SYS(readlinkat), SCMP_SYS(readlink),
	/* descriptors that are open */
	SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(lseek), SCMP_SYS(close), SCMP_SYS(fstat),
	SCMP_SYS(statx), SCMP_SYS(newfstatat), SCMP_SYS(write), SCMP_SYS(ftruncate), SCMP_SYS(io_setup),
	SCMP_SYS(io_submit), SCMP_SYS(io_getevents), SCMP_SYS(io_destroy), SCMP_SYS(sync_file_range),
	SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(flock),
	/* our ids and CPU, for the C library */
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getcpu),
};

/* A call that is allowed if its arguments satisfy all conditions. */
struct rule {
	int call;
	unsigned int count;
	struct scmp_arg_cmp arguments[3];
};

#define EQUAL(index, value) { index, SCMP_CMP_EQ, (scmp_datum_t)(value), 0 }
#define MASKED(index, mask, value) { index, SCMP_CMP_MASKED_EQ, (scmp_datum_t)(mask), (scmp_datum_t)(value) }
#define LESS(index, value) { index, SCMP_CMP_LT, (scmp_datum_t)(value), 0 }
#define GREATER(index, value) { index, SCMP_CMP_GT, (scmp_datum_t)(value), 0 }

static const struct rule rules_always[] = {
	/* No new executable memory, so that an attacker cannot add code. */
	{ SCMP_SYS(mmap), 1, { MASKED(2, PROT_EXEC, 0) } },
	{ SCMP_SYS(mprotect), 1, { MASKED(2, PROT_EXEC, 0) } },
	/* For free(3).  Other advice is dangerous: if root gives MADV_HWPOISON, the kernel gives up pages of memory. */
	{ SCMP_SYS(madvise), 1, { EQUAL(2, MADV_DONTNEED) } },
	/* Open for reading only. */
	{ SCMP_SYS(openat), 1, { MASKED(2, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND, O_RDONLY) } },
	/* To check that a dump's file is open for writing, and that the event ring cannot shrink. */
	{ SCMP_SYS(fcntl), 1, { EQUAL(1, F_GETFL) } },
	{ SCMP_SYS(fcntl), 1, { EQUAL(1, F_GET_SEALS) } },
	/* No ptrace options: with PTRACE_O_EXITKILL our exit would kill the tracee. */
	{ SCMP_SYS(ptrace), 2, { EQUAL(0, PTRACE_SEIZE), EQUAL(3, 0) } },
	{ SCMP_SYS(ptrace), 2, { EQUAL(0, PTRACE_INTERRUPT), EQUAL(3, 0) } },
	{ SCMP_SYS(ptrace), 2, { EQUAL(0, PTRACE_GETREGSET), EQUAL(2, NT_PRSTATUS) } },
	/* Detaching delivers the signal for which the tracee stopped.  No tracee stops for SIGKILL. */
	{ SCMP_SYS(ptrace), 2, { EQUAL(0, PTRACE_DETACH), LESS(3, SIGKILL) } },
	{ SCMP_SYS(ptrace), 2, { EQUAL(0, PTRACE_DETACH), GREATER(3, SIGKILL) } },
	/* Our own scheduling policy: SCHED_FIFO while a thread is stopped, SCHED_OTHER at other times. */
	{ SCMP_SYS(sched_setscheduler), 2, { EQUAL(0, 0), EQUAL(1, SCHED_FIFO) } },
	{ SCMP_SYS(sched_setscheduler), 2, { EQUAL(0, 0), EQUAL(1, SCHED_OTHER) } },
	{ SCMP_SYS(sched_setattr), 2, { EQUAL(0, 0), EQUAL(2, 0) } },
	{ SCMP_SYS(prctl), 1, { EQUAL(0, PR_SET_TIMERSLACK) } },
	/* Timers and counters of one thread.  The pid must not be negative, because -1 means all processes.  The kernel
	 * reads only 32 bits of this argument. */
	{ SCMP_SYS(perf_event_open), 2, { MASKED(1, UINT32_C(1) << 31, 0), EQUAL(4, PERF_FLAG_FD_CLOEXEC) } },
	{ SCMP_SYS(ioctl), 1, { EQUAL(1, PERF_EVENT_IOC_SET_OUTPUT) } },
	{ SCMP_SYS(ioctl), 1, { EQUAL(1, PERF_EVENT_IOC_PERIOD) } },
	/* Read our own limits, and the CPUs on which threads may run. */
	{ SCMP_SYS(prlimit64), 2, { EQUAL(0, 0), EQUAL(2, 0) } },
	{ SCMP_SYS(sched_getaffinity), 0, { { 0 } } },
};

/* To accept connections, and to read the user at their other end. */
static const struct rule rules_listen[] = {
	{ SCMP_SYS(accept4), 0, { { 0 } } },
	{ SCMP_SYS(getsockopt), 2, { EQUAL(1, SOL_SOCKET), EQUAL(2, SO_PEERCRED) } },
};

/* seccomp_rule_add(3) and seccomp_rule_add_array(3) return 0 for a system call that this architecture does not have.
 * (seccomp_rule_add_exact(3) returns -EDOM.) */
static int rules_add(scmp_filter_ctx filter, const struct rule *rules, size_t count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rules[i].call, rules[i].count,
					    rules[i].arguments);
	return rc;
}

#define RULES(filter, rules) rules_add(filter, rules, sizeof (rules) / sizeof *(rules))

/* The capabilities of root that sampling needs: to trace, to sample kernel code, to lock rings, to get a CPU soon,
 * and to read other users' files in /proc and perf maps.  Before Linux 5.8 CAP_PERFMON was a part of CAP_SYS_ADMIN.
 * CAP_SYS_ADMIN also permits uprobes with perf_event_open(2), which change the code of any process. */
static uint64_t capabilities_needed(void)
{
	uint64_t needed = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_IPC_LOCK |
			  UINT64_C(1) << CAP_SYS_NICE | UINT64_C(1) << CAP_DAC_READ_SEARCH;

	return needed | UINT64_C(1) << (prctl(PR_CAPBSET_READ, CAP_PERFMON, 0, 0, 0) >= 0 ? CAP_PERFMON :
											    CAP_SYS_ADMIN);
}

void vg_search_capability_set(bool effective)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	const uint32_t search = UINT32_C(1) << CAP_DAC_READ_SEARCH;

	if (syscall(SYS_capget, &header, data) != 0)
		return;
	data[0].effective &= ~search;
	if (effective)
		data[0].effective |= data[0].permitted & search;
	syscall(SYS_capset, &header, data);
}

static int capabilities_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	uint64_t needed = capabilities_needed();

	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].permitted &= (uint32_t)(needed >> 32 * i);
		data[i].effective &= (uint32_t)(needed >> 32 * i);
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

static int filter_build(scmp_filter_ctx filter, bool listens)
{
	const struct rule repair = { SCMP_SYS(ptrace), 3, {
		EQUAL(0, PTRACE_POKEUSER), EQUAL(2, vg_wait_repair_offset), EQUAL(3, vg_wait_repair_value),
	} };
	/* The kernel does not run the filter for calls that are allowed with any arguments (Linux 5.11).  Of the other
	 * calls, ptrace(2) is checked first, because a thread is stopped meanwhile. */
	int rc = seccomp_syscall_priority(filter, SCMP_SYS(ptrace), 255);

	for (size_t i = 0; rc == 0 && i < sizeof calls_always / sizeof *calls_always; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls_always[i], 0);
	if (rc == 0)
		rc = RULES(filter, rules_always);
	if (rc == 0 && vg_wait_repair_offset >= 0)
		rc = rules_add(filter, &repair, 1);
	if (rc == 0 && listens)
		rc = RULES(filter, rules_listen);
	return rc;
}

static int filter_load(bool listens)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc;

	if (filter == NULL)
		return -ENOMEM;
	rc = filter_build(filter, listens);
	/* Without this attribute seccomp_load(3) returns ECANCELED instead of the kernel's errno. */
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc;
}

/* Allows as many open files as the hard limit does, so that threads' files can be kept open.  A lower limit is no
 * failure: then fewer are kept. */
static void open_files_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int vg_confine(bool listens, uint64_t memory_bytes, struct vg_err *err)
{
	const struct rlimit no_core = { 0, 0 };
	struct rlimit memory = { memory_bytes, memory_bytes }, given;
	int rc, drop_rc;

	open_files_allow();
	if (SANITIZED)
		return 0;
	setrlimit(RLIMIT_CORE, &no_core);
	/* A lower limit that was set before stays in force, even for root. */
	if (getrlimit(RLIMIT_AS, &given) == 0 && given.rlim_cur < memory.rlim_cur)
		memory.rlim_cur = memory.rlim_max = given.rlim_cur;
	setrlimit(RLIMIT_AS, &memory);
	/* Not dumpable: the helper has copies of another program's stacks, and perhaps a capability. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return vg_err_sys(err, -errno, "the helper is not confined: prctl(PR_SET_NO_NEW_PRIVS)");
	drop_rc = capabilities_drop();
	rc = filter_load(listens);
	if (rc != 0)
		return vg_err_sys(err, rc, "the helper is not confined: the seccomp filter cannot be loaded");
	return drop_rc == 0 ? 0 : vg_err_sys(err, drop_rc, "the helper is not confined: it cannot drop capabilities");
}
