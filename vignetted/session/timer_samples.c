/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/timer_samples.h"

#include <errno.h>

#include "vignetted/policy/policy.h"
#include "vignetted/session/account.h"
#include "vignetted/session/recording.h"
#include "vignetted/unwind/code.h"

/* The timers of a thread are behind if the CPU time that is in no sample yet exceeds a limit.  The limit is
 * BEHIND_PERIODS sampling periods plus BEHIND_NS.  Timers that work must stay below it, so it allows for two effects.
 * A thread has one timer for each CPU, and each timer is on average in the middle of its period.  The reported CPU time
 * grows in steps of a scheduler tick. */
enum { BEHIND_PERIODS = 4, BEHIND_NS = 10 * 1000 * 1000 };

/* If timers may sample user code only, and this many stops in a row find the thread in user code while no timer sample
 * arrives, timers do not work: for example, the thread runs on a CPU without a ring. */
enum { KERNEL_STOPS_MAX = 8 };

/* The longest fetch.  A round has the same limit. */
enum { FETCH_MAX_NS = 1000 * 1000 * 1000 };

/* If a thread's timer samples do not suffice to unwind its stack, only one of 64 is walked, to find out when they
 * suffice again. */
enum { WALKED_EVERY = 64 };

/* Whether timers sample the thread for the recording, and are not behind. */
static bool is_covered(const struct vg_session *session, const struct vg_recording *recording,
		       const struct vg_task *task)
{
	const struct vg_timers *timers = &session->timers;
	const struct vg_weights *weights = &task->accounts[recording->index].weights;
	uint64_t period_ns = vg_recording_period_ns(session, recording);
	uint64_t behind_ns = timers->user_only ? vg_weights_kernel_limit_ns(weights, period_ns) :
						 BEHIND_PERIODS * period_ns + BEHIND_NS;

	return recording->options.period_ns >= timers->mean_period_ns && weights->cpu_balance_ns <= (int64_t)behind_ns;
}

/* Makes the policy's step, if one is due, and opens or closes the thread's timers. */
static void method_decide(struct vg_timers *timers, struct vg_task *task, uint64_t now_ns, uint64_t tick_ns,
			  struct vg_pace_load *pace)
{
	struct vg_policy_load load = {
		.elapsed_ns = now_ns - task->timers.step.at_ns, .period_ns = timers->mean_period_ns,
		.scheduler_tick_ns = tick_ns,
		.switches = task->activity.timeslices - task->timers.step.timeslices,
		.used_ns = task->activity.cpu_ns - task->timers.step.cpu_ns,
	};
	bool is_known = task->timers.step.timeslices != 0 && task->activity.cpu_ns >= task->timers.step.cpu_ns &&
			task->activity.timeslices >= task->timers.step.timeslices;

	if (is_known && !vg_policy_due(&task->timers.policy, &load))
		return;
	if (is_known) {
		vg_policy_step(&task->timers.policy, &load, &vg_policy_prices);
		vg_pace_thread(pace, load.elapsed_ns,
			       load.used_ns + task->activity.queued_ns - task->timers.step.queued_ns, load.switches);
	} else {
		task->timers.policy = (struct vg_policy){ 0 };
	}
	/* If timers are scarce, a thread that does not run gives up its timers. */
	if (is_known && load.used_ns == 0 && timers->capacity - timers->count < timers->ring_count)
		task->timers.policy = (struct vg_policy){ 0 };
	task->timers.step.at_ns = now_ns;
	task->timers.step.queued_ns = task->activity.queued_ns;
	task->timers.step.cpu_ns = task->activity.cpu_ns;
	task->timers.step.timeslices = task->activity.timeslices;
	if (task->timers.open && !task->timers.policy.timers)
		vg_timers_remove(timers, task->tid);
	task->timers.open = task->timers.policy.timers && (task->timers.open || vg_timers_add(timers, task->tid) == 0);
}

