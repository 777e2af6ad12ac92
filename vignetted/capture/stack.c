/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/stack.h"

#include <sys/syscall.h>

#include "vignetted/unwind/code.h"
#include "vignetted/unwind/guess.h"

/* Pauses longer than this are worth a look at what they were made of; the shortest there are. */
enum { PAUSE_LONG_NS = 100 * 1000, PAUSE_SHORT_NS = 20 * 1000 };

/* A thread that waits shortly changes between its copies. */
enum { READ_ATTEMPTS = 4 };

/* The system call that a thread waits in.  One that the kernel has taken up again after a stop bears another number
 * (restart_syscall(2)); the instructions before its return say which it was. */
static int64_t call_of(const struct vg_walker *walker, int64_t call, uint64_t pc)
{
	int64_t made = call == SYS_restart_syscall ? vg_code_syscall(walker->memory, pc) : -1;

	return vg_wait_is_renumbered(made) ? made : call;
}

/* ---- a thread that waits ---- */

/* By job control or by a tracer: such a thread is left alone. */
static bool is_stopped(const struct vg_tasks *tasks, pid_t tid)
{
	struct vg_task_status status;

	return vg_task_status(tasks, tid, &status) == 0 && (status.state == 'T' || status.state == 't');
}

static bool wait_holds(struct vg_tasks *tasks, struct vg_task *task, const struct vg_wait *wait)
{
	struct vg_task_look again;
	struct vg_wait still;

	vg_wait_read(&still, tasks, task);
	return !still.running && still.call == wait->call && still.sp == wait->sp && still.pc == wait->pc &&
	       vg_task_look(tasks, task, &again) == 0 && again.slices == task->look.slices;
}

/* Whether the stack goes on above the snapshot, and more of it may be copied. */
static bool snapshot_is_cut(const struct vg_walker *walker, const struct vg_task *task)
{
	return task->copy.bytes < VG_SNAPSHOT_MAX_BYTES && walker->snapshot.stack_bytes == task->copy.bytes;
}

/* What came of one copy.  COPY_CHANGED: the thread ran meanwhile, or its stack could not be read: the copy is worth nothing. */
enum copy { COPY_TAKEN, COPY_CHANGED, COPY_NEEDS_STOP };

static enum copy wait_copy(struct vg_walker *walker, struct vg_task *task, const struct vg_wait *wait, uint64_t *discarded)
{
	struct vg_snapshot *snapshot = &walker->snapshot;
	int rc;

	do {
		snapshot->whole = false;
		snapshot->fp_guess = 0;
		snapshot->in_call = wait->call >= 0;
		snapshot->thread_block = task->copy.thread_block;
		vg_regs_set(&snapshot->regs, wait->pc, wait->sp, snapshot->in_call ? wait->arguments : NULL);
		vg_snapshot_slot(snapshot);
		if (vg_snapshot_stack(snapshot, task->tid, task->copy.bytes) != 0)
			return COPY_CHANGED;
		if (!wait_holds(walker->tasks, task, wait)) {
			++*discarded;
			return COPY_CHANGED;
		}
		rc = vg_walker_walk(walker, task);
		if (rc == 0 && walker->walk.end == VG_WALK_REGISTER) {
			if (vg_wait_may_stop(wait, vg_tasks_directory(walker->tasks), task->tid) &&
			    !is_stopped(walker->tasks, task->tid))
				return COPY_NEEDS_STOP;
			vg_guess_walk(walker->unwinder, walker->modules, snapshot, snapshot_is_cut(walker, task),
				      walker->max_frames, &walker->walk);
			rc = vg_walker_enlarge(walker, task) ? -EAGAIN : 0;
		}
	} while (rc == -EAGAIN);
	return rc == 0 ? COPY_TAKEN : COPY_CHANGED;
}

enum vg_stack_read vg_stack_read(struct vg_walker *walker, struct vg_task *task, struct vg_wait *wait,
				 const _Atomic uint64_t *slot, struct vg_captured *stack)
{
	*stack = (struct vg_captured){ .walk = &walker->walk, .waits = true };
	vg_walker_allow(walker);
	walker->snapshot.slot = slot;
	for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
		enum copy copy = wait_copy(walker, task, wait, &stack->discarded);

		stack->call = call_of(walker, wait->call, wait->pc);
		stack->slot_value = walker->snapshot.slot_value;
		stack->slices = task->look.slices;
		if (copy != COPY_CHANGED)
			return copy == COPY_TAKEN ? VG_STACK_TAKEN : VG_STACK_NEEDS_STOP;
		/* It may wait in another call by now, which a stop would interrupt. */
		if (vg_task_look(walker->tasks, task, &task->look) != 0)
			return VG_STACK_NEEDS_STOP;
		vg_wait_read(wait, walker->tasks, task);
		if (wait->running)
			return VG_STACK_NEEDS_STOP;
	}
	return vg_wait_may_stop(wait, vg_tasks_directory(walker->tasks), task->tid) ? VG_STACK_NEEDS_STOP :
										      VG_STACK_UNREADABLE;
}

/* ---- any thread ---- */

/* A thread that is ready to run and has no CPU stops only when it gets one.  That wait is not of our making: without this
 * a busy machine would look like a costly sampler. */
static uint64_t own_pause_ns(uint64_t pause_ns, uint64_t queued_ns)
{
	if (pause_ns <= PAUSE_LONG_NS)
		return pause_ns;
	return queued_ns < pause_ns ? pause_ns - queued_ns : PAUSE_SHORT_NS;
}

enum vg_capture vg_stack_stop(struct vg_walker *walker, struct vg_tracer *tracer, struct vg_pauses *pauses,
			      struct vg_task *task, const _Atomic uint64_t *slot, struct vg_captured *stack)
{
	struct vg_snapshot *snapshot = &walker->snapshot;
	uint64_t queued_ns;
	int rc;

	*stack = (struct vg_captured){ .walk = &walker->walk, .call = -1, .slices = task->look.slices };
	vg_walker_allow(walker);
	snapshot->slot = slot;
	do {
		enum vg_capture capture;

		queued_ns = task->look.queued_ns;
		snapshot->likely_sp = task->copy.sp;
		snapshot->thread_block = task->copy.thread_block;
		capture = vg_tracer_capture(tracer, task->tid, task->copy.bytes, snapshot);
		if (capture != VG_CAPTURE_TAKEN)
			return capture;
		task->copy.sp = vg_regs_sp(&snapshot->regs);
		task->copy.thread_block = snapshot->thread_block;
		vg_task_look(walker->tasks, task, &task->look);
		vg_pauses_add(pauses, own_pause_ns(tracer->pause_ns, task->look.queued_ns - queued_ns));
		rc = vg_walker_walk(walker, task);
	} while (rc == -EAGAIN);
	stack->slot_value = snapshot->slot_value;
	stack->waits = vg_regs_in_call(&snapshot->regs);
	if (stack->waits)
		stack->call = call_of(walker, vg_regs_call(&snapshot->regs), vg_regs_pc(&snapshot->regs));
	return rc == 0 ? VG_CAPTURE_TAKEN : VG_CAPTURE_FAILED;
}
