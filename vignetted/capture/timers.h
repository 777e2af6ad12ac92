/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TIMERS_H
#define VG_VIGNETTED_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "vignetted/capture/ring.h"
#include "vignetted/target/tasks.h"
#include "vignetted/unwind/snapshot.h"

/*
 * Samples of running threads, taken by the kernel's timers.
 *
 * perf_event_open(2) has a timer count a thread's CPU time.  When the timer expires, the kernel copies the thread's registers
 * and a piece of its stack into a ring that we map.  No thread is stopped, and we need not wake for a sample.
 *
 * A program that does something exactly as often as it is sampled would be sampled at the same point each time.  So each
 * timer has a period of its own, between 4/5 and 4/3 of what was asked for, and gets another one several times a second.
 *
 * A thread has one timer a CPU, because the kernel allows one ring a CPU only for events of that CPU.  New threads
 * inherit no timers: an inherited timer costs each thread 20 us a CPU, which is more than many threads live.
 *
 * Where kernel.perf_event_paranoid, a container's seccomp filter or another policy forbids timers, or descriptors are
 * short, threads are stopped instead (tracer.h).
 */
struct vg_timers {
	struct vg_ring *rings;       /* owned; one a CPU that a thread may run on; NULL: there are no timers */
	size_t ring_count, ring_pages;
	struct vg_timer *items;      /* owned; one a thread and CPU */
	size_t count, capacity;
	pid_t pid;                   /* the process */
	uint64_t asked_ns;           /* CPU time from one sample of a thread to the next, on the average; 0: there are to be no
	                                timers */
	uint64_t random;             /* state of the generator of periods */
	uint32_t stack_bytes;        /* of each copy */
	bool user_only;              /* kernel.perf_event_paranoid forbids samples of time in the kernel */
	uint64_t taken;              /* samples */
	uint64_t lost;               /* samples for which a ring had no room */
	struct vg_ring *current;     /* which vg_timers_next() read from */
};

/* What the kernel recorded of a thread that has timers, and when. */
enum vg_timer_kind {
	VG_TIMER_SAMPLE,
	VG_TIMER_ENDED,              /* it ended */
	VG_TIMER_MAPPED,             /* it mapped code, or made what is mapped there executable */
};

/* One record.  A sample's stack is in the ring until the next record is asked for. */
struct vg_timer_record {
	enum vg_timer_kind kind;
	pid_t tid;
	uint64_t time_ns;            /* CLOCK_MONOTONIC */
	struct {
		uint64_t period_ns;  /* CPU time that the timer measured */
		bool in_kernel;      /* the thread was */
		struct vg_regs regs; /* in user code; no system call's number is known */
		uint64_t stack_at;   /* of the copy, in the ring */
		size_t stack_bytes;  /* copied, from the stack pointer upwards */
	} sample;
	struct {
		uint64_t address, bytes;
	} mapped;
};

/*
 * Maps the rings, for the CPUs that these threads may run on.  The rings share max_bytes, but have 128 KiB each at least.
 * Closes what was open.  0; -EACCES or another negative errno: this machine cannot have timers, and none are open.
 */
int vg_timers_open(struct vg_timers *timers, pid_t pid, const struct vg_task *tasks, size_t count,
		   uint64_t period_ns, size_t max_bytes);

/* Gives the thread timers.  0; -ESRCH: it has ended; -EMFILE or another negative errno: it has none. */
int vg_timers_add(struct vg_timers *timers, pid_t tid);

/* Takes them away.  Samples that are in the rings stay there. */
void vg_timers_remove(struct vg_timers *timers, pid_t tid);

/* How much time of one CPU the rings hold the samples of; 0: there are none. */
uint64_t vg_timers_room_ns(const struct vg_timers *timers);

/* The oldest record that there is.  False: none.  The timer that took a sample gets another period now, if that is due: the
 * part of its period that it has measured by then is in no sample. */
bool vg_timers_next(struct vg_timers *timers, struct vg_timer_record *record);

/* Makes a sample a snapshot with at most want_bytes of its stack.  0 or -ENOMEM. */
int vg_timers_snapshot(const struct vg_timers *timers, const struct vg_timer_record *record, size_t want_bytes,
		       struct vg_snapshot *snapshot);

/* Keeps the counts.  Closing what is not open is allowed, if it is all zero. */
void vg_timers_close(struct vg_timers *timers);

#endif
