/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/thread_sample.h"

#include <errno.h>

#include "vignetted/capture/stack.h"
#include "vignetted/session/account.h"
#include "vignetted/session/recordings.h"
#include "vignetted/session/threads.h"
#include "vignetted/session/timer_samples.h"

/* Stopping a sleeping thread adds two timeslices: it wakes to stop, and again to resume its call. */
enum { SLICES_OF_A_STOP = 2 };

/* A thread that was found running so short a time ago is not read again.  Reading it costs as much as many threads live. */
enum { READY_NS = 500 * 1000 };

/* A thread that waits shortly changes between its copies. */
enum { READ_ATTEMPTS = 4 };

/* ---- what is known of the thread ---- */

/* A changed interval proves that the thread ran, and a recorder that has begun a new table of stacks needs the stack anew.
 * Returns the recordings for which one of the two is so. */
static vg_recording_set moved_in(const struct vg_session *session, const struct vg_task *task, vg_recording_set set)
{
	const _Atomic uint64_t *slot = vg_events_slot(&session->events, task);
	uint64_t token = slot == NULL ? 0 : vg_events_token(&session->events, task,
							    atomic_load_explicit(slot, memory_order_relaxed));
	vg_recording_set moved = 0;

	VG_EACH_RECORDING(i, set) {
		const struct vg_account *account = &task->accounts[i];

		if ((account->has_stack &&
		     account->stacks_generation != session->recordings[i].recorder.stacks_generation) ||
		    (slot != NULL && token != account->interval))
			moved |= 1u << i;
	}
	return moved;
}

/* Those for which the thread itself has not run since their latest sample. */
static vg_recording_set unrun_in(const struct vg_task *task, vg_recording_set set, vg_recording_set cpu_only)
{
	vg_recording_set unrun = 0;

	VG_EACH_RECORDING(i, set)
		unrun |= (uint32_t)(task->look.slices == task->accounts[i].slices &&
				    (task->accounts[i].has_stack || (cpu_only & 1u << i) != 0)) << i;
	return unrun;
}

static vg_recording_set cpu_only_in(const struct vg_session *session, vg_recording_set set)
{
	vg_recording_set cpu_only = 0;

	VG_EACH_RECORDING(i, set)
		cpu_only |= (uint32_t)session->recordings[i].options.cpu_mode << i;
	return cpu_only;
}

/* Those for which timers sample the thread. */
static vg_recording_set timers_in(const struct vg_session *session, const struct vg_task *task, vg_recording_set set)
{
	vg_recording_set timers = 0;

	VG_EACH_RECORDING(i, set)
		timers |= (uint32_t)vg_timer_samples_cover(session, &session->recordings[i], task) << i;
	return timers;
}

static void observe(struct vg_task *task, vg_recording_set set, uint64_t now_ns)
{
	VG_EACH_RECORDING(i, set)
		vg_weights_observe(&task->accounts[i].weights, now_ns, task->look.cpu_ns, task->look.queued_ns);
}

static bool is_running(struct vg_session *session, struct vg_task *task, struct vg_wait *wait)
{
	if (task->found_ready_ns != 0 && vg_now_ns() - task->found_ready_ns < READY_NS)
		*wait = (struct vg_wait){ .running = true };
	else
		vg_wait_read(wait, &session->tasks, task);
	task->found_ready_ns = 0;
	return wait->running;
}

/* ---- what recordings without a new stack write ---- */

/* One for each of the periods since the latest tick. */
static void repeat(struct vg_session *session, struct vg_task *task, vg_recording_set set, uint64_t now_ns)
{
	VG_EACH_RECORDING(i, set) {
		struct vg_recording *recording = &session->recordings[i];
		uint64_t period_ns = vg_recording_period_ns(recording, vg_session_period_ns(session));
		uint32_t due = period_ns < session->ticks.period_ns ?
			       (uint32_t)(session->ticks.period_ns / period_ns) : 1;

		vg_account_repeat(recording, task, due, now_ns, vg_weights_waiting(&task->accounts[i].weights));
	}
}

static void pass(struct vg_task *task, vg_recording_set set, uint64_t now_ns)
{
	VG_EACH_RECORDING(i, set) {
		task->accounts[i].slices = task->look.slices;
		task->accounts[i].last_ns = now_ns;
	}
}

/* ---- a new stack ---- */

static struct vg_taken taken_of(struct vg_session *session, const struct vg_task *task, int64_t call, uint64_t pc,
				uint64_t time_ns)
{
	struct vg_walker *walker = &session->walker;

	return (struct vg_taken){
		.walk = &walker->walk,
		.call = call >= 0 ? vg_stack_call(walker, call, pc) : -1,
		.interval = vg_events_token(&session->events, task, walker->snapshot.slot_value),
		.time_ns = time_ns, .slices = task->look.slices,
	};
}

static void read_write(struct vg_session *session, struct vg_task *task, vg_recording_set set, const struct vg_wait *wait,
		       uint64_t time_ns)
{
	struct vg_taken taken = taken_of(session, task, wait->call, wait->pc, time_ns);

	observe(task, set, time_ns);
	VG_EACH_RECORDING(i, set) {
		session->recordings[i].recorder.reads_without_stop++;
		vg_account_sample(&session->recordings[i], task, &session->events, &taken,
				  vg_weights_waiting(&task->accounts[i].weights));
	}
}

/* Where the thread has run meanwhile, it may wait in another call by now, which a stop would interrupt: it is read
 * again.  Whether a stop is to be made instead. */
