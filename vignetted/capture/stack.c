/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/stack.h"

#include <sys/syscall.h>

#include "vignetted/unwind/code.h"
#include "vignetted/unwind/guess.h"

/* Pauses longer than this are worth a look at what they were made of; the shortest there are. */
enum { PAUSE_LONG_NS = 100 * 1000, PAUSE_SHORT_NS = 20 * 1000 };

int64_t vg_stack_call(struct vg_walker *walker, int64_t call, uint64_t pc)
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
	return task->snapshot_bytes < VG_SNAPSHOT_MAX_BYTES && walker->snapshot.stack_bytes == task->snapshot_bytes;
}

enum vg_stack_read vg_stack_read(struct vg_walker *walker, struct vg_task *task, const struct vg_wait *wait,
				 uint64_t *discarded)
{
	struct vg_snapshot *snapshot = &walker->snapshot;

	do {
		snapshot->whole = false;
		snapshot->fp_guess = 0;
		snapshot->in_call = wait->call >= 0;
		snapshot->thread_block = task->thread_block;
		vg_regs_set(&snapshot->regs, wait->pc, wait->sp, snapshot->in_call ? wait->arguments : NULL);
		vg_snapshot_slot(snapshot);
		if (vg_snapshot_stack(snapshot, task->tid, task->snapshot_bytes) != 0)
			return VG_STACK_CHANGED;
		if (!wait_holds(walker->tasks, task, wait)) {
			++*discarded;
			return VG_STACK_CHANGED;
		}
		if (vg_walker_walk(walker) != 0)
			return VG_STACK_CHANGED;
		if (walker->walk.end == VG_WALK_REGISTER) {
			if (vg_wait_may_stop(wait, vg_tasks_directory(walker->tasks), task->tid) &&
			    !is_stopped(walker->tasks, task->tid))
				return VG_STACK_NEEDS_STOP;
			vg_guess_walk(walker->unwinder, walker->modules, snapshot, snapshot_is_cut(walker, task),
				      walker->max_frames, &walker->walk);
		}
	} while (vg_walker_grow(walker, task));
	vg_walker_fit(walker, task);
	return VG_STACK_TAKEN;
}

/* ---- any thread ---- */

/* A thread that is ready to run and has no CPU stops only when it gets one.  That wait is not of
 * our making: without it a busy machine would look like a costly sampler. */
static uint64_t own_pause_ns(struct vg_tasks *tasks, struct vg_task *task, uint64_t pause_ns)
{
	struct vg_task_look after;
	uint64_t queued_ns;

	if (pause_ns <= PAUSE_LONG_NS || vg_task_look(tasks, task, &after) != 0)
		return pause_ns;
	queued_ns = after.queued_ns - task->look.queued_ns;
	return queued_ns < pause_ns ? pause_ns - queued_ns : PAUSE_SHORT_NS;
}

enum vg_capture vg_stack_stop(struct vg_walker *walker, struct vg_tracer *tracer, struct vg_pauses *pauses,
			      struct vg_task *task)
{
	do {
		enum vg_capture capture;

		walker->snapshot.likely_sp = task->sp;
		walker->snapshot.thread_block = task->thread_block;
		capture = vg_tracer_capture(tracer, task->tid, task->snapshot_bytes, &walker->snapshot);
		if (capture != VG_CAPTURE_TAKEN)
			return capture;
		task->sp = vg_regs_sp(&walker->snapshot.regs);
		task->thread_block = walker->snapshot.thread_block;
		vg_pauses_add(pauses, own_pause_ns(walker->tasks, task, tracer->pause_ns));
		if (vg_walker_walk(walker) != 0)
			return VG_CAPTURE_FAILED;
	} while (vg_walker_grow(walker, task));
	vg_walker_fit(walker, task);
	return VG_CAPTURE_TAKEN;
}
