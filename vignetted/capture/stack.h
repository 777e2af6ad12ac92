/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STACK_H
#define VG_VIGNETTED_STACK_H

#include "base/pauses.h"
#include "vignetted/capture/tracee.h"
#include "vignetted/capture/waits.h"
#include "vignetted/capture/walker.h"

/*
 * The stack of one thread, copied and walked: walker->walk, with the registers in walker->snapshot.  The caller sets
 * snapshot.slot.  Copies are made larger until the walk has what it needs.
 */

enum vg_stack_read {
	VG_STACK_TAKEN,
	VG_STACK_CHANGED,            /* the thread ran meanwhile: what was copied is worth nothing */
	VG_STACK_NEEDS_STOP,         /* a register is missing, and a stop to read it does no harm */
};

/* Of a thread that waits, as `wait` says, without a stop.  If it has not been on a CPU between task->look and the end
 * of the copy, nobody has written to its stack meanwhile.  Adds to *discarded what was copied in vain. */
enum vg_stack_read vg_stack_read(struct vg_walker *walker, struct vg_task *task, const struct vg_wait *wait,
				 uint64_t *discarded);

/* Of any thread: it is stopped, its stack is copied, and it goes on.  VG_CAPTURE_FAILED if memory is short, too. */
enum vg_capture vg_stack_stop(struct vg_walker *walker, struct vg_tracer *tracer, struct vg_pauses *pauses,
			      struct vg_task *task);

/* The system call that a thread waits in, or `call`.  One that the kernel has taken up again after a stop bears another
 * number (restart_syscall(2)); the instructions before its return say which it was. */
int64_t vg_stack_call(struct vg_walker *walker, int64_t call, uint64_t pc);

#endif
