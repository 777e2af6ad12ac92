/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/sampling.h"

#include <errno.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "vignetted/capture/waits.h"
#include "vignetted/session/account.h"
#include "vignetted/session/interrupted.h"
#include "vignetted/session/looks.h"
#include "vignetted/session/walking.h"
#include "vignetted/unwind/code.h"
#include "vignetted/unwind/guess.h"

/* A stop takes a sleeping thread off its wait and back: it is put on a CPU twice. */
enum { SLICES_OF_A_STOP = 2 };

/* Pauses longer than this are worth a look at what they were made of; the shortest there are. */
enum { PAUSE_LONG_NS = 100 * 1000, PAUSE_SHORT_NS = 20 * 1000 };

/* For so long a thread that was seen to run is taken to do so still: reading that of a new one costs as
 * much as many live. */
enum { READY_NS = 500 * 1000 };

/* What came of reading a thread that waits. */
enum quiet {
	QUIET_TAKEN,                 /* session->walk is its stack */
	QUIET_CHANGED,               /* it ran meanwhile: what was copied is worth nothing */
	QUIET_BLIND,                 /* a register is wanting, and a stop to learn it does no harm */
};

/* By job control or by a tracer: such a thread is left alone. */
static bool is_stopped(const struct vg_session *session, pid_t tid)
{
	struct vg_task_status status;

	return vg_task_status(&session->tasks, tid, &status) == 0 &&
	       (status.state == 'T' || status.state == 't');
}

static uint64_t session_now_ns(const struct vg_session *session)
{
	return vg_now_ns() - session->begin_ns;
}

static void loss_count(struct vg_session *session, vg_recording_set set, enum vg_loss loss)
{
	VG_EACH_RECORDING(i, set)
		session->recordings[i].recorder.lost[loss]++;
}

/* The call that a thread waits in.  One that the kernel has taken up again after a stop bears another
 * number (restart_syscall(2)); the instructions before its return say which it was. */
static int64_t call_waited_in(struct vg_session *session, int64_t call, uint64_t pc)
{
	int64_t made = call == SYS_restart_syscall ? vg_code_syscall(&session->memory, pc) : -1;

	return vg_wait_is_renumbered(made) ? made : call;
}

/* ---- a thread that waits ---- */

static bool wait_holds(struct vg_session *session, struct vg_task *task,
		       const struct vg_task_look *look, const struct vg_wait *wait)
{
	struct vg_task_look again;
	struct vg_wait still;

	vg_wait_read(&still, &session->tasks, task);
	return !still.running && still.call == wait->call && still.sp == wait->sp &&
	       still.pc == wait->pc && vg_task_look(&session->tasks, task, &again) == 0 &&
	       again.slices == look->slices;
}

/* Whether the stack goes on above the snapshot, and more of it may be copied. */
static bool snapshot_is_cut(const struct vg_session *session, const struct vg_task *task)
{
	return task->snapshot_bytes < VG_SNAPSHOT_MAX_BYTES &&
	       session->snapshot.stack_bytes == task->snapshot_bytes;
}

/* Copies the stack while the thread waits, then looks whether it still does: if it has not been
 * on a CPU in between, nobody has written to that stack. */
static enum quiet quiet_walk(struct vg_session *session, struct vg_task *task,
			     vg_recording_set set, const struct vg_task_look *look,
			     const struct vg_wait *wait, uint64_t now_ns)
{
	struct vg_snapshot *snapshot = &session->snapshot;

	do {
		snapshot->whole = false;
		snapshot->fp_guess = 0;
		snapshot->in_call = wait->call >= 0;
		snapshot->thread_block = task->thread_block;
		vg_regs_set(&snapshot->regs, wait->pc, wait->sp, snapshot->in_call ? wait->arguments : NULL);
		vg_snapshot_slot(snapshot);
		if (vg_snapshot_stack(snapshot, task->tid, task->snapshot_bytes) != 0)
			return QUIET_CHANGED;
		if (!wait_holds(session, task, look, wait)) {
			VG_EACH_RECORDING(i, set)
				session->recordings[i].recorder.copies_discarded++;
			return QUIET_CHANGED;
		}
		if (vg_walk_snapshot(session, now_ns) != 0)
			return QUIET_CHANGED;
		if (session->walk.end == VG_WALK_REGISTER) {
			if (vg_wait_may_stop(wait, vg_tasks_directory(&session->tasks), task->tid) &&
			    !is_stopped(session, task->tid))
				return QUIET_BLIND;
			vg_guess_walk(session->unwinder, &session->modules, snapshot,
				      snapshot_is_cut(session, task), session->max_frames, &session->walk);
		}
	} while (vg_walk_grow(session, task));
	vg_walk_fit(session, task);
	return QUIET_TAKEN;
}

