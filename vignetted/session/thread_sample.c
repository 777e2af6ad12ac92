/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/thread_sample.h"

#include <errno.h>
#include <stdatomic.h>

#include "vignetted/capture/stack.h"
#include "vignetted/session/account.h"
#include "vignetted/session/recordings.h"
#include "vignetted/session/threads.h"
#include "vignetted/session/timer_samples.h"

/* Stopping a sleeping thread adds two timeslices: it wakes to stop, and again to resume its call. */
enum { SLICES_OF_A_STOP = 2 };

/* A thread that was found running so short a time ago is not read again.  Reading it costs as much as many threads live. */
enum { READY_NS = 500 * 1000 };

/* ---- what is known of the thread ---- */

static struct vg_clocks clocks_of(const struct vg_task *task, uint64_t time_ns)
{
	return (struct vg_clocks){ .time_ns = time_ns, .cpu_ns = task->look.cpu_ns, .queued_ns = task->look.queued_ns };
}

/* The recordings whose latest stack of the thread was taken in this timeslice. */
static vg_recording_set unrun_in(const struct vg_task *task, const struct vg_methods_due *due)
{
	vg_recording_set unrun = 0;

	VG_EACH_RECORDING(i, due->set)
		unrun |= (uint32_t)(task->look.slices == task->accounts[i].slices &&
				    (task->accounts[i].has_stack || (due->cpu_only & 1u << i) != 0)) << i;
	return unrun;
}

/* A changed interval proves that the thread ran, and a recorder that has begun a new table of stacks needs the stack anew.
 * Returns the recordings for which one of the two is so. */
static vg_recording_set moved_in(const struct vg_recording *recordings, const struct vg_task *task, vg_recording_set set,
				 bool has_slot, uint64_t token)
{
	vg_recording_set moved = 0;

	VG_EACH_RECORDING(i, set) {
		const struct vg_account *account = &task->accounts[i];

		if ((account->has_stack && account->stacks_generation != recordings[i].recorder.stacks_generation) ||
		    (has_slot && token != account->interval))
			moved |= 1u << i;
	}
	return moved;
}

static vg_recording_set cpu_only_in(const struct vg_recording *recordings, vg_recording_set set)
{
	vg_recording_set cpu_only = 0;

	VG_EACH_RECORDING(i, set)
		cpu_only |= (uint32_t)recordings[i].options.cpu_mode << i;
	return cpu_only;
}

static struct vg_wait wait_of(struct vg_tasks *tasks, struct vg_task *task)
{
	struct vg_wait wait = { .running = true };

	if (task->found_ready_ns == 0 || vg_now_ns() - task->found_ready_ns >= READY_NS)
		vg_wait_read(&wait, tasks, task);
	task->found_ready_ns = 0;
	return wait;
}

/* ---- what recordings write ---- */

/* One repeat for each of the recording's periods in a tick. */
static void repeat(struct vg_recording *recordings, vg_recording_set set, struct vg_task *task,
		   const struct vg_clocks *clocks, const struct vg_ticks *ticks, uint32_t periods_per_tick)
{
	VG_EACH_RECORDING(i, set) {
		uint64_t period_ns = vg_recording_period_ns(&recordings[i], ticks->period_ns / periods_per_tick);
		/* On demand it is one. */
		uint32_t count = recordings[i].options.period_ns != 0 && period_ns < ticks->period_ns ?
				 (uint32_t)(ticks->period_ns / period_ns) : 1;

		struct vg_weight_pair weights = vg_weights_take(&task->accounts[i].weights, clocks, VG_SEEN_WAITING);

		vg_account_repeat(&recordings[i], task, count, clocks->time_ns, &weights);
	}
}

static void pass(vg_recording_set set, struct vg_task *task, uint64_t now_ns)
{
	VG_EACH_RECORDING(i, set) {
		task->accounts[i].slices = task->look.slices;
		task->accounts[i].last_ns = now_ns;
	}
}

static void deliver(struct vg_recording *recordings, vg_recording_set set, struct vg_task *task,
		    const struct vg_events *events, const struct vg_captured *stack, const struct vg_clocks *clocks)
{
	struct vg_taken taken = {
		.walk = stack->walk, .call = stack->call, .slices = stack->slices, .time_ns = clocks->time_ns,
		.interval = vg_events_token(events, task, stack->slot_value),
	};
	enum vg_weights_seen seen = stack->waits ? VG_SEEN_WAITING : task->timers.queues ? VG_SEEN_QUEUED : VG_SEEN_RUNNING;

	VG_EACH_RECORDING(i, set) {
		struct vg_weight_pair weights = vg_weights_take(&task->accounts[i].weights, clocks, seen);

		vg_account_sample(&recordings[i], task, events, &taken, &weights);
	}
}

