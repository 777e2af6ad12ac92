/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/waits.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/system_calls.h"

/* An errno that only the kernel uses.  When the thread has stopped, the kernel has already set the call's result to
 * -EINTR.  If the result is -ERESTARTNOHAND instead, the kernel restarts the call, or returns EINTR if a signal handler
 * is to run. */
enum { ERESTARTNOHAND_CODE = 514 };
enum { USER_CS_64 = 0x33 };              /* code segment of 64-bit programs (asm/segment.h) */

/* What a stop does to a system call, and what decides whether a thread may be stopped in it. */
enum interruptible {
	NOT_INTERRUPTIBLE,           /* the kernel restarts the call by itself */
	NOT_STOPPABLE,               /* the thread stops only when the call returns: do not wait for that */
	/* After a stop the calls below return EINTR.  Except for NEVER_STOP, a thread may be stopped in them if they
	 * have no timeout: vg_wait_repair() repairs the result. */
	NEVER_STOP,
	WITHOUT_TIMEOUT,             /* the call never has a timeout */
	TIMEOUT_MS_3,                /* argument 3, counted from 0, is the timeout in milliseconds; negative: none */
	TIMEOUT_AT_2, TIMEOUT_AT_3, TIMEOUT_AT_4, /* the argument points to the timeout; NULL: none */
	RING,                        /* io_uring_enter(2): has a timeout only with extended arguments */
	SOCKET,                      /* argument 0 is a descriptor; if it is a socket, it may have a timeout */
};

static enum interruptible call_kind(int64_t call)
{
	switch (call) {
	case SYS_epoll_wait: case SYS_epoll_pwait: return TIMEOUT_MS_3;
	case SYS_epoll_pwait2: return TIMEOUT_AT_3;
	case SYS_io_uring_enter: return RING;
	case SYS_io_getevents: return TIMEOUT_AT_4;
	/* After every stop, the kernel begins the whole timeout of this call again. */
	case SYS_io_pgetevents: return NEVER_STOP;
	/* These calls wait only for a child that uses the parent's memory (CLONE_VFORK). */
	case SYS_vfork: case SYS_clone: case SYS_clone3: return NOT_STOPPABLE;
	case SYS_semop: return WITHOUT_TIMEOUT;
	case SYS_semtimedop: return TIMEOUT_AT_3;
	case SYS_rt_sigtimedwait: return TIMEOUT_AT_2;
	case SYS_read: case SYS_readv: case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg:
	case SYS_accept: case SYS_accept4: case SYS_connect: case SYS_write: case SYS_writev:
	case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg:
		return SOCKET;
	}
	return NOT_INTERRUPTIBLE;
}

static bool is_socket(int directory, pid_t tid, int fd)
{
	char path[64], target[16] = "";

	snprintf(path, sizeof path, "%d/fd/%d", tid, fd);
	return readlinkat(directory, path, target, sizeof target - 1) <= 0 ||
	       strncmp(target, "socket:", 7) == 0;
}

bool vg_wait_may_stop(const struct vg_wait *wait, int directory, pid_t tid)
{
	switch (call_kind(wait->call)) {
	case NOT_INTERRUPTIBLE: case WITHOUT_TIMEOUT: return true;
	case NOT_STOPPABLE: case NEVER_STOP: return false;
	case TIMEOUT_MS_3: return (int)wait->arguments[3] < 0;
	case TIMEOUT_AT_2: return wait->arguments[2] == 0;
	case TIMEOUT_AT_3: return wait->arguments[3] == 0;
	case TIMEOUT_AT_4: return wait->arguments[4] == 0;
	case RING: return (wait->arguments[3] & IORING_ENTER_EXT_ARG) == 0;
	case SOCKET: return !is_socket(directory, tid, (int)wait->arguments[0]);
	}
	return false;
}

/* These calls keep a restart block in the kernel. */
bool vg_wait_is_renumbered(int64_t call)
{
	return call == SYS_poll || call == SYS_nanosleep || call == SYS_clock_nanosleep ||
	       call == SYS_futex;
}

const long vg_wait_repair_offset = offsetof(struct user, regs.rax);
const long vg_wait_repair_value = -ERESTARTNOHAND_CODE;

bool vg_wait_repair(struct vg_regs *regs, pid_t tid)
{
	enum interruptible kind = call_kind((int64_t)regs->raw.orig_rax);

	/* The system calls of 32-bit code have other numbers. */
	if (regs->raw.cs != USER_CS_64 || (long)regs->raw.rax != -EINTR || kind == NOT_INTERRUPTIBLE ||
	    kind == NOT_STOPPABLE)
		return false;
	regs->raw.rax = (unsigned long)vg_wait_repair_value;
	return ptrace(PTRACE_POKEUSER, tid, vg_wait_repair_offset, regs->raw.rax) == 0;
}