vg_recording_set vg_timer_samples_decide(struct vg_session *session, struct vg_task *task, vg_recording_set due,
					 uint64_t now_ns)
{
	vg_recording_set covered = 0;
	bool were_open = task->timers.open;

	task->timers.queue_due = task->timers.kernel_due = false;
	if (session->timers.rings == NULL)
		return 0;
	method_decide(&session->timers, task, now_ns, session->scheduler_tick_ns, &session->pace.load);
	/* Without timers the thread may have mapped code since the latest fetch. */
	if (task->timers.open != were_open) {
		session->mappings.since_ns = 0;
		session->mappings.is_due = true;
	}
	/* A timer that was just opened takes its first sample one period later: stop the thread at this tick. */
	if (!were_open || !task->timers.open || task->timers.needs_stop || task->timers.silent ||
	    session->round.all_now)
		return 0;
	VG_EACH_RECORDING(i, due) {
		const struct vg_session_options *options = &session->recordings[i].options;

		task->timers.queue_due |= !options->cpu_mode &&
					  vg_weights_queue_due(&task->accounts[i].weights, options->period_ns);
	}
	if (task->timers.queue_due) {
		session->pace.load.queue_stops++;
		return 0;
	}
	VG_EACH_RECORDING(i, due)
		covered |= (uint32_t)is_covered(session, &session->recordings[i], task) << i;
	/* Timers that are behind may take no samples at all, for example because the thread runs on a CPU without a
	 * ring.  So stop the thread at each tick until a timer sample arrives.  The limit in is_covered() alone would
	 * not do that: the sample of the first stop takes the whole balance.  If timers may not sample kernel code,
	 * they are often behind, although they work. */
	task->timers.silent = covered != due && !session->timers.user_only;
	task->timers.kernel_due = covered != due && session->timers.user_only &&
				  task->timers.kernel_stops < KERNEL_STOPS_MAX;
	return covered;
}

/* Whether all threads that may have run since the latest fetch have timers.  The kernel records the code that a thread
 * with timers maps.  A sleeping thread may have run unless sleepers_idle is true.  If scans look for chosen threads
 * only, any other thread may have run. */
static bool all_have_timers(const struct vg_tasks *tasks, bool sleepers_idle)
{
	if (tasks->only_count != 0)
		return false;
	VG_EACH_TASK(task, tasks) {
		if (!(task->sleep.is_sleeping && sleepers_idle) && (!task->timers.open || task->timers.silent))
			return false;
	}
	return true;
}

/* Updates mappings.since_ns at the beginning of a fetch, and after a round that opened or closed timers.  If a mark has
 * changed, reads /proc/PID/maps before it sets since_ns.  As long as no module can have been replaced, marks suffice as
 * evidence, and since_ns stays 0. */
static void mappings_update(struct vg_session *session)
{
	bool all = vg_modules_may_be_replaced(&session->modules, vg_now_ns()) &&
		   session->timers.lost == session->mappings.lost &&
		   all_have_timers(&session->tasks, session->activity.sleepers_idle);

	session->mappings.is_due = false;
	session->mappings.lost = session->timers.lost;
	/* Also check the marks: a thread that was never found may have mapped something. */
	if (all && session->mappings.since_ns != 0 && vg_modules_check(&session->modules))
		return;
	session->mappings.since_ns = 0;
	if (!all)
		return;
	if (!vg_modules_check(&session->modules))
		vg_walker_maps_read(&session->walker);
	session->mappings.since_ns = vg_now_ns();
}

void vg_timer_samples_round_end(struct vg_session *session)
{
	if (session->mappings.is_due)
		mappings_update(session);
}

