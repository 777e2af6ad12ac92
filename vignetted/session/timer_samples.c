/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/timer_samples.h"

#include <errno.h>

#include "vignetted/policy/policy.h"
#include "vignetted/session/account.h"
#include "vignetted/session/recordings.h"
#include "vignetted/unwind/code.h"

/* How far timers may be behind the CPU time that the scheduler reports: the thread has one timer a CPU, each in the middle
 * of a period, and the scheduler's number is as old as its tick. */
enum { BEHIND_PERIODS = 4, BEHIND_NS = 10 * 1000 * 1000 };

/* Where the kernel's code is not sampled, stops make up for it: often, for timers miss much. */
enum { USER_BEHIND_PERIODS = 2, USER_BEHIND_NS = 4 * 1000 * 1000 };

/* A stop tells where a thread queues for a CPU, when it has queued for so long since the latest one. */
enum { QUEUED_NS = 100 * 1000 * 1000 };

/* As long as what else a round does may take. */
enum { FETCH_MAX_NS = 1000 * 1000 * 1000 };

/* Where timers copy too little of the stack, so many samples are passed over before another is walked. */
enum { TRUNCATED_EVERY = 64 };

/* Whether timers sample the thread for the recording, and are not behind its CPU time. */
static bool is_covered(const struct vg_timers *timers, const struct vg_recording *recording, const struct vg_task *task,
		       uint64_t ticks_ns)
{
	uint64_t period_ns = vg_recording_period_ns(recording, ticks_ns);
	uint64_t behind_ns = timers->user_only ? USER_BEHIND_PERIODS * period_ns + USER_BEHIND_NS :
						 BEHIND_PERIODS * period_ns + BEHIND_NS;

	return recording->options.period_ns >= timers->asked_ns &&
	       task->accounts[recording->index].weights.cpu_left_ns <= (int64_t)behind_ns;
}

/* The policy's step, if one is due. */
static void decide(struct vg_timers *timers, struct vg_task *task, uint64_t now_ns, uint64_t tick_ns,
		   struct vg_pace_load *pace)
{
	struct vg_policy_load load = {
		.elapsed_ns = now_ns - task->timers.step.at_ns, .period_ns = timers->asked_ns, .scheduler_tick_ns = tick_ns,
		.switches = task->look.slices - task->timers.step.slices, .used_ns = task->look.cpu_ns - task->timers.step.cpu_ns,
	};
	bool is_known = task->timers.step.slices != 0 && task->look.cpu_ns >= task->timers.step.cpu_ns &&
			task->look.slices >= task->timers.step.slices;

	if (is_known && !vg_policy_due(&task->timers.policy, &load))
		return;
	if (is_known) {
		vg_policy_step(&task->timers.policy, &load, &vg_policy_prices);
		vg_pace_thread(pace, load.elapsed_ns, load.used_ns + task->look.queued_ns - task->timers.step.queued_ns,
			       load.switches);
	} else {
		task->timers.policy = (struct vg_policy){ 0 };
	}
	/* Where timers are short, one that does not run leaves its own to others. */
	if (is_known && load.used_ns == 0 && timers->capacity - timers->count < timers->ring_count)
		task->timers.policy = (struct vg_policy){ 0 };
	task->timers.step.at_ns = now_ns;
	task->timers.step.queued_ns = task->look.queued_ns;
	task->timers.step.cpu_ns = task->look.cpu_ns;
	task->timers.step.slices = task->look.slices;
	if (task->timers.open && !task->timers.policy.timers)
		vg_timers_remove(timers, task->tid);
	task->timers.open = task->timers.policy.timers && (task->timers.open || vg_timers_add(timers, task->tid) == 0);
}

vg_recording_set vg_timer_samples_decide(struct vg_session *session, struct vg_task *task, vg_recording_set set,
					 const struct vg_clocks *clocks)
{
	vg_recording_set covered = 0;
	bool were_open = task->timers.open;

	VG_EACH_RECORDING(i, set)
		vg_weights_observe(&task->accounts[i].weights, clocks);
	if (session->timers.rings == NULL)
		return 0;
	task->timers.queues = false;
	decide(&session->timers, task, clocks->time_ns, session->scheduler_tick_ns, &session->pace.load);
	/* A stop now, the first sample of a timer after a period. */
	if (!were_open || !task->timers.open || task->timers.stack_truncated || task->timers.silent || session->round.all_now)
		return 0;
	VG_EACH_RECORDING(i, set)
		task->timers.queues |= !session->recordings[i].options.cpu_mode &&
				       task->accounts[i].weights.queued_left_ns > QUEUED_NS;
	if (task->timers.queues) {
		session->pace.load.stops_of_queued++;
		return 0;
	}
	VG_EACH_RECORDING(i, set)
		covered |= (uint32_t)is_covered(&session->timers, &session->recordings[i], task,
						vg_session_period_ns(session)) << i;
	/* On a CPU that has no ring timers take nothing.  A stop brings them level with the CPU time, and is needed again all
	 * the same.  Where the kernel's code is not sampled, to be behind is nothing unusual. */
	task->timers.silent = covered != set && !session->timers.user_only;
	return covered;
}

