/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_INTERRUPTS_H
#define VG_VIGNETTED_INTERRUPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "vignetted/capture/ring.h"
#include "vignetted/target/tasks.h"
#include "vignetted/unwind/snapshot.h"

/*
 * Samples of threads that run, taken by the kernel: perf_event_open(2) has a timer count the time
 * that a thread is on a CPU, and at its end, in the interrupt, copies registers and a piece of the
 * stack into a ring that we map.  Nobody is stopped, and nothing is asked for at each sample.
 *
 * Where kernel.perf_event_paranoid, a container's seccomp filter or another policy forbids that,
 * or there are too many threads for the descriptors, threads are stopped instead (tracee.h).
 *
 * Whom the kernel lets watch everyone may have timers of CPUs instead of threads (vg_interrupts_widen()):
 * these run on, whoever gets the CPU, so that they cost nothing when threads are switched and made.  They
 * sample whoever runs; what is of another process is passed over unread, but for its pid.
 */
enum { VG_INTERRUPTS_CPUS = -1 };    /* the owner of a CPU's timer, for that of a thread */

struct vg_interrupts {
	struct vg_ring *rings;       /* owned; one a CPU that a thread may run on */
	struct vg_event *events;     /* owned; one a thread and CPU, or a CPU, by rising id */
	pid_t pid;                   /* of whose threads there are samples; set by the caller, too */
	size_t max_bytes;            /* of all rings, which have 128 KiB each at least; set by the
	                                caller before it opens them */
	size_t ring_pages, ring_count, event_count, event_capacity;
	uint64_t period_ns;          /* CPU time from one sample of a thread to the next: a little more than what
	                                was asked for, to be in step with nobody */
	uint32_t stack_bytes;        /* of each copy */
	bool enabled;                /* timers run: see vg_interrupts_enable() */
	bool narrow;                 /* see vg_interrupts_narrow() */
	bool wide;                   /* see vg_interrupts_widen() */
	bool user_only;              /* time in the kernel is not sampled: not allowed */
	uint64_t taken;              /* samples */
	struct vg_ring_told told;    /* while timers run; threads made by those that are covered */
	struct vg_ring *current;     /* which next() read from */
};

/* One sample.  Its stack is in the ring until the next is asked for. */
struct vg_interrupt {
	pid_t tid;
	pid_t owner;                 /* the thread whose event this is, or was inherited from; or VG_INTERRUPTS_CPUS */
	uint64_t time_ns;            /* CLOCK_MONOTONIC */
	bool in_kernel;              /* the thread was */
	struct vg_regs regs;         /* in user code; no system call's number is known */
	uint64_t stack_at;           /* of the copy, in the ring */
	size_t stack_bytes;          /* copied, from the stack pointer upwards */
};

/*
 * Covers the threads that are listed, and all that they make from now on.  A thread of theirs that
 * is not listed, because it is being made now, may be missed: list them again, and call with
 * those that came, until none does.
 *
 * 0; -EACCES or another negative errno: this machine, or this number of threads, cannot have it.
 * What was opened is closed then.
 */
int vg_interrupts_open(struct vg_interrupts *interrupts, const struct vg_task *tasks, size_t count,
		       uint64_t period_ns);

/*
 * Halts the timers, or lets them run again.  For one that runs the kernel sets a timer each time that
 * the thread gets a CPU, and takes it back when it loses it: in a virtual machine 2 us at 99 Hz and 14 us
 * at 1 kHz (where it mostly is the CPU's earliest), half of that where the CPU is idle in between, which for
 * a thread that does so often is more than stops would cost it.  An event that stands still costs half a
 * microsecond, one that is closed nothing.
 */
void vg_interrupts_enable(struct vg_interrupts *interrupts, bool enabled);

/*
 * Closes what new threads inherit, which costs each of them 20 us a CPU when it is made and ends, and has
 * timers of their own cover the first four of these threads.  For good; timers run then.  0; or a negative
 * errno, and all is closed.
 */
int vg_interrupts_narrow(struct vg_interrupts *interrupts, const struct vg_task *tasks, size_t count);

/*
 * Has timers of the CPUs take the place of those of threads.  A thread's samples come at random then, as many
 * as it has CPU time on the average; and CPUs that are idle are woken at each period.  Closing is the way
 * back.  0; -EACCES, -EPERM or another negative errno: all is as it was.
 */
int vg_interrupts_widen(struct vg_interrupts *interrupts);

/* Makes the period so many thousandths of what it was to be, from now on.  Timers of CPUs go by the clock, as
 * what a program does may: between changes of this they keep in step with it, or out of it. */
void vg_interrupts_vary(struct vg_interrupts *interrupts, uint32_t permille);

/* Whether there is a timer that the thread has not inherited. */
bool vg_interrupts_cover(const struct vg_interrupts *interrupts, pid_t tid);

/* How many samples of one CPU may come before they must be fetched. */
uint32_t vg_interrupts_room(const struct vg_interrupts *interrupts);

/* The oldest sample that there is.  False: none. */
bool vg_interrupts_next(struct vg_interrupts *interrupts, struct vg_interrupt *interrupt);

/* Makes it a snapshot with at most want_bytes of its stack.  0 or -ENOMEM. */
int vg_interrupts_snapshot(const struct vg_interrupts *interrupts,
			   const struct vg_interrupt *interrupt, size_t want_bytes,
			   struct vg_snapshot *snapshot);

/* Keeps the counts.  Closing what is not open is allowed, if it is all zero. */
void vg_interrupts_close(struct vg_interrupts *interrupts);

#endif