/* Whether the thread was sampled without a stop. */
static bool sample_waiting(struct vg_session *session, struct vg_task *task, vg_recording_set set,
			   vg_recording_set covered, const struct vg_task_look *look,
			   const struct vg_wait *wait)
{
	struct vg_account_sample taken = {
		.call = call_waited_in(session, wait->call, wait->pc),
		.time_ns = session_now_ns(session), .slices = look->slices,
	};

	session->snapshot.slot = vg_events_slot(&session->events, task);
	if (quiet_walk(session, task, set, look, wait, taken.time_ns) != QUIET_TAKEN)
		return false;
	session->interval = vg_events_token(&session->events, task, session->snapshot.slot_value);
	VG_EACH_RECORDING(i, set) {
		struct vg_recording *recording = &session->recordings[i];

		recording->recorder.reads_without_stop++;
		/* What it has used is the interrupts' to tell. */
		taken.cpu_ns = (covered & 1u << i) != 0 ? task->accounts[i].cpu_ns : look->cpu_ns;
		vg_account_sample(session, recording, task, &taken);
	}
	return true;
}

/* ---- a thread that runs ---- */

/* A thread that is ready to run and has no CPU stops only when it gets one.  That wait is not of
 * our making: without it a busy machine would look like a costly sampler. */
static void pause_note(struct vg_session *session, struct vg_task *task,
		       const struct vg_task_look *look)
{
	uint64_t pause_ns = session->tracer.pause_ns, queued_ns;
	struct vg_task_look after;

	if (pause_ns > PAUSE_LONG_NS && vg_task_look(&session->tasks, task, &after) == 0) {
		queued_ns = after.queued_ns - look->queued_ns;
		pause_ns = queued_ns < pause_ns ? pause_ns - queued_ns : PAUSE_SHORT_NS;
	}
	vg_ledger_add(&session->pauses, pause_ns);
}

/* Stops the thread and walks its stack; again with a larger snapshot if that was too small. */
static enum vg_capture stop_walk(struct vg_session *session, struct vg_task *task,
				 const struct vg_task_look *look, uint64_t now_ns)
{
	do {
		enum vg_capture capture;

		session->snapshot.likely_sp = task->sp;
		session->snapshot.thread_block = task->thread_block;
		capture = vg_tracer_capture(&session->tracer, task->tid, task->snapshot_bytes,
					    &session->snapshot);
		if (capture != VG_CAPTURE_TAKEN)
			return capture;
		task->sp = vg_regs_sp(&session->snapshot.regs);
		task->thread_block = session->snapshot.thread_block;
		pause_note(session, task, look);
		if (vg_walk_snapshot(session, now_ns) != 0)
			return VG_CAPTURE_FAILED;
	} while (vg_walk_grow(session, task));
	vg_walk_fit(session, task);
	return VG_CAPTURE_TAKEN;
}

/* A stop puts a sleeping thread on a CPU: for those recordings whose stack of it still stands, it has
 * not run. */
static void slices_advance(struct vg_task *task, vg_recording_set others,
			   const struct vg_task_look *look, uint64_t slices)
{
	VG_EACH_RECORDING(i, others) {
		if (task->accounts[i].slices == look->slices)
			task->accounts[i].slices = slices;
	}
}