/* Walks the sample's stack. */
static int sample_walk(struct vg_session *session, struct vg_task *task, const struct vg_timer_record *record)
{
	struct vg_walker *walker = &session->walker;
	int rc;

	vg_walker_allow(walker);
	do {
		rc = vg_timers_snapshot(&session->timers, record, task->copy.bytes, &walker->snapshot);
		if (rc == 0)
			rc = vg_walker_walk(walker, task);
	} while (rc == -EAGAIN);
	/* The stack is too deep; or the leaf keeps something below its stack pointer, where the kernel copies nothing and a
	 * stop does. */
	task->timers.stack_truncated = rc == 0 && (walker->walk.end == VG_WALK_SNAPSHOT ||
					    (walker->walk.end == VG_WALK_BAD_CFA && walker->walk.count == 1));
	return rc;
}

/* NULL: the thread is not one of ours, or no profile knows it yet. */
static struct vg_task *sample_task(struct vg_session *session, const struct vg_timer_record *record, size_t *hint)
{
	struct vg_task *task = vg_tasks_find(&session->tasks, record->tid, hint);

	return task != NULL && task->begun != 0 && !task->untraceable ? task : NULL;
}

/* The recordings for which a sample of the thread is due.  Slower recordings, and those that a budget makes slower, pass
 * some over. */
static vg_recording_set sample_due(struct vg_session *session, struct vg_task *task, const struct vg_timer_record *record)
{
	vg_recording_set due = 0;

	VG_EACH_RECORDING(i, session->live & task->begun) {
		const struct vg_recording *recording = &session->recordings[i];

		if (recording->options.period_ns >= session->timers.asked_ns && record->time_ns >= recording->begin_ns &&
		    vg_weights_timer_count(&task->accounts[i].weights, record->sample.period_ns,
					 vg_recording_period_ns(recording, vg_session_period_ns(session))))
			due |= 1u << i;
	}
	return due;
}

static void sample_take(struct vg_session *session, struct vg_task *task, const struct vg_timer_record *record)
{
	struct vg_taken taken = {
		.call = -1, .walk = &session->walker.walk, .slices = VG_SLICES_UNKNOWN,
		.time_ns = record->time_ns - session->begin_ns,
	};
	vg_recording_set due = sample_due(session, task, record);
	int rc;

	task->timers.silent = false;
	if (due == 0 || (task->timers.stack_truncated && ++task->timers.passed % TRUNCATED_EVERY != 0))
		return;
	rc = sample_walk(session, task, record);
	vg_recordings_unloads(session, taken.time_ns);
	if (rc != 0)
		vg_recordings_lost(session, due, VG_LOSS_NO_MEMORY);
	if (rc != 0 || task->timers.stack_truncated)
		return;
	if (record->sample.in_kernel)
		taken.call = vg_code_syscall(&session->memory, vg_regs_pc(&record->sample.regs));
	task->ran = true;
	if (taken.time_ns > session->events.drained_ns)
		vg_recordings_events(session, false);
	taken.interval = vg_events_interval_at(&session->events, task, taken.time_ns);
	VG_EACH_RECORDING(i, due) {
		struct vg_account *account = &task->accounts[i];
		struct vg_weight_pair weights;

		/* It may have been sampled as it waits since. */
		if (taken.time_ns < account->last_ns)
			taken.time_ns = account->last_ns;
		weights = vg_weights_timer(&account->weights, taken.time_ns);
		vg_account_sample(&session->recordings[i], task, &session->events, &taken, &weights);
	}
}

void vg_timer_samples_fetch(struct vg_session *session)
{
	struct vg_timer_record record;
	struct vg_task *task;
	size_t hint = 0;
	uint64_t now_ns = vg_now_ns();
	bool more = true;

	/* Records come in the order of their times.  Where more come than we can keep up with, or walks take long, there
	 * would be no end to it: later samples have time until the next round. */
	while (more && session->live != 0 && vg_timers_next(&session->timers, &record)) {
		more = record.time_ns < now_ns && vg_now_ns() - now_ns < FETCH_MAX_NS;
		task = record.time_ns >= session->begin_ns ? sample_task(session, &record, &hint) : NULL;
		if (task != NULL && record.kind == VG_TIMER_SAMPLE)
			sample_take(session, task, &record);
		if (task != NULL && record.kind == VG_TIMER_ENDED) {
			task->timers.ended_ns = record.time_ns - session->begin_ns;
			session->tasks.stale = true;
		}
		vg_priority_lower(&session->tracer.priority);
	}
}
