/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/thread_sample.h"

#include <errno.h>

#include "vignetted/capture/methods.h"
#include "vignetted/capture/stack.h"
#include "vignetted/session/account.h"
#include "vignetted/session/recordings.h"
#include "vignetted/session/threads.h"
#include "vignetted/session/timer_samples.h"

/* A stop takes a sleeping thread off its wait and back: it is put on a CPU twice. */
enum { SLICES_OF_A_STOP = 2 };

/* For so long a thread that was seen to run is taken to do so still: reading that of a new one costs as
 * much as many live. */
enum { READY_NS = 500 * 1000 };

/* A thread that waits shortly changes between its copies. */
enum { READ_ATTEMPTS = 4 };

/* ---- what is known of the thread ---- */

/* The scheduler's numbers are as old as its tick.  A thread that is in another interval than at its
 * latest sample has run since, whatever they say: those recordings for which it has. */
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

/* Those that have a stack of the thread, and for which no thread at all has run since. */
static vg_recording_set still_in(const struct vg_session *session, const struct vg_task *task, vg_recording_set set)
{
	vg_recording_set still = 0;

	VG_EACH_RECORDING(i, set & session->round.still)
		still |= (uint32_t)(task->accounts[i].has_stack &&
				    task->accounts[i].slices != VG_SLICES_UNKNOWN) << i;
	return still;
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
static vg_recording_set timers_in(struct vg_session *session, struct vg_task *task, vg_recording_set set)
{
	vg_recording_set timers = 0;

	VG_EACH_RECORDING(i, set) {
		struct vg_account *account = &task->accounts[i];

		if (!account->has_cpu)
			account->cpu_ns = task->look.cpu_ns;
		if (vg_timer_samples_cover(session, &session->recordings[i], task))
			timers |= 1u << i;
		account->drift_ns = (int64_t)(task->look.cpu_ns - account->cpu_ns);
	}
	return timers;
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

/* The CPU time that a recording is to account for: what the thread has used is the timers' to measure. */
static uint64_t cpu_ns_for(const struct vg_task *task, vg_recording_set timers, uint32_t i)
{
	return (timers & 1u << i) != 0 ? task->accounts[i].cpu_ns : task->look.cpu_ns;
}

/* One for each of the periods since the latest tick. */
static void repeat(struct vg_session *session, struct vg_task *task, vg_recording_set set, vg_recording_set timers)
{
	uint64_t now_ns = set != 0 ? vg_session_now_ns(session) : 0;

	VG_EACH_RECORDING(i, set) {
		struct vg_recording *recording = &session->recordings[i];
		uint64_t period_ns = vg_recording_period_ns(recording, vg_session_period_ns(session));
		uint32_t due = period_ns < session->ticks.period_ns ?
			       (uint32_t)(session->ticks.period_ns / period_ns) : 1;

		vg_account_repeat(recording, task, due, now_ns, cpu_ns_for(task, timers, i));
	}
}

static void pass(struct vg_session *session, struct vg_task *task, vg_recording_set set)
{
	VG_EACH_RECORDING(i, set) {
		task->accounts[i].slices = task->look.slices;
		task->accounts[i].last_ns = vg_session_now_ns(session);
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
		.waits_rarely_read = session->fetch_periods > 1,
	};
}

static void read_write(struct vg_session *session, struct vg_task *task, vg_recording_set set, vg_recording_set timers,
		       const struct vg_wait *wait, uint64_t time_ns)
{
	struct vg_taken taken = taken_of(session, task, wait->call, wait->pc, time_ns);

	VG_EACH_RECORDING(i, set) {
		session->recordings[i].recorder.reads_without_stop++;
		taken.cpu_ns = cpu_ns_for(task, timers, i);
		vg_account_sample(&session->recordings[i], task, &session->events, &taken);
	}
}

/* Where the thread has run meanwhile, it may wait in another call by now, which a stop would interrupt: it is read
 * again.  Whether a stop is to be made instead. */
static bool wait_read(struct vg_session *session, struct vg_task *task, vg_recording_set set,
		      vg_recording_set timers, struct vg_wait *wait)
{
	for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
		uint64_t now_ns = vg_session_now_ns(session), discarded = 0;
		enum vg_stack_read read = vg_stack_read(&session->walker, task, wait, &discarded);

		vg_recordings_unloads(session, now_ns);
		VG_EACH_RECORDING(i, set)
			session->recordings[i].recorder.copies_discarded += discarded;
		if (read == VG_STACK_TAKEN)
			read_write(session, task, set, timers, wait, now_ns);
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

static void stop_write(struct vg_session *session, struct vg_task *task, vg_recording_set set, bool waits,
		       uint64_t time_ns)
{
	const struct vg_regs *regs = &session->walker.snapshot.regs;
	bool in_call = vg_regs_in_call(regs);
	struct vg_taken taken = taken_of(session, task, in_call ? vg_regs_call(regs) : -1, vg_regs_pc(regs), time_ns);
	struct vg_task_look after = task->look;

	/* The stop took it off its CPU, which brought its time up to date: before, that was the time at
	 * the scheduler's last tick, which may belong to the sample before. */
	vg_task_look(&session->tasks, task, &after);
	taken.cpu_ns = after.cpu_ns;
	if (waits && in_call)
		taken.slices += SLICES_OF_A_STOP;
	if (waits)
		slices_advance(task, task->begun & ~set, taken.slices);
	VG_EACH_RECORDING(i, set)
		vg_account_sample(&session->recordings[i], task, &session->events, &taken);
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

static void thread_sample(struct vg_session *session, struct vg_task *task)
{
	struct vg_methods_due due = { .set = session->round.due & session->live & task->begun };
	struct vg_methods methods;
	struct vg_wait wait = { .running = true };
	vg_recording_set still;
	int rc;

	vg_walker_allow(&session->walker);
	/* Of thousands that wait, one was stopped. */
	vg_priority_lower(&session->tracer.priority);
	due.moved = moved_in(session, task, due.set);
	still = still_in(session, task, due.set & ~due.moved);
	repeat(session, task, still, still);
	due.set &= ~still;
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
	vg_account_renew(task);
	due.timers = timers_in(session, task, due.set);
	due.cpu_only = cpu_only_in(session, due.set);
	due.unrun = unrun_in(task, due.set, due.cpu_only);
	if ((due.set & ~(due.unrun & ~due.moved)) != 0) {
		due.running = is_running(session, task, &wait);
		session->activity.awake_fresh = false;
		task->ran = true;
	}
	methods = vg_methods_choose(&due);
	repeat(session, task, methods.repeat, due.timers);
	if (methods.repeat != due.set && task->young > 0) {
		task->young--;
		vg_threads_name(session, task, vg_session_now_ns(session));
	}
	pass(session, task, methods.pass);
	session->pacing.stops_seen |= methods.stop != 0 && task->judged;
	session->walker.snapshot.slot = vg_events_slot(&session->events, task);
	if (methods.read != 0 && wait_read(session, task, methods.read, due.timers, &wait))
		stop(session, task, methods.read, true);
	if (methods.stop != 0)
		stop(session, task, methods.stop, false);
}

void vg_thread_sample(struct vg_session *session, struct vg_task *task)
{
	thread_sample(session, task);
	if (task->judged)
		return;
	task->judged = true;
	vg_crowd_met(&session->crowd, task->exiting);
}
