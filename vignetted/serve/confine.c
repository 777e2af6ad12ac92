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

/* A sanitizer maps terabytes, and attaches to its own process at the end. */
#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* Allowed with any argument. */
static const int calls_always[] = {
	/* its own memory and its end */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(futex),
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
	SCMP_SYS(getrandom),
	/* time and waiting; a timer's signal interrupts none of it */
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
	/* who and where we are: of the C library's own use */
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getcpu),
};

/* One call with what its arguments must be: argument `index`, masked, equals, is less or is greater. */
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
	/* No new executable memory: code that an attacker brings cannot run. */
	{ SCMP_SYS(mmap), 1, { MASKED(2, PROT_EXEC, 0) } },
	{ SCMP_SYS(mprotect), 1, { MASKED(2, PROT_EXEC, 0) } },
	/* free(3).  Other advice takes pages from the machine, as root (MADV_HWPOISON). */
	{ SCMP_SYS(madvise), 1, { EQUAL(2, MADV_DONTNEED) } },
	/* To read. */
	{ SCMP_SYS(openat), 1, { MASKED(2, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND, O_RDONLY) } },
	/* How a file that a dump goes to is open; whether the ring of events can shrink. */
	{ SCMP_SYS(fcntl), 1, { EQUAL(1, F_GETFL) } },
	{ SCMP_SYS(fcntl), 1, { EQUAL(1, F_GET_SEALS) } },
	/* Without options: with PTRACE_O_EXITKILL our end would kill the tracee. */
	{ SCMP_SYS(ptrace), 2, { EQUAL(0, PTRACE_SEIZE), EQUAL(3, 0) } },
	{ SCMP_SYS(ptrace), 2, { EQUAL(0, PTRACE_INTERRUPT), EQUAL(3, 0) } },
	{ SCMP_SYS(ptrace), 2, { EQUAL(0, PTRACE_GETREGSET), EQUAL(2, NT_PRSTATUS) } },
	/* A signal that was on its way is handed back, which is never SIGKILL: that one stops no tracee. */
	{ SCMP_SYS(ptrace), 2, { EQUAL(0, PTRACE_DETACH), LESS(3, SIGKILL) } },
	{ SCMP_SYS(ptrace), 2, { EQUAL(0, PTRACE_DETACH), GREATER(3, SIGKILL) } },
	/* Our own policy: while a thread is stopped, and at other times. */
	{ SCMP_SYS(sched_setscheduler), 2, { EQUAL(0, 0), EQUAL(1, SCHED_FIFO) } },
	{ SCMP_SYS(sched_setscheduler), 2, { EQUAL(0, 0), EQUAL(1, SCHED_OTHER) } },
	{ SCMP_SYS(sched_setattr), 2, { EQUAL(0, 0), EQUAL(2, 0) } },
	{ SCMP_SYS(prctl), 1, { EQUAL(0, PR_SET_TIMERSLACK) } },
	/* Timers and counters of one thread.  The pid is an int: the kernel ignores the upper half. */
	{ SCMP_SYS(perf_event_open), 2, { MASKED(1, UINT32_C(1) << 31, 0), EQUAL(4, PERF_FLAG_FD_CLOEXEC) } },
	{ SCMP_SYS(ioctl), 1, { EQUAL(1, PERF_EVENT_IOC_SET_OUTPUT) } },
	{ SCMP_SYS(ioctl), 1, { EQUAL(1, PERF_EVENT_IOC_PERIOD) } },
	/* How many descriptors there may be, and on which CPUs: our own limits, to read. */
	{ SCMP_SYS(prlimit64), 2, { EQUAL(0, 0), EQUAL(2, 0) } },
	{ SCMP_SYS(sched_getaffinity), 0, { { 0 } } },
};

/* The connections of others, and whose they are. */
static const struct rule rules_listen[] = {
	{ SCMP_SYS(accept4), 0, { { 0 } } },
	{ SCMP_SYS(getsockopt), 2, { EQUAL(1, SOL_SOCKET), EQUAL(2, SO_PEERCRED) } },
};

static int rules_add(scmp_filter_ctx filter, const struct rule *rules, size_t count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rules[i].call, rules[i].count,
					    rules[i].arguments);
	return rc;
}

#define RULES(filter, rules) rules_add(filter, rules, sizeof (rules) / sizeof *(rules))

/* What sampling needs of root's capabilities: to trace, to sample the kernel's code, to lock rings, to have a
 * CPU soon, and to read the files of others in /proc and perf maps.  Before Linux 5.8 CAP_PERFMON was a part of
 * CAP_SYS_ADMIN, with which perf_event_open(2) also places uprobes: these change the code of any process. */
static uint64_t capabilities_needed(void)
{
	uint64_t needed = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_IPC_LOCK |
			  UINT64_C(1) << CAP_SYS_NICE | UINT64_C(1) << CAP_DAC_READ_SEARCH;

	return needed | UINT64_C(1) << (prctl(PR_CAPBSET_READ, CAP_PERFMON, 0, 0, 0) >= 0 ? CAP_PERFMON :
											    CAP_SYS_ADMIN);
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
		EQUAL(0, PTRACE_POKEUSER), EQUAL(2, vg_regs_repaired_at), EQUAL(3, vg_regs_repaired_value),
	} };
	/* The kernel knows by now which calls pass whatever their arguments, and runs the filter for the
	 * others only: of those, what is asked while a thread stands still comes first. */
	int rc = seccomp_syscall_priority(filter, SCMP_SYS(ptrace), 255);

	for (size_t i = 0; rc == 0 && i < sizeof calls_always / sizeof *calls_always; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls_always[i], 0);
	if (rc == 0)
		rc = RULES(filter, rules_always);
	if (rc == 0 && vg_regs_repaired_at >= 0)
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
	/* Else seccomp_load(3) hides the kernel's errno behind ECANCELED. */
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc;
}

int vg_confine(bool listens, uint64_t memory_bytes, struct vg_err *err)
{
	const struct rlimit no_core = { 0, 0 };
	struct rlimit memory = { memory_bytes, memory_bytes }, given;
	int rc, kept;

	if (SANITIZED)
		return 0;
	setrlimit(RLIMIT_CORE, &no_core);
	/* Who started us may have set less; root could lift that. */
	if (getrlimit(RLIMIT_AS, &given) == 0 && given.rlim_cur < memory.rlim_cur)
		memory.rlim_cur = memory.rlim_max = given.rlim_cur;
	setrlimit(RLIMIT_AS, &memory);
	/* The helper holds a copy of another program's stack, and perhaps a capability. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return vg_err_sys(err, -errno, "the helper is not confined: the kernel does not let it give "
				  "up gaining privileges");
	kept = capabilities_drop();
	rc = filter_load(listens);
	if (rc != 0)
		return vg_err_sys(err, rc, "the helper is not confined: a filter of system calls (seccomp) cannot be "
				  "loaded");
	return kept == 0 ? 0 : vg_err_sys(err, kept, "the helper is not confined: it cannot give up its "
					  "capabilities");
}