static void running_taken(struct vg_session *session, struct vg_task *task, vg_recording_set set,
			  bool waits, const struct vg_task_look *look, uint64_t now_ns)
{
	const struct vg_regs *regs = &session->snapshot.regs;
	bool in_call = vg_regs_in_call(regs);
	struct vg_account_sample taken = {
		.call = in_call ? call_waited_in(session, vg_regs_call(regs), vg_regs_pc(regs)) : -1,
		.time_ns = now_ns,
		.slices = look->slices + (waits && in_call ? SLICES_OF_A_STOP : 0),
	};
	struct vg_task_look after = *look;

	session->interval = vg_events_token(&session->events, task, session->snapshot.slot_value);
	/* The stop took it off its CPU, which brought its time up to date: before, that was the time at
	 * the scheduler's last tick, which may belong to the sample before. */
	vg_task_look(&session->tasks, task, &after);
	taken.cpu_ns = after.cpu_ns;
	if (waits)
		slices_advance(task, task->begun & ~set, look, taken.slices);
	VG_EACH_RECORDING(i, set)
		vg_account_sample(session, &session->recordings[i], task, &taken);
}

/* The next scan says so to the profiles. */
static void task_is_gone(struct vg_session *session, struct vg_task *task)
{
	task->exiting = task->tid != session->target.pid;
	session->tasks.stale = true;
}

static void sample_running(struct vg_session *session, struct vg_task *task, vg_recording_set set,
			   bool waits, const struct vg_task_look *look)
{
	uint64_t now_ns = session_now_ns(session);

	session->snapshot.slot = vg_events_slot(&session->events, task);
	switch (stop_walk(session, task, look, now_ns)) {
	case VG_CAPTURE_TAKEN:
		running_taken(session, task, set, waits, look, now_ns);
		return;
	case VG_CAPTURE_GONE:
		task_is_gone(session, task);
		return;
	case VG_CAPTURE_PENDING:
		loss_count(session, set, VG_LOSS_NOT_STOPPED);
		return;
	case VG_CAPTURE_FORBIDDEN:
		/* So says PTRACE_SEIZE of a dying thread, too. */
		if (vg_task_is_alive(&session->tasks, task->tid))
			loss_count(session, set, VG_LOSS_FORBIDDEN);
		return;
	case VG_CAPTURE_FAILED:
		loss_count(session, set, VG_LOSS_UNREADABLE);
		return;
	}
}

/* ---- either ---- */

/* The scheduler's numbers are as old as its tick.  A thread that is in another interval than at its
 * latest sample has run since, whatever they say: those recordings for which it has. */
static vg_recording_set moved_in(const struct vg_session *session, const struct vg_task *task,
				 vg_recording_set set)
{
	const _Atomic uint64_t *slot = vg_events_slot(&session->events, task);
	vg_recording_set moved = 0;
	uint64_t token;

	/* Its stack is to be written anew. */
	VG_EACH_RECORDING(i, set)
		moved |= (uint32_t)(task->accounts[i].has_stack && task->accounts[i].stacks_generation !=
				    session->recordings[i].recorder.stacks_generation) << i;
	if (slot == NULL)
		return moved;
	token = vg_events_token(&session->events, task,
				atomic_load_explicit(slot, memory_order_relaxed));
	VG_EACH_RECORDING(i, set)
		moved |= (uint32_t)(token != task->accounts[i].interval) << i;
	return moved;
}

/* Of a thread that is where it was: one for each of the periods since the latest tick. */
static uint32_t repeats_due(const struct vg_session *session, const struct vg_recording *recording)
{
	uint64_t period_ns = vg_recording_period_ns(session, recording);

	return period_ns < session->ticks.period_ns ? (uint32_t)(session->ticks.period_ns / period_ns) : 1;
}

/* No thread has run since these recordings' latest tick: those that have a stack of this one repeat
 * it, and are returned. */
static vg_recording_set repeat_still(struct vg_session *session, struct vg_task *task,
				     vg_recording_set set)
{
	vg_recording_set done = 0;
	uint64_t now_ns;

	if (set == 0)
		return 0;
	now_ns = session_now_ns(session);
	VG_EACH_RECORDING(i, set) {
		const struct vg_account *account = &task->accounts[i];

		if (!account->has_stack || account->slices == VG_SLICES_UNKNOWN)
			continue;
		vg_account_repeat(&session->recordings[i], task,
				  repeats_due(session, &session->recordings[i]), now_ns,
				  account->cpu_ns);
		done |= 1u << i;
	}
	return done;
}

