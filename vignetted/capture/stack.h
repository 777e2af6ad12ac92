/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STACK_H
#define VG_VIGNETTED_STACK_H

#include "base/pauses.h"
#include "vignetted/capture/tracer.h"
#include "vignetted/capture/waits.h"
#include "vignetted/capture/walker.h"
#include "vignetted/policy/policy.h"

/*
 * Copies the stack of one thread and walks it.  If the walk needs more of the stack, makes a larger copy.
 */
struct vg_thread_stack {
	const struct vg_walk *walk;  /* the walker's; valid until its next walk */
	uint64_t time_ns;            /* CLOCK_MONOTONIC at a moment at which the thread had this stack */
	struct vg_stop stop;         /* if the thread was stopped */
	bool in_call;                /* the stop found the thread in a system call, waiting or not */
	int64_t call;                /* number of the system call in which the thread waited; -1: none */
	uint64_t token_value;        /* value at the thread's token address (target/events.h) */
	uint64_t timeslices;         /* the thread's count of timeslices; while it is unchanged, the thread has not
					run */
	uint64_t discarded;          /* copies that were discarded because the thread ran */
};

/* Result of reading the stack of a waiting thread without a stop. */
enum vg_read {
	VG_READ_TAKEN,
	VG_READ_NEEDS_STOP,          /* try a stop, which does no harm now.  The reason is that the thread runs or has
					exited, or that all copies failed, or that the walk needs a register */
	VG_READ_UNREADABLE,          /* all copies failed, mostly because the thread ran, and it must not be stopped */
};

/*
 * Reads the stack of a waiting thread without a stop.  The caller has set task->activity, and then read `wait`.  If the
 * thread has not been on a CPU from that activity read to the end of the copy, nobody has written to its stack
 * meanwhile.  Otherwise this function reads task->activity, `wait` and the stack again.  `token_address` is where the
 * thread's interval token is, or NULL.  `tracer`: the one that would stop the thread.
 */
enum vg_read vg_stack_read(struct vg_walker *walker, const struct vg_tracer *tracer, struct vg_task *task,
			   struct vg_wait *wait, const _Atomic uint64_t *token_address, struct vg_thread_stack *stack);

/*
 * Stops any thread, copies its stack, and releases it.  Adds the pause to `pauses`.  Sets task->activity.  Its CPU time
 * is exact, because the stop took the thread off its CPU.  VG_CAPTURE_FAILED is also the result if there was no memory.
 */
enum vg_capture vg_stack_read_stopped(struct vg_walker *walker, struct vg_tracer *tracer, struct vg_pauses *pauses,
				      struct vg_task *task, const _Atomic uint64_t *token_address,
				      struct vg_thread_stack *stack);

#endif
