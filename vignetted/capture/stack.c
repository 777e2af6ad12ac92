/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/stack.h"

#include <sys/syscall.h>

#include "base/clock.h"
#include "vignetted/unwind/code.h"

/* A pause longer than PAUSE_LONG_NS may include time in the run queue.  That time is read from schedstat and
 * subtracted.  If nothing is left, the pause counts as PAUSE_MIN_NS. */
enum { PAUSE_LONG_NS = 100 * 1000, PAUSE_MIN_NS = 20 * 1000 };

/* A thread with short waits may run during a copy.  The stack is then copied again, up to this number of copies. */
enum { READ_ATTEMPTS = 4 };

/* Returns the number of the system call that a thread waits in.  A call that the kernel restarted after a stop has the
 * number of restart_syscall(2); the instructions before its return address show the original number. */
static int64_t syscall_of(const struct vg_walker *walker, int64_t call, uint64_t pc)
{
	int64_t made = call == SYS_restart_syscall ? vg_code_syscall_number(walker->memory, pc) : -1;

	return vg_wait_is_renumbered(made) ? made : call;
}

/* ---- a thread that waits ---- */

/* True if job control or another tracer stopped the thread.  We never stop such a thread.  A thread that our own tracer
 * has asked to stop, and that stopped late, is not meant. */
static bool is_stopped(const struct vg_tasks *tasks, const struct vg_tracer *tracer, pid_t tid)
{
	struct vg_task_status status;

	return tid != tracer->pending && vg_task_status(tasks, tid, &status) == 0 &&
	       (status.state == 'T' || status.state == 't');
}

static bool wait_unchanged(struct vg_tasks *tasks, struct vg_task *task, const struct vg_wait *wait)
{
	struct vg_task_activity again;
	struct vg_wait wait_now;

	vg_wait_read(&wait_now, tasks, task);
	return !wait_now.running && wait_now.call == wait->call && wait_now.sp == wait->sp && wait_now.pc == wait->pc &&
	       vg_task_activity_read(tasks, task, &again) == 0 && again.timeslices == task->activity.timeslices;
}

/* Whether the stack continues above the snapshot, and a larger copy is possible. */
static bool snapshot_is_truncated(const struct vg_walker *walker, const struct vg_task *task)
{
	return task->copy.bytes < VG_SNAPSHOT_MAX_BYTES && walker->snapshot.stack_bytes == task->copy.bytes;
}

/* Makes a copy.  VG_READ_UNREADABLE: the thread ran meanwhile, or its stack could not be read; the copy is useless. */
static enum vg_read wait_copy(struct vg_walker *walker, const struct vg_tracer *tracer, struct vg_task *task,
			      const struct vg_wait *wait, uint64_t *discarded)
{
	struct vg_snapshot *snapshot = &walker->snapshot;
	int rc;

	do {
		snapshot->moment = (struct vg_moment){ vg_now_ns(), VG_EVIDENCE_MARKS };
		snapshot->regs_complete = false;
		snapshot->fp_guess = 0;
		snapshot->in_syscall = wait->call >= 0;
		snapshot->thread_block = task->copy.thread_block;
		vg_regs_set(&snapshot->regs, wait->pc, wait->sp, snapshot->in_syscall ? wait->arguments : NULL);
		vg_snapshot_read_token(snapshot);
		snapshot->other.sp = task->copy.other_sp;
		if (vg_snapshot_read_stack(snapshot, task->tid, task->copy.bytes) != 0)
			return VG_READ_UNREADABLE;
		vg_snapshot_read_other_stack(snapshot, task->tid, task->copy.bytes);
		vg_modules_copied(walker->modules);
		if (!wait_unchanged(walker->tasks, task, wait)) {
			++*discarded;
			return VG_READ_UNREADABLE;
		}
		rc = vg_walker_walk(walker, task);
		if (rc == 0 && walker->walk.end == VG_WALK_NO_REGISTER) {
			if (vg_wait_may_stop(wait, vg_tasks_directory(walker->tasks), task->tid) &&
			    !is_stopped(walker->tasks, tracer, task->tid))
				return VG_READ_NEEDS_STOP;
			vg_unwind_guess(walker->unwinder, snapshot, snapshot_is_truncated(walker, task),
					walker->max_frames, &walker->walk);
			vg_walker_confirm(walker);
			rc = vg_walker_copy_enlarge(walker, task) ? -EAGAIN : 0;
		}
	} while (rc == -EAGAIN);
	return rc == 0 ? VG_READ_TAKEN : VG_READ_UNREADABLE;
}