/* Walks the sample's stack.  Returns 0 or a negative errno. */
static int sample_walk(struct vg_session *session, struct vg_task *task, const struct vg_timer_record *record)
{
	struct vg_walker *walker = &session->walker;
	bool recorded = session->mappings.since_ns != 0 && record->time_ns > session->mappings.since_ns &&
			session->timers.lost == session->mappings.lost;
	int rc;

	vg_walker_begin(walker);
	walker->snapshot.moment.evidence = recorded ? VG_EVIDENCE_RECORDS : VG_EVIDENCE_MARKS_LATE;
	do {
		rc = vg_timers_snapshot(&session->timers, record, task->copy.bytes, &walker->snapshot);
		if (rc == 0)
			rc = vg_walker_walk(walker, task);
	} while (rc == -EAGAIN);
	/* A stop is needed in these cases: the stack is too deep; it continues on another stack below a signal
	 * handler; the leaf function uses memory below its stack pointer, which the kernel does not copy; or the
	 * modules of that moment are not known.  If the leaf frame alone exceeds the work limit, a stop does not help,
	 * but not every timer sample must take that long. */
	task->timers.needs_stop = rc == 0 && (walker->walk.end == VG_WALK_TRUNCATED ||
					      vg_walker_needs_other_stack(walker) ||
					      ((walker->walk.end == VG_WALK_BAD_INFO ||
						walker->walk.end == VG_WALK_WORK_LIMIT) && walker->walk.count == 1) ||
					      (walker->walk.end == VG_WALK_MODULE_UNLOADED &&
					       walker->snapshot.moment.evidence == VG_EVIDENCE_MARKS_LATE));
	return rc;
}

/* Returns the recordings for which a sample of the thread is due.  Slower recordings, and recordings that the budget
 * slows down, skip some timer samples. */
static vg_recording_set sample_due(struct vg_session *session, struct vg_task *task,
				   const struct vg_timer_record *record)
{
	vg_recording_set due = 0;

	VG_EACH_RECORDING(i, session->live & task->in_profiles) {
		const struct vg_recording *recording = &session->recordings[i];

		if (recording->options.period_ns >= session->timers.mean_period_ns &&
		    record->time_ns >= recording->begin_ns &&
		    vg_weights_timer_expired(&task->accounts[i].weights, record->sample.period_ns,
					     vg_recording_period_ns(session, recording)))
			due |= 1u << i;
	}
	return due;
}

/* Returns the token of the thread's interval at that session time; 0: none. */
static uint64_t interval_at(struct vg_session *session, const struct vg_task *task, uint64_t time_ns)
{
	if (time_ns > session->events.drained_ns)
		vg_recordings_events_fetch(session, false);
	return vg_events_interval_at(&session->events, task, time_ns);
}

/* Adds the frames of the kernel code that the thread ran to its walk.  Returns whether it did. */
static bool kernel_frames_add(struct vg_session *session, const struct vg_timer_record *record)
{
	uint64_t addresses[VG_KERNEL_FRAMES_MAX];
	struct vg_frame frames[VG_KERNEL_FRAMES_MAX];
	uint32_t count = (uint32_t)vg_timers_kernel_frames(&session->timers, record, addresses), number;

	/* The first name takes long, because all names are read. */
	if (count > 0 && session->kernel.file != NULL)
		vg_priority_lower_now(&session->tracer.priority);
	for (uint32_t i = 0; i < count; i++) {
		if (vg_kernel_symbols_number(&session->kernel, addresses[i], &number) != 0)
			return false;
		frames[i] = (struct vg_frame){ number, VG_NONE, VG_FOUND_IN_KERNEL };
	}
	return count > 0 && vg_walk_prepend(&session->walker.walk, frames, count) == 0;
}