/* ---- the two ways to a new stack ---- */

/* Whether a stop is to be made instead. */
static bool wait_sample(struct vg_session *session, struct vg_task *task, vg_recording_set set, struct vg_wait *wait,
			const _Atomic uint64_t *slot)
{
	struct vg_clocks clocks = clocks_of(task, vg_session_now_ns(session));
	struct vg_captured stack;
	enum vg_stack_read read = vg_stack_read(&session->walker, task, wait, slot, &stack);

	vg_recordings_unloads(session, clocks.time_ns);
	VG_EACH_RECORDING(i, set) {
		session->recordings[i].recorder.copies_discarded += stack.discarded;
		session->recordings[i].recorder.reads_without_stop += read == VG_STACK_TAKEN;
	}
	if (read == VG_STACK_TAKEN) {
		clocks = clocks_of(task, clocks.time_ns);
		deliver(session->recordings, set, task, &session->events, &stack, &clocks);
	} else if (read == VG_STACK_UNREADABLE) {
		vg_recordings_lost(session, set, VG_LOSS_UNREADABLE);
	}
	return read == VG_STACK_NEEDS_STOP;
}

/* A stop puts a sleeping thread on a CPU.  For those recordings whose stack of it still stands, it has not run. */
static void slices_advance(struct vg_task *task, vg_recording_set others, uint64_t before, uint64_t slices)
{
	VG_EACH_RECORDING(i, others) {
		if (task->accounts[i].slices == before)
			task->accounts[i].slices = slices;
	}
}

static void stop_sample(struct vg_session *session, struct vg_task *task, vg_recording_set set, bool slept,
			const _Atomic uint64_t *slot)
{
	struct vg_clocks clocks = clocks_of(task, vg_session_now_ns(session));
	uint64_t slices = task->look.slices;
	struct vg_captured stack;
	enum vg_capture capture = vg_stack_stop(&session->walker, &session->tracer, &session->pauses, task, slot, &stack);

	vg_recordings_unloads(session, clocks.time_ns);
	switch (capture) {
	case VG_CAPTURE_TAKEN:
		if (slept && stack.waits)
			stack.slices += SLICES_OF_A_STOP;
		if (slept)
			slices_advance(task, task->begun & ~set, slices, stack.slices);
		clocks = clocks_of(task, clocks.time_ns);
		deliver(session->recordings, set, task, &session->events, &stack, &clocks);
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
	const _Atomic uint64_t *slot;
	struct vg_methods methods;
	struct vg_clocks clocks;
	struct vg_wait wait = { .running = true };
	int rc;

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

	clocks = clocks_of(task, vg_session_now_ns(session));
	due.timers = vg_timer_samples_decide(session, task, due.set, &clocks);
	due.cpu_only = cpu_only_in(session->recordings, due.set);
	due.unrun = unrun_in(task, &due);
	slot = vg_events_slot(&session->events, task);
	due.moved = moved_in(session->recordings, task, due.set, slot != NULL,
			     slot != NULL ? vg_events_token(&session->events, task, atomic_load_explicit(slot, memory_order_relaxed)) : 0);
	if ((due.set & ~(due.unrun & ~due.moved)) != 0) {
		wait = wait_of(&session->tasks, task);
		due.running = wait.running;
		session->activity.awake_fresh = false;
		task->ran = true;
	}
	methods = vg_methods_choose(&due);

	repeat(session->recordings, methods.repeat, task, &clocks, &session->ticks, session->periods_per_tick);
	pass(methods.pass, task, clocks.time_ns);
	VG_EACH_RECORDING(i, methods.timer)
		vg_weights_ran(&task->accounts[i].weights);
	if (methods.repeat != due.set && task->young > 0) {
		task->young--;
		vg_threads_name(session, task, clocks.time_ns);
	}
	if (methods.read != 0 && wait_sample(session, task, methods.read, &wait, slot))
		stop_sample(session, task, methods.read, true, slot);
	if (methods.stop != 0)
		stop_sample(session, task, methods.stop, false, slot);
}
