/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/waits.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

enum { ERESTARTNOHAND_CODE = 514 };      /* the kernel's own: restart unless a handler runs */
enum { USER_CS_64 = 0x33 };              /* code segment of 64-bit programs (asm/segment.h) */

/* Calls that return EINTR after a stop, and others that are not to be stopped.  What decides whether one may. */
enum interruptible {
	NOT_INTERRUPTIBLE,           /* the kernel takes it up again by itself */
	NOT_STOPPABLE,               /* a stop waits for its end, and we for the stop */
	ALWAYS_FINITE,               /* never stop it */
	WITHOUT_TIMEOUT,             /* it has none */
	TIMEOUT_MS_3,                /* argument 3 in milliseconds, negative for ever */
	TIMEOUT_AT_2, TIMEOUT_AT_3, TIMEOUT_AT_4, /* argument points to it, NULL for ever */
	RING,                        /* io_uring_enter: a timeout only with extended arguments */
	SOCKET,                      /* if argument 0 is a socket: it may have a timeout */
};

static enum interruptible call_kind(int64_t call)
{
	switch (call) {
	case SYS_epoll_wait: case SYS_epoll_pwait: return TIMEOUT_MS_3;
	case SYS_epoll_pwait2: return TIMEOUT_AT_3;
	case SYS_io_uring_enter: return RING;
	case SYS_io_getevents: return TIMEOUT_AT_4;
	/* The kernel restarts its whole timeout at every stop. */
	case SYS_io_pgetevents: return ALWAYS_FINITE;
	/* If they wait, it is for a child that uses our memory (CLONE_VFORK). */
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
	case NOT_STOPPABLE: case ALWAYS_FINITE: return false;
	case TIMEOUT_MS_3: return (int)wait->arguments[3] < 0;
	case TIMEOUT_AT_2: return wait->arguments[2] == 0;
	case TIMEOUT_AT_3: return wait->arguments[3] == 0;
	case TIMEOUT_AT_4: return wait->arguments[4] == 0;
	case RING: return (wait->arguments[3] & IORING_ENTER_EXT_ARG) == 0;
	case SOCKET: return !is_socket(directory, tid, (int)wait->arguments[0]);
	}
	return false;
}

/* Those that keep a restart block in the kernel. */
bool vg_wait_is_renumbered(int64_t call)
{
	return call == SYS_poll || call == SYS_nanosleep || call == SYS_clock_nanosleep ||
	       call == SYS_futex;
}

const long vg_regs_repaired_at = offsetof(struct user, regs.rax);
const long vg_regs_repaired_value = -ERESTARTNOHAND_CODE;

bool vg_regs_repair(struct vg_regs *regs, pid_t tid)
{
	enum interruptible kind = call_kind((int64_t)regs->raw.orig_rax);

	/* A 32-bit program's calls have other numbers. */
	if (regs->raw.cs != USER_CS_64 || (long)regs->raw.rax != -EINTR || kind == NOT_INTERRUPTIBLE ||
	    kind == NOT_STOPPABLE)
		return false;
	regs->raw.rax = (unsigned long)vg_regs_repaired_value;
	return ptrace(PTRACE_POKEUSER, tid, vg_regs_repaired_at, regs->raw.rax) == 0;
}
