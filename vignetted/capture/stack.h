/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STACK_H
#define VG_VIGNETTED_STACK_H

#include "base/pauses.h"
#include "vignetted/capture/tracer.h"
#include "vignetted/capture/waits.h"
#include "vignetted/capture/walker.h"

/*
 * The stack of one thread, copied and walked.  Copies are made larger until the walk has what it needs.
 */
struct vg_captured {
	const struct vg_walk *walk;  /* the walker's, until its next walk */
	bool waits;                  /* the thread was found in a system call that it waits in, */
	int64_t call;                /* of this number; else -1 */
	uint64_t slot_value;         /* what stood in the thread's slot of intervals (target/events.h) */
	uint64_t slices;             /* the count of timeslices that will say that the thread has not run since */
	uint64_t discarded;          /* copies that were thrown away */
};

enum vg_stack_read {
	VG_STACK_TAKEN,
	VG_STACK_NEEDS_STOP,         /* the thread runs, or a register is missing, and a stop to read it does no harm */
	VG_STACK_UNREADABLE,         /* the thread changed each time, and must not be stopped */
};

/* Of a thread that waits, as `wait` says, without a stop.  If it has not been on a CPU between task->look and the end
 * of the copy, nobody has written to its stack meanwhile.  Where it has, both are read again. */
enum vg_stack_read vg_stack_read(struct vg_walker *walker, struct vg_task *task, struct vg_wait *wait,
				 const _Atomic uint64_t *slot, struct vg_captured *stack);

/* Of any thread: it is stopped, its stack is copied, and it goes on.  Sets task->look, whose CPU time is exact then: the
 * stop took the thread off its CPU.  VG_CAPTURE_FAILED if memory is short, too. */
enum vg_capture vg_stack_stop(struct vg_walker *walker, struct vg_tracer *tracer, struct vg_pauses *pauses,
			      struct vg_task *task, const _Atomic uint64_t *slot, struct vg_captured *stack);

#endif
