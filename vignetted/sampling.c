/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/sampling.h"

#include <errno.h>

#include "vignetted/account.h"
#include "vignetted/interrupted.h"
#include "vignetted/waits.h"

/* A stop takes a sleeping thread off its wait and back: it is put on a CPU twice. */
enum { SLICES_OF_A_STOP = 2 };

/* Snapshots shrink to what the walks between two looks needed, in steps. */
enum { SNAPSHOT_FIT_EVERY = 32, SNAPSHOT_STEP_BYTES = 2048 };

/* Pauses longer than this are worth a look at what they were made of; the shortest there are. */
enum { PAUSE_LONG_NS = 100 * 1000, PAUSE_SHORT_NS = 20 * 1000 };

/* What came of reading a thread that waits. */
enum quiet {
	QUIET_TAKEN,                 /* session->walk is its stack */
	QUIET_CHANGED,               /* it ran meanwhile: what was copied is worth nothing */
	QUIET_BLIND,                 /* a register is wanting, and a stop to learn it does no harm */
};

/* After the maps were read in vain, so many times as long without: 5% of the time at most. */
enum { MAPS_REST = 19 };

/* PTRACE_SEIZE says EPERM of a dying thread too. */
static bool is_alive(const struct vg_session *session, pid_t tid)
{
	struct vg_task_status status;

	return vg_task_status(&session->tasks, tid, &status) == 0 && status.state != 'Z' &&
	       status.state != 'X';
}

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

/* A thread that has ended shows no memory, and the first one may end before the others. */
static void memory_follow(struct vg_session *session)
{
	for (size_t i = 0; i < session->tasks.live.count &&
	     !is_alive(session, session->memory.pid); i++)
		session->memory.pid = session->tasks.live.items[i].tid;
}

void vg_sampling_modules_refresh(struct vg_session *session, uint64_t now_ns)
{
	if (session->maps_fresh)
		return;
	session->maps_fresh = true;
	session->maps_reads++;
	memory_follow(session);
	if (vg_modules_refresh(&session->modules) == 0)
		vg_recorder_unloads(&session->recorder, now_ns);
}

int vg_sampling_walk(struct vg_session *session, uint64_t now_ns)
{
	int rc = vg_unwind(session->unwinder, &session->snapshot, session->options.max_frames,
			   &session->walk);
	uint64_t since_ns = vg_now_ns();

	/* Something was loaded since the maps were read. */
	if (rc == 0 && session->walk.left_the_map && !session->maps_fresh &&
	    since_ns >= session->maps_again_ns) {
		vg_sampling_modules_refresh(session, now_ns);
		rc = vg_unwind(session->unwinder, &session->snapshot, session->options.max_frames,
			       &session->walk);
		/* Or nothing was: code without unwind information leads anywhere, at every sample,
		 * and the maps may be long. */
		if (session->walk.left_the_map)
			session->maps_again_ns = vg_now_ns() + MAPS_REST * (vg_now_ns() - since_ns);
	}
	return rc;
}

/* Whether the walk ran out of the copy, and a larger one can be had. */
static bool snapshot_grow(struct vg_session *session, struct vg_task *task)
{
	if (session->walk.end != VG_WALK_SNAPSHOT ||
	    task->snapshot_bytes >= VG_SNAPSHOT_MAX_BYTES ||
	    session->snapshot.stack_bytes < task->snapshot_bytes)
		return false;
	task->snapshot_bytes *= 4;
	if (task->snapshot_bytes > VG_SNAPSHOT_MAX_BYTES)
		task->snapshot_bytes = VG_SNAPSHOT_MAX_BYTES;
	return true;
}

/* Copies no more than the thread's latest walks needed, twice over: each page that is copied makes
 * a pause longer. */