enum vg_read vg_stack_read(struct vg_walker *walker, const struct vg_tracer *tracer, struct vg_task *task,
			   struct vg_wait *wait, const _Atomic uint64_t *token_address, struct vg_thread_stack *stack)
{
	*stack = (struct vg_thread_stack){ .walk = &walker->walk };
	vg_walker_begin(walker);
	walker->snapshot.token_address = token_address;
	for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
		enum vg_read copy;

		stack->time_ns = vg_now_ns();
		copy = wait_copy(walker, tracer, task, wait, &stack->discarded);
		stack->call = syscall_of(walker, wait->call, wait->pc);
		stack->token_value = walker->snapshot.token_value;
		stack->timeslices = task->activity.timeslices;
		if (copy != VG_READ_UNREADABLE)
			return copy;
		/* The thread may wait in another call now, which a stop would interrupt.  So read its wait again before
		 * a stop. */
		if (vg_task_activity_read(walker->tasks, task, &task->activity) != 0)
			return VG_READ_NEEDS_STOP;
		vg_wait_read(wait, walker->tasks, task);
		if (wait->running)
			return VG_READ_NEEDS_STOP;
	}
	return vg_wait_may_stop(wait, vg_tasks_directory(walker->tasks), task->tid) ?
	       VG_READ_NEEDS_STOP : VG_READ_UNREADABLE;
}

/* ---- any thread ---- */

/* A queued thread stops only when it gets a CPU.  We did not cause its time in the run queue, so this time is not part
 * of the pause.  Otherwise sampling would seem costly on every busy machine. */
static uint64_t pause_without_queue_ns(uint64_t pause_ns, uint64_t queued_ns)
{
	if (pause_ns <= PAUSE_LONG_NS)
		return pause_ns;
	return queued_ns < pause_ns ? pause_ns - queued_ns : PAUSE_MIN_NS;
}

enum vg_capture vg_stack_read_stopped(struct vg_walker *walker, struct vg_tracer *tracer, struct vg_pauses *pauses,
				      struct vg_task *task, const _Atomic uint64_t *token_address,
				      struct vg_thread_stack *stack)
{
	struct vg_snapshot *snapshot = &walker->snapshot;
	struct vg_task_activity before;
	int rc;

	*stack = (struct vg_thread_stack){ .walk = &walker->walk, .call = -1, .timeslices = task->activity.timeslices };
	vg_walker_begin(walker);
	snapshot->token_address = token_address;
	do {
		enum vg_capture capture;

		vg_task_activity_read(walker->tasks, task, &task->activity);
		before = task->activity;
		stack->stop.got_cpu_ns = tracer->got_cpu_ns;
		snapshot->expected_sp = task->copy.sp;
		snapshot->thread_block = task->copy.thread_block;
		snapshot->other.sp = task->copy.other_sp;
		capture = vg_tracer_capture(tracer, task->tid, task->copy.bytes, snapshot);
		if (capture != VG_CAPTURE_TAKEN)
			return capture;
		snapshot->moment = (struct vg_moment){ tracer->stopped_ns, VG_EVIDENCE_MARKS };
		task->copy.sp = vg_regs_sp(&snapshot->regs);
		task->copy.thread_block = snapshot->thread_block;
		vg_task_activity_read(walker->tasks, task, &task->activity);
		stack->time_ns = stack->stop.stopped_ns = tracer->stopped_ns;
		stack->stop.timeslices = task->activity.timeslices - before.timeslices;
		stack->stop.queued_ns = task->activity.queued_ns - before.queued_ns;
		stack->stop.ran_ns = task->activity.cpu_ns - before.cpu_ns;
		vg_pauses_add(pauses, pause_without_queue_ns(tracer->pause_ns, stack->stop.queued_ns));
		rc = vg_walker_walk(walker, task);
	} while (rc == -EAGAIN);
	stack->token_value = snapshot->token_value;
	stack->in_call = vg_regs_syscall(&snapshot->regs) >= 0;
	stack->stop.waits = vg_regs_in_syscall(&snapshot->regs);
	if (stack->stop.waits)
		stack->call = syscall_of(walker, vg_regs_syscall(&snapshot->regs), vg_regs_pc(&snapshot->regs));
	return rc == 0 ? VG_CAPTURE_TAKEN : VG_CAPTURE_FAILED;
}
