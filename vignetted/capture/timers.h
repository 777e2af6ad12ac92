/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TIMERS_H
#define VG_VIGNETTED_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "vignetted/target/modules.h"
#include "vignetted/target/tasks.h"
#include "vignetted/unwind/snapshot.h"

/* One CPU's ring of perf records (perf_event_open(2)): memory that we share with the kernel, with the records in the
 * order of their arrival.  All zero is a ring that is not mapped. */
struct vg_ring {
	int cpu;
	int fd;                      /* owned while mapped: the perf event from which the ring is mapped */
	struct perf_event_mmap_page *head; /* NULL: not mapped */
	unsigned char *data;
	size_t data_bytes;
	uint64_t tail;               /* bytes that were read, and so the position of the next record */
	uint64_t time_ns;            /* time of the record at the tail; 0: none was found yet */
	uint32_t record_type;        /* type of the record at the tail: PERF_RECORD_SAMPLE, _EXIT or _MMAP2 */
	uint32_t record_bytes;       /* length of the record at the tail */
};

/*
 * Timers: the kernel samples running threads.
 *
 * A timer is a perf event that counts a thread's CPU time.  When the timer expires, the kernel copies the thread's
 * registers and a part of its stack into a ring that we map.  No thread is stopped, and the helper need not wake for a
 * sample.
 *
 * If a program repeated its work as often as it is sampled, every sample would be of the same point in the work.  So
 * each timer has a random period, between 4/5 and 4/3 of the sampling period.  Several times a second it gets another
 * random period.
 *
 * All threads share one ring for each CPU.  The kernel lets an event write into a ring only if both belong to the same
 * CPU, so a thread has one timer for each CPU.  New threads inherit no timers: an inherited timer costs each new thread
 * 20 us for each CPU, and many threads live for less.
 *
 * kernel.perf_event_paranoid, a container's seccomp filter or another policy may forbid timers, and descriptors may run
 * out.  Threads without timers are stopped (tracer.h).
 *
 *     vg_timers_open(&timers, pid, tasks, count, period_ns, max_bytes);
 *     vg_timers_add(&timers, tid);
 *     while (vg_timers_next(&timers, &record))
 *             if (record.kind == VG_TIMER_SAMPLE && record.sample.readable)
 *                     vg_timers_snapshot(&timers, &record, want_bytes, &snapshot);
 *     vg_timers_close(&timers);
 */
struct vg_timers {
	struct vg_ring *rings;       /* owned; one for each CPU that a thread may run on; NULL: there are no timers */
	size_t ring_count, ring_pages;
	struct vg_timer *items;      /* owned; one for each thread and CPU */
	size_t count, capacity;
	pid_t pid;                   /* the process */
	uint64_t mean_period_ns;     /* CPU time between a thread's timer samples, on average; 0: no timers */
	uint64_t random;             /* state of the generator of periods */
	int64_t clock_offset_ns;     /* our CLOCK_MONOTONIC minus the clock of the records */
	uint32_t stack_bytes;        /* size of the stack copy in each sample */
	bool kernel_frames;          /* samples have the frames of kernel code; set by the caller before
					vg_timers_open() */
	bool user_only;              /* kernel.perf_event_paranoid forbids samples of kernel code */
	uint64_t samples;            /* samples that were read */
	uint64_t lost;               /* samples for which a ring had no room */
	struct vg_ring *current;     /* the ring that vg_timers_next() read from */
};

/* What the kernel recorded of a thread that has timers. */
enum vg_timer_kind {
	VG_TIMER_SAMPLE,
	VG_TIMER_EXITED,             /* the thread has exited */
	VG_TIMER_MAPPED,             /* the thread mapped code, or made mapped memory executable */
};

/* One record.  A sample's stack stays in the ring until the next call of vg_timers_next(). */
struct vg_timer_record {
	enum vg_timer_kind kind;
	pid_t tid;
	uint64_t time_ns;            /* our CLOCK_MONOTONIC */
	struct {
		uint64_t period_ns;  /* CPU time that the timer had measured when it expired */
		bool readable;       /* the fields below are set; false: the thread was exiting, or in 32-bit code */
		bool in_kernel;      /* the thread ran kernel code */
		uint64_t callchain_at; /* position of the callchain in the ring, for vg_timers_kernel_frames() */
		uint32_t callchain_count; /* its length in words */
		struct vg_regs regs; /* registers of user code, without the number of a system call */
		uint64_t stack_at;   /* position of the copy in the ring */
		size_t stack_bytes;  /* bytes of the copy, which begins at the stack pointer */
	} sample;
	struct vg_mapping mapped;
};

/*
 * Closes what was open.  Maps a ring for each CPU that the threads in `tasks` may run on.  The rings share max_bytes,
 * but each has at least 128 KiB.  If period_ns or count is 0, opens nothing and returns 0.  Returns 0, or -EACCES or
 * another negative errno if timers are not possible; then there are no rings.
 */
int vg_timers_open(struct vg_timers *timers, pid_t pid, const struct vg_task *tasks, size_t count,
		   uint64_t period_ns, size_t max_bytes);

/* Opens a timer of the thread and closes it again.  Sets *user_only to whether only user code can be sampled.  Returns
 * 0 or a negative errno. */
int vg_timers_try(pid_t tid, bool *user_only);

/* Opens timers for a thread.  Returns 0, -ESRCH if the thread has exited, -EMFILE or another negative errno.  After an
 * error the thread has no timers. */
int vg_timers_add(struct vg_timers *timers, pid_t tid);

/* Returns the next random period of a timer, and advances `random`.  Reads no other member than mean_period_ns. */
uint64_t vg_timers_random_period_ns(struct vg_timers *timers);

/* Closes a thread's timers.  Their samples stay in the rings. */
void vg_timers_remove(struct vg_timers *timers, pid_t tid);

/* Returns how long threads must run on one CPU, at least, until their samples fill its ring; 0 without timers. */
uint64_t vg_timers_capacity_ns(const struct vg_timers *timers);

/* Reads the oldest record of all rings.  Returns false if there is none.  After a sample, gives its timer another
 * period if that is due.  The timer then starts from zero, so CPU time that it had already measured is in no sample. */
bool vg_timers_next(struct vg_timers *timers, struct vg_timer_record *record);

/* Makes a snapshot of a sample, with at most want_bytes of its stack.  The caller sets moment.evidence.  Returns 0 or
 * -ENOMEM. */
int vg_timers_snapshot(const struct vg_timers *timers, const struct vg_timer_record *record, size_t want_bytes,
		       struct vg_snapshot *snapshot);

/* The most frames of kernel code in a sample.  Kernel stacks are small: a call path of 64 functions is rare. */
enum { VG_KERNEL_FRAMES_MAX = 64 };

/* Sets the addresses to those of the kernel code that the thread ran, the leaf frame first.  An address of a caller is
 * the return address minus one.  Returns their number: 0 in user code, or without kernel_frames. */
size_t vg_timers_kernel_frames(const struct vg_timers *timers, const struct vg_timer_record *record,
			       uint64_t addresses[VG_KERNEL_FRAMES_MAX]);

/* Closes all timers and rings.  Keeps the counts of samples and kernel_frames.  Does nothing if all is zero. */
void vg_timers_close(struct vg_timers *timers);

#endif