static void sample_take(struct vg_session *session, struct vg_task *task, const struct vg_timer_record *record)
{
	struct vg_new_sample taken = {
		.call = -1, .walk = &session->walker.walk, .time_ns = record->time_ns - session->begin_ns,
	};
	vg_recording_set due = sample_due(session, task, record);
	uint64_t interval = 0;
	int rc;

	task->timers.silent = false;
	if (!record->sample.readable)
		vg_recordings_count_loss(session->recordings, due, VG_LOSS_UNREADABLE);
	if (due == 0 || !record->sample.readable ||
	    (task->timers.needs_stop && ++task->timers.skipped % WALKED_EVERY != 0))
		return;
	rc = sample_walk(session, task, record);
	vg_recordings_unloads_write(session, taken.time_ns);
	if (rc != 0)
		vg_recordings_count_loss(session->recordings, due, VG_LOSS_NO_MEMORY);
	if (rc != 0 || task->timers.needs_stop)
		return;
	if (record->sample.in_kernel && !kernel_frames_add(session, record))
		taken.call = vg_code_syscall_number(&session->memory, vg_regs_pc(&record->sample.regs));
	task->ran = true;
	task->timers.kernel_stops = 0;
	taken.number = ++task->latest.count;
	VG_EACH_RECORDING(i, due) {
		struct vg_account *account = &task->accounts[i];
		struct vg_new_sample sample = taken;
		struct vg_weight_pair weights;

		/* A profile has a thread's samples in the order of their times.  This timer sample may be older than
		 * the latest one, which a stop or a read took. */
		if (sample.time_ns < account->last_ns)
			sample.time_ns = account->last_ns;
		sample.interval = interval = interval_at(session, task, sample.time_ns);
		weights = vg_weights_timer_sample(&account->weights, sample.time_ns, session->timers.user_only);
		vg_account_sample(&session->recordings[i], task, &session->events, &sample, &weights);
	}
	/* A timer sample may be older than the latest stack, which stays the latest. */
	if (taken.time_ns >= task->latest.time_ns)
		task->latest.interval = interval;
}

/* Counts a loss for a sample that cannot be used: its thread has exited and is no longer known, or its time is
 * impossible. */
static void sample_unmatched(struct vg_session *session, const struct vg_timer_record *record)
{
	VG_EACH_RECORDING(i, session->live) {
		const struct vg_recording *recording = &session->recordings[i];

		/* For a slower recording it is not known whether this sample was due.  A thread that no recording wants
		 * any more may have left samples. */
		if ((recording->options.thread == 0 || recording->options.thread == record->tid) &&
		    recording->options.period_ns == session->timers.mean_period_ns &&
		    (record->time_ns >= recording->begin_ns || record->time_ns < session->begin_ns))
			vg_recordings_count_loss(session->recordings, 1u << i, VG_LOSS_UNMATCHED);
	}
}

void vg_timer_samples_fetch(struct vg_session *session)
{
	struct vg_timer_record record;
	struct vg_task *task;
	size_t hint = 0;
	uint64_t now_ns = vg_now_ns(), fetched_ns;
	bool more = true;

	mappings_update(session);
	/* Records come in order of time.  Stop at records that are newer than this fetch, and after FETCH_MAX_NS:
	 * otherwise a fetch might never end.  The rest is fetched in the next round. */
	while (more && session->live != 0 && vg_timers_next(&session->timers, &record)) {
		more = record.time_ns < now_ns && vg_now_ns() - now_ns < FETCH_MAX_NS;
		/* A time before the session or in the future is impossible. */
		task = record.time_ns >= session->begin_ns && (more || record.time_ns <= vg_now_ns()) ?
		       vg_tasks_find(&session->tasks, record.tid, &hint) : NULL;
		if (task != NULL && (task->in_profiles == 0 || task->untraceable))
			task = NULL;
		if (task != NULL && record.kind == VG_TIMER_SAMPLE)
			sample_take(session, task, &record);
		vg_recordings_segments_check(session);
		if (task == NULL && record.kind == VG_TIMER_SAMPLE)
			sample_unmatched(session, &record);
		if (record.kind == VG_TIMER_MAPPED)
			vg_walker_mapping_take(&session->walker, &record.mapped);
		if (task != NULL && record.kind == VG_TIMER_EXITED) {
			task->timers.ended_ns = record.time_ns - session->begin_ns;
			session->tasks.stale = true;
		}
		vg_priority_lower(&session->tracer.priority);
	}
	fetched_ns = more || record.time_ns > now_ns ? now_ns : record.time_ns;
	/* Keep the history of intervals for one more fetch: the kernel stores a record some time after the record's own
	 * time. */
	vg_events_history_drop(&session->events, session->timers_fetched_ns);
	session->timers_fetched_ns = fetched_ns > session->begin_ns ? fetched_ns - session->begin_ns : 0;
}