static bool wait_read(struct vg_session *session, struct vg_task *task, vg_recording_set set, struct vg_wait *wait)
{
	for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
		uint64_t now_ns = vg_session_now_ns(session), discarded = 0;
		enum vg_stack_read read = vg_stack_read(&session->walker, task, wait, &discarded);

		vg_recordings_unloads(session, now_ns);
		VG_EACH_RECORDING(i, set)
			session->recordings[i].recorder.copies_discarded += discarded;
		if (read == VG_STACK_TAKEN)
			read_write(session, task, set, wait, now_ns);
		if (read != VG_STACK_CHANGED)
			return read == VG_STACK_NEEDS_STOP;
		if (vg_task_look(&session->tasks, task, &task->look) != 0)
			return true;
		vg_wait_read(wait, &session->tasks, task);
		if (wait->running)
			return true;
	}
	if (vg_wait_may_stop(wait, vg_tasks_directory(&session->tasks), task->tid))
		return true;
	vg_recordings_lost(session, set, VG_LOSS_UNREADABLE);
	return false;
}

/* A stop puts a sleeping thread on a CPU: for those recordings whose stack of it still stands, it has
 * not run. */
static void slices_advance(struct vg_task *task, vg_recording_set others, uint64_t slices)
{
	VG_EACH_RECORDING(i, others) {
		if (task->accounts[i].slices == task->look.slices)
			task->accounts[i].slices = slices;
	}
}

/* A thread that fell asleep before it stopped was found in a call that the stop interrupted: it waited. */
static void stop_write(struct vg_session *session, struct vg_task *task, vg_recording_set set, bool waits,
		       uint64_t time_ns)
{
	const struct vg_regs *regs = &session->walker.snapshot.regs;
	bool in_call = vg_regs_in_call(regs);
	struct vg_taken taken = taken_of(session, task, in_call ? vg_regs_call(regs) : -1, vg_regs_pc(regs), time_ns);

	if (waits && in_call)
		taken.slices += SLICES_OF_A_STOP;
	if (waits)
		slices_advance(task, task->begun & ~set, taken.slices);
	/* The stop took the thread off its CPU, which brought its CPU time up to date.  Before, that was the time at the
	 * scheduler's latest tick. */
	vg_task_look(&session->tasks, task, &task->look);
	observe(task, set, time_ns);
	VG_EACH_RECORDING(i, set) {
		struct vg_weights *weights = &task->accounts[i].weights;

		vg_account_sample(&session->recordings[i], task, &session->events, &taken,
				  in_call ? vg_weights_waiting(weights) : vg_weights_running(weights));
	}
}

static void stop(struct vg_session *session, struct vg_task *task, vg_recording_set set, bool waits)
{
	uint64_t now_ns = vg_session_now_ns(session);
	enum vg_capture capture = vg_stack_stop(&session->walker, &session->tracer, &session->pauses, task);

	vg_recordings_unloads(session, now_ns);
	switch (capture) {
	case VG_CAPTURE_TAKEN:
		stop_write(session, task, set, waits, now_ns);
		return;
	case VG_CAPTURE_GONE:
		vg_threads_gone(session, task);
		return;
	case VG_CAPTURE_PENDING:
		vg_recordings_lost(session, set, VG_LOSS_NOT_STOPPED);
		return;
	case VG_CAPTURE_FORBIDDEN:
		/* So says PTRACE_SEIZE of a dying thread, too. */
		if (vg_task_is_alive(&session->tasks, task->tid))
			vg_recordings_lost(session, set, VG_LOSS_FORBIDDEN);
		return;
	case VG_CAPTURE_FAILED:
		vg_recordings_lost(session, set, VG_LOSS_UNREADABLE);
		return;
	}
}

/* ---- the sample ---- */

void vg_thread_sample(struct vg_session *session, struct vg_task *task)
{
	struct vg_methods_due due = { .set = session->round.due & session->live & task->begun };
	struct vg_methods methods;
	struct vg_wait wait = { .running = true };
	uint64_t now_ns;
	int rc;

	vg_walker_allow(&session->walker);
	/* Of thousands that wait, one was stopped. */
	vg_priority_lower(&session->tracer.priority);
	/* Nobody else would find out when it is gone. */
	session->tasks.stale |= task->exiting;
	if (due.set == 0 || task->untraceable || task->exiting)
		return;
	rc = vg_activity_read(&session->activity, &session->tasks, task);
	if (rc == -ESRCH)
		vg_threads_gone(session, task);
	else if (rc != 0)
		vg_recordings_lost(session, due.set, VG_LOSS_UNREADABLE);
	if (rc != 0)
		return;
	now_ns = vg_session_now_ns(session);
	observe(task, due.set, now_ns);
	vg_timer_samples_decide(session, task, now_ns);
	due.timers = timers_in(session, task, due.set);
	due.cpu_only = cpu_only_in(session, due.set);
	due.moved = moved_in(session, task, due.set);
	due.unrun = unrun_in(task, due.set, due.cpu_only);
	if ((due.set & ~(due.unrun & ~due.moved)) != 0) {
		due.running = is_running(session, task, &wait);
		session->activity.awake_fresh = false;
		task->ran = true;
	}
	methods = vg_methods_choose(&due);
	repeat(session, task, methods.repeat, now_ns);
	if (methods.repeat != due.set && task->young > 0) {
		task->young--;
		vg_threads_name(session, task, now_ns);
	}
	pass(task, methods.pass, now_ns);
	session->walker.snapshot.slot = vg_events_slot(&session->events, task);
	if (methods.read != 0 && wait_read(session, task, methods.read, &wait))
		stop(session, task, methods.read, true);
	if (methods.stop != 0)
		stop(session, task, methods.stop, false);
}