void vg_sampling_fit(struct vg_session *session, struct vg_task *task)
{
	size_t needed_bytes = session->walk.stack_bytes, fit_bytes;

	if (needed_bytes > session->snapshot.stack_bytes)
		needed_bytes = session->snapshot.stack_bytes;
	if (needed_bytes > task->needed_bytes)
		task->needed_bytes = needed_bytes;
	if (++task->walks % SNAPSHOT_FIT_EVERY != 1)
		return;
	fit_bytes = (2 * task->needed_bytes + SNAPSHOT_STEP_BYTES) / SNAPSHOT_STEP_BYTES *
		    SNAPSHOT_STEP_BYTES;
	if (fit_bytes < task->snapshot_bytes)
		task->snapshot_bytes = fit_bytes;
	task->needed_bytes = 0;
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

/* Copies the stack while the thread waits, then looks whether it still does: if it has not been
 * on a CPU in between, nobody has written to that stack. */
static enum quiet quiet_walk(struct vg_session *session, struct vg_task *task,
			     const struct vg_task_look *look, const struct vg_wait *wait,
			     uint64_t now_ns)
{
	struct vg_snapshot *snapshot = &session->snapshot;

	do {
		snapshot->whole = false;
		snapshot->fp_guess = 0;
		vg_regs_set(&snapshot->regs, wait->pc, wait->sp);
		vg_snapshot_slot(snapshot);
		if (vg_snapshot_stack(snapshot, task->tid, task->snapshot_bytes) != 0)
			return QUIET_CHANGED;
		if (!wait_holds(session, task, look, wait)) {
			session->recorder.copies_discarded++;
			return QUIET_CHANGED;
		}
		if (vg_sampling_walk(session, now_ns) != 0)
			return QUIET_CHANGED;
		if (session->walk.end == VG_WALK_REGISTER) {
			if (vg_wait_may_stop(wait, vg_tasks_directory(&session->tasks), task->tid) &&
			    !is_stopped(session, task->tid))
				return QUIET_BLIND;
			vg_unwind_guess(session->unwinder, snapshot, session->options.max_frames,
					&session->walk);
		}
	} while (snapshot_grow(session, task));
	vg_sampling_fit(session, task);
	return QUIET_TAKEN;
}

/* Whether the thread was sampled without a stop. */
static bool sample_waiting(struct vg_session *session, struct vg_task *task,
			   const struct vg_task_look *look, const struct vg_wait *wait)
{
	uint64_t now_ns = session_now_ns(session);

	session->snapshot.slot = vg_events_slot(&session->events, task);
	if (quiet_walk(session, task, look, wait, now_ns) != QUIET_TAKEN)
		return false;
	task->slices = look->slices;
	session->interval = vg_events_token(&session->events, task, session->snapshot.slot_value);
	session->recorder.reads_without_stop++;
	vg_account_sample(session, task, wait->call, now_ns, look);
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
		capture = vg_tracer_capture(&session->tracer, task->tid, task->snapshot_bytes,
					    &session->snapshot);
		if (capture != VG_CAPTURE_TAKEN)
			return capture;
		task->sp = vg_regs_sp(&session->snapshot.regs);
		pause_note(session, task, look);
		if (vg_sampling_walk(session, now_ns) != 0)
			return VG_CAPTURE_FAILED;
	} while (snapshot_grow(session, task));
	vg_sampling_fit(session, task);
	return VG_CAPTURE_TAKEN;
}

static void sample_running(struct vg_session *session, struct vg_task *task, bool waits,
			   const struct vg_task_look *look)
{
	uint64_t now_ns = session_now_ns(session);
	struct vg_recorder *recorder = &session->recorder;
	struct vg_task_look after = *look;
	bool in_call;

	session->snapshot.slot = vg_events_slot(&session->events, task);
	switch (stop_walk(session, task, look, now_ns)) {
	case VG_CAPTURE_TAKEN:
		session->interval = vg_events_token(&session->events, task,
						    session->snapshot.slot_value);
		in_call = vg_regs_in_call(&session->snapshot.regs);
		task->slices = look->slices + (waits && in_call ? SLICES_OF_A_STOP : 0);
		/* The stop took it off its CPU, which brought its time up to date: before, that was
		 * the time at the scheduler's last tick, which may belong to the sample before. */
		vg_task_look(&session->tasks, task, &after);
		vg_account_sample(session, task, in_call ? vg_regs_call(&session->snapshot.regs) : -1,
				  now_ns, &after);
		return;
	case VG_CAPTURE_GONE:
		return;
	case VG_CAPTURE_PENDING:
		recorder->lost[VG_LOSS_NOT_STOPPED]++;
		return;
	case VG_CAPTURE_FORBIDDEN:
		if (is_alive(session, task->tid))
			recorder->lost[VG_LOSS_FORBIDDEN]++;
		return;
	case VG_CAPTURE_FAILED:
		recorder->lost[VG_LOSS_UNREADABLE]++;
		return;
	}
}

/* The scheduler's numbers are as old as its tick.  A thread that is in another interval than at its
 * latest sample has run since, whatever they say. */
static bool has_moved(const struct vg_session *session, const struct vg_task *task)
{
	const _Atomic uint64_t *slot = vg_events_slot(&session->events, task);

	return slot != NULL && vg_events_token(&session->events, task, atomic_load_explicit(slot,
			memory_order_relaxed)) != task->interval;
}

void vg_sampling_thread(struct vg_session *session, struct vg_task *task)
{
	struct vg_task_look look = { .cpu_ns = task->cpu_ns };
	struct vg_wait wait;
	bool covered, moved = has_moved(session, task);
	int rc;

	if (session->still && !moved && task->has_stack && task->slices != VG_SLICES_UNKNOWN) {
		vg_account_repeat(session, task, session_now_ns(session), &look);
		return;
	}
	if (task->untraceable)
		return;
	rc = vg_task_look(&session->tasks, task, &look);
	if (rc != 0) {
		/* If it is gone, the next scan says so. */
		session->recorder.lost[VG_LOSS_UNREADABLE] += rc != -ESRCH;
		return;
	}
	if (!task->has_cpu)
		task->cpu_ns = look.cpu_ns;
	if (task->slices_seen != 0)
		session->switches += look.slices - task->slices_seen;
	task->slices_seen = look.slices;
	covered = vg_interrupted_covers(session, task, &look.cpu_ns);
	if ((task->has_stack || session->options.cpu_mode) && !moved &&
	    look.slices == task->slices) {
		vg_account_repeat(session, task, session_now_ns(session), &look);
		return;
	}
	vg_wait_read(&wait, &session->tasks, task);
	task->ran = true;
	if (task->young > 0) {
		task->young--;
		vg_account_name(session, task, session_now_ns(session));
	}
	if (!wait.running && session->options.cpu_mode) {
		task->slices = look.slices;
		task->last_ns = session_now_ns(session);
		return;
	}
	if (wait.running && covered)
		return;
	if (wait.running || !sample_waiting(session, task, &look, &wait))
		sample_running(session, task, !wait.running, &look);
}