/* This thread has not run since these recordings' latest sample of it, by the look: they repeat that,
 * and are returned. */
static vg_recording_set repeat_unrun(struct vg_session *session, struct vg_task *task,
				     vg_recording_set set, vg_recording_set covered,
				     const struct vg_task_look *look)
{
	vg_recording_set done = 0;

	VG_EACH_RECORDING(i, set) {
		struct vg_recording *recording = &session->recordings[i];
		const struct vg_account *account = &task->accounts[i];

		if (look->slices != account->slices ||
		    (!account->has_stack && !recording->options.cpu_mode))
			continue;
		vg_account_repeat(recording, task, repeats_due(session, recording),
				  session_now_ns(session),
				  (covered & 1u << i) != 0 ? account->cpu_ns : look->cpu_ns);
		done |= 1u << i;
	}
	return done;
}

/* Those recordings for which interrupts tell of the thread. */
static vg_recording_set covered_in(const struct vg_session *session, struct vg_task *task,
				   vg_recording_set set, const struct vg_task_look *look)
{
	vg_recording_set covered = 0;

	VG_EACH_RECORDING(i, set) {
		struct vg_account *account = &task->accounts[i];

		if (!account->has_cpu)
			account->cpu_ns = look->cpu_ns;
		if (vg_interrupted_covers(session, &session->recordings[i], task, look->cpu_ns))
			covered |= 1u << i;
		account->drift_ns = (int64_t)(look->cpu_ns - account->cpu_ns);
	}
	return covered;
}

/* A thread that waits is nothing to those recordings that ask for CPU time, which are returned. */
static vg_recording_set wait_pass(struct vg_session *session, struct vg_task *task,
				  vg_recording_set set, const struct vg_task_look *look)
{
	vg_recording_set passed = 0;

	VG_EACH_RECORDING(i, set) {
		if (!session->recordings[i].options.cpu_mode)
			continue;
		task->accounts[i].slices = look->slices;
		task->accounts[i].last_ns = session_now_ns(session);
		passed |= 1u << i;
	}
	return passed;
}

static void wait_look(struct vg_session *session, struct vg_task *task, struct vg_wait *wait)
{
	if (task->found_ready_ns != 0 && vg_now_ns() - task->found_ready_ns < READY_NS)
		*wait = (struct vg_wait){ .running = true };
	else
		vg_wait_read(wait, &session->tasks, task);
	task->found_ready_ns = 0;
}

static void thread_sample(struct vg_session *session, struct vg_task *task)
{
	vg_recording_set due = session->due & session->live & task->begun, moved, covered;
	struct vg_task_look look;
	struct vg_wait wait;
	int rc;

	vg_walk_allow(session);
	/* Of thousands that wait, one was stopped. */
	vg_priority_lower(&session->tracer.priority);
	moved = moved_in(session, task, due);
	due &= ~repeat_still(session, task, due & session->still & ~moved);
	/* Nobody else would find out when it is gone. */
	session->tasks.stale |= task->exiting;
	if (due == 0 || task->untraceable || task->exiting)
		return;
	rc = vg_look_at(session, task);
	if (rc != 0) {
		if (rc == -ESRCH)
			task_is_gone(session, task);
		else
			loss_count(session, due, VG_LOSS_UNREADABLE);
		return;
	}
	look = task->look;
	covered = covered_in(session, task, due, &look);
	due &= ~repeat_unrun(session, task, due & ~moved, covered, &look);
	if (due == 0)
		return;
	session->looks_fresh = false;
	wait_look(session, task, &wait);
	task->ran = true;
	if (task->young > 0) {
		task->young--;
		vg_account_name(session, task, session_now_ns(session));
	}
	due &= wait.running ? ~covered : ~wait_pass(session, task, due, &look);
	session->stops_seen |= wait.running && due != 0 && task->judged;
	if (due == 0)
		return;
	if (wait.running || !sample_waiting(session, task, due, covered, &look, &wait))
		sample_running(session, task, due, !wait.running, &look);
}

void vg_sampling_thread(struct vg_session *session, struct vg_task *task)
{
	thread_sample(session, task);
	if (!task->judged)
		vg_looks_judge(session, task);
}
