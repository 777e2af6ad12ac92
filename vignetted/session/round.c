/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/round.h"

#include <errno.h>
#include <stdatomic.h>

#include "vignetted/capture/stack.h"
#include "vignetted/session/account.h"
#include "vignetted/session/recording.h"
#include "vignetted/session/threads.h"
#include "vignetted/session/timer_samples.h"

/* Stopping a sleeping thread adds two timeslices: it wakes to stop, and again to resume its call. */
enum { SLICES_PER_STOP = 2 };

/* When a scan has found a thread running, the thread is assumed to run for this time.  Reading whether a thread waits
 * takes longer than some threads live. */
enum { FOUND_RUNNING_NS = 500 * 1000 };

/* Threads are named soon after they are created: below this CPU time, the name is read at each sample for which the
 * thread has run. Later it is read once a second. A number of samples in place of CPU time would be used up while a
 * busy machine lets the thread wait for a CPU. */
enum { NAMELESS_CPU_NS = 10 * 1000 * 1000 };

/* ---- which recordings need what ---- */

static struct vg_clocks clocks_of(const struct vg_task *task, uint64_t time_ns)
{
	return (struct vg_clocks){
		.time_ns = time_ns, .cpu_ns = task->activity.cpu_ns, .queued_ns = task->activity.queued_ns,
	};
}

static vg_recording_set cpu_only_in(const struct vg_recording *recordings, vg_recording_set set)
{
	vg_recording_set cpu_only = 0;

	VG_EACH_RECORDING(i, set)
		cpu_only |= (uint32_t)recordings[i].options.cpu_mode << i;
	return cpu_only;
}

/* Whether the thread is in another interval than at its latest sample.  Its count of timeslices may be one scheduler
 * tick old, and a changed interval proves that it has run. */
static bool interval_changed(const struct vg_events *events, const struct vg_task *task,
			     const _Atomic uint64_t *token_address)
{
	return token_address != NULL &&
	       vg_events_token_check(events, task, atomic_load_explicit(token_address, memory_order_relaxed)) !=
	       task->latest.interval;
}

/* Returns the recordings of the set that get a repeat of the thread's latest sample. */
static vg_recording_set repeats_in(const struct vg_recording *recordings, const struct vg_task *task,
				   vg_recording_set set, bool same_interval)
{
	vg_recording_set repeats = 0;

	VG_EACH_RECORDING(i, set) {
		const struct vg_repeat_facts facts = {
			.timeslices = task->activity.timeslices,
			.stack_timeslices = task->latest.timeslices,
			.passed_timeslices = task->latest.passed_timeslices,
			.same_interval = same_interval, .any_stack = task->latest.number != 0,
			.has_stack = vg_account_has_latest(&recordings[i], task),
			.cpu_only = recordings[i].options.cpu_mode,
		};

		repeats |= (uint32_t)vg_repeats(&facts) << i;
	}
	return repeats;
}

/* ---- what recordings write ---- */

/* Adds one repeat for each sampling period of the recording between two ticks. */
static void repeat(struct vg_session *session, vg_recording_set set, struct vg_task *task,
		   const struct vg_clocks *clocks)
{
	VG_EACH_RECORDING(i, set) {
		struct vg_recording *recording = &session->recordings[i];
		uint64_t tick_ns = session->ticks.period_ns, period_ns = vg_recording_period_ns(session, recording);
		/* A recording on demand gets one repeat. */
		uint32_t count = recording->options.period_ns != 0 && period_ns < tick_ns ?
				 (uint32_t)(tick_ns / period_ns) : 1;
		struct vg_weight_pair weights = vg_weights_sample(&task->accounts[i].weights, clocks,
								  VG_THREAD_WAITING);

		vg_account_repeat(recording, task, count, clocks->time_ns, &weights);
	}
}

/* Returns the CPU time that is added to the first running sample of a thread (policy/weights.h). */
static uint64_t first_cpu_ns(const struct vg_activity *activity, const struct vg_recording *recording,
			     struct vg_weights *weights, uint64_t cpu_ns)
{
	uint64_t process_ns = vg_recording_cpu_used_ns(recording, activity->process_cpu_ns);
	uint64_t sampled_ns = recording->recorder.cpu_ns + cpu_ns, period_ns = recording->options.period_ns;
	/* With thousands of threads, a round takes longer than a period, and a thread gets one sample a round. */
	uint64_t round_distance_ns = activity->previous_round_ns != 0 ?
				     activity->round_ns - activity->previous_round_ns : 0;

	return vg_weights_first_running(weights, cpu_ns,
					round_distance_ns > period_ns ? round_distance_ns : period_ns,
					process_ns > sampled_ns ? process_ns - sampled_ns : 0);
}

static void deliver(struct vg_session *session, vg_recording_set set, struct vg_task *task,
		    const struct vg_thread_stack *stack, enum vg_thread_state state)
{
	struct vg_clocks clocks = clocks_of(task, stack->time_ns - session->begin_ns);
	struct vg_new_sample sample = {
		.walk = stack->walk, .call = stack->call, .time_ns = clocks.time_ns,
		.interval = vg_events_token_check(&session->events, task, stack->token_value),
	};

	if (set == 0)
		return;
	/* A stack that was copied for some recordings, while others could repeat it, is the same stack. */
	if (task->latest.number == 0 || task->latest.timeslices != stack->timeslices ||
	    task->latest.interval != sample.interval)
		task->latest.number = ++task->latest.count;
	task->latest.timeslices = stack->timeslices;
	task->latest.time_ns = clocks.time_ns;
	task->latest.interval = sample.interval;
	sample.number = task->latest.number;
	VG_EACH_RECORDING(i, set) {
		struct vg_weight_pair weights = vg_weights_sample(&task->accounts[i].weights, &clocks, state);

		weights.own.cpu_ns += first_cpu_ns(&session->activity, &session->recordings[i],
						   &task->accounts[i].weights, weights.own.cpu_ns);
		vg_account_sample(&session->recordings[i], task, &session->events, &sample, &weights);
	}
}

/* ---- the two methods that copy a stack ---- */

/* Samples a waiting thread without a stop.  Returns true if the thread must be stopped instead. */
static bool wait_sample(struct vg_session *session, struct vg_task *task, vg_recording_set set, struct vg_wait *wait,
			const _Atomic uint64_t *token_address)
{
	uint64_t now_ns = vg_session_now_ns(session);
	struct vg_thread_stack stack;
	enum vg_read read = vg_stack_read(&session->walker, &session->tracer, task, wait, token_address, &stack);

	vg_recordings_unloads_write(session, now_ns);
	VG_EACH_RECORDING(i, set) {
		session->recordings[i].recorder.copies_discarded += stack.discarded;
		session->recordings[i].recorder.reads_without_stop += read == VG_READ_TAKEN;
	}
	if (read == VG_READ_TAKEN)
		deliver(session, set, task, &stack, VG_THREAD_WAITING);
	else if (read == VG_READ_UNREADABLE)
		vg_recordings_count_loss(session->recordings, set, VG_LOSS_UNREADABLE);
	return read == VG_READ_NEEDS_STOP;
}

/* Returns the recordings of `set` that take a sample of a thread that a stop found in this state. */
static vg_recording_set stop_takers(const struct vg_session *session, vg_recording_set set,
				    struct vg_task *task, enum vg_thread_state state, bool in_call)
{
	vg_recording_set takers = 0;

	if (state == VG_THREAD_QUEUED)
		return set & ~cpu_only_in(session->recordings, set);
	/* A stop for queue time gives no sample of a thread that was not queued: timers sample its time on a CPU. */
	if (task->timers.queue_due)
		return 0;
	if (state != VG_THREAD_RUNNING || !task->timers.kernel_due)
		return set;
	VG_EACH_RECORDING(i, set) {
		uint64_t period_ns = vg_recording_period_ns(session, &session->recordings[i]);

		takers |= (uint32_t)vg_weights_kernel_takes(&task->accounts[i].weights, period_ns, in_call) << i;
	}
	task->timers.kernel_stops += takers == 0;
	return takers;
}

static void stop_sample(struct vg_session *session, struct vg_task *task, vg_recording_set set, bool was_waiting,
			const _Atomic uint64_t *token_address)
{
	uint64_t now_ns = vg_session_now_ns(session), timeslices = task->activity.timeslices;
	struct vg_thread_stack stack;
	enum vg_thread_state state;
	enum vg_capture capture = vg_stack_read_stopped(&session->walker, &session->tracer, &session->pauses, task,
							token_address, &stack);

	vg_recordings_unloads_write(session, now_ns);
	switch (capture) {
	case VG_CAPTURE_TAKEN:
		if (was_waiting && stack.stop.waits)
			stack.timeslices += SLICES_PER_STOP;
		if (was_waiting && task->latest.timeslices == timeslices)
			task->latest.timeslices = stack.timeslices;
		if (was_waiting && task->latest.passed_timeslices == timeslices)
			task->latest.passed_timeslices = stack.timeslices;
		stack.stop.was_waiting = was_waiting;
		state = vg_stop_state(&stack.stop);
		deliver(session, stop_takers(session, set, task, state, stack.in_call), task, &stack, state);
		return;
	case VG_CAPTURE_EXITED:
		vg_threads_exited(session, task);
		return;
	case VG_CAPTURE_PENDING:
		if (!task->timers.queue_due)
			vg_recordings_count_loss(session->recordings, set, VG_LOSS_NOT_STOPPED);
		return;
	case VG_CAPTURE_FORBIDDEN:
		/* PTRACE_SEIZE also fails with EPERM if the thread is exiting. */
		if (vg_task_is_alive(&session->tasks, task->tid))
			vg_recordings_count_loss(session->recordings, set, VG_LOSS_FORBIDDEN);
		return;
	case VG_CAPTURE_FAILED:
		vg_recordings_count_loss(session->recordings, set, VG_LOSS_UNREADABLE);
		return;
	}
}

/* ---- the sample ---- */

/* Takes one sample of one thread for the recordings of the round: reads its activity, chooses the method
 * (policy/policy.h), copies and walks its stack, and writes the sample.  If the sample fails, counts a loss. */
static void thread_sample(struct vg_session *session, struct vg_task *task)
{
	/* Of the recordings that are due: those that repeat the latest stack; that the timers serve; that need a stack;
	 * and that of those record waiting threads, too. */
	vg_recording_set due = session->round.due & session->live & task->in_profiles, repeats, covered, needs, wall;
	const _Atomic uint64_t *token_address;
	struct vg_clocks clocks;
	struct vg_wait wait = { .running = true };
	int rc;

	/* An exiting thread is not read, so only a scan can notice its exit. */
	session->tasks.stale |= task->exiting;
	if (due == 0 || task->untraceable || task->exiting)
		return;
	rc = vg_activity_read(&session->activity, &session->tasks, task);
	if (rc == -ESRCH)
		vg_threads_exited(session, task);
	else if (rc != 0)
		vg_recordings_count_loss(session->recordings, due, VG_LOSS_UNREADABLE);
	if (rc != 0)
		return;
	clocks = clocks_of(task, vg_session_now_ns(session));
	VG_EACH_RECORDING(i, due) {
		vg_weights_observe(&task->accounts[i].weights, &clocks);
		vg_recording_thread_cpu(&session->recordings[i], task->activity.cpu_ns);
	}
	covered = vg_timer_samples_decide(session, task, due, clocks.time_ns);
	token_address = vg_events_token_address(&session->events, task);
	repeats = repeats_in(session->recordings, task, due,
			     !interval_changed(&session->events, task, token_address));
	repeat(session, repeats, task, &clocks);
	needs = due & ~repeats;
	if (needs == 0)
		return;
	if (task->found_running_ns == 0 || vg_now_ns() - task->found_running_ns >= FOUND_RUNNING_NS)
		vg_wait_read(&wait, &session->tasks, task);
	task->found_running_ns = 0;
	session->activity.awake_current = false;
	task->ran = true;
	if (task->activity.cpu_ns < NAMELESS_CPU_NS)
		vg_threads_name_read(session, task, clocks.time_ns);
	/* Until the thread runs, recordings of CPU time need not read its wait again. */
	if (!wait.running)
		task->latest.passed_timeslices = task->activity.timeslices;
	wall = needs & ~cpu_only_in(session->recordings, needs);
	if (wait.running) {
		VG_EACH_RECORDING(i, needs & covered)
			vg_weights_running(&task->accounts[i].weights);
	}
	switch (vg_method_choose(wait.running, (needs & ~covered) == 0, wall == 0)) {
	case VG_METHOD_PASS:
	case VG_METHOD_TIMER:
		return;
	case VG_METHOD_READ:
		if (wait_sample(session, task, wall, &wait, token_address))
			stop_sample(session, task, wall, true, token_address);
		return;
	case VG_METHOD_STOP:
		stop_sample(session, task, needs & ~covered, false, token_address);
		return;
	}
}

/* ---- the round ---- */

/* How often the marks of all modules are read.  The unloading of a module that is in no stack is noticed within this
 * time. */
enum { MODULES_CHECK_PERIOD_NS = 250 * 1000 * 1000 };

/* Threads between two checks of the limits; and the longest round. */
enum { LIMITS_CHECK_THREADS = 16, ROUND_MAX_NS = 1000 * 1000 * 1000 };

/* Attempts to find a new thread: see vg_round_thread(). */
enum { NEW_THREAD_ATTEMPTS = 4 };

static void scan_result_apply(struct vg_session *session, int rc)
{
	if (rc == -ESRCH) {
		vg_recordings_events_fetch(session, true);
		session->exited = true;
		VG_EACH_RECORDING(i, session->live)
			vg_recording_stop(session, &session->recordings[i], "the process ended");
	}
	if (rc == -ENOMEM)
		vg_recordings_count_loss(session->recordings, session->round.due, VG_LOSS_NO_MEMORY);
}

/* If `ran`, a thread has run since the latest call.  Notices unloaded modules, if that is due. */
static void modules_check(struct vg_session *session, bool ran, uint64_t now_ns)
{
	if (!ran || now_ns < session->modules_check_due_ns)
		return;
	session->modules_check_due_ns = now_ns + MODULES_CHECK_PERIOD_NS;
	if (!vg_modules_check(&session->modules))
		vg_walker_maps_read(&session->walker);
	vg_recordings_unloads_write(session, now_ns);
}

/* Fetches timer samples and events, and finds the threads. */
static void round_begin(struct vg_session *session)
{
	uint64_t now_ns = vg_session_now_ns(session);

	vg_walker_round(&session->walker);
	/* Lower the priority first, because fetching many events takes long. */
	if (session->events.shared != NULL)
		vg_priority_lower_now(&session->tracer.priority);
	modules_check(session, vg_activity_begin(&session->activity, &session->target, &session->tasks, now_ns),
		      now_ns);
	/* Fetch before the scan, which forgets threads that have exited. */
	vg_timer_samples_fetch(session);
	scan_result_apply(session, vg_threads_scan_if_due(session));
	VG_EACH_RECORDING(i, session->round.due) {
		if (session->recordings[i].options.thread == 0)
			session->recordings[i].recorder.losses.samples[VG_LOSS_THREAD_LIMIT] += session->tasks.excess;
	}
}

/* Checks the limits of recordings.  Returns whether the round may continue after the thread at index `at`.  A round has
 * a time limit, because signals and requests wait until it ends.  There may be thousands of threads, and the unwind
 * information of each one may take 35 ms to read (walker.c), and of one of them twice as long. */
static bool round_check(struct vg_session *session, size_t at)
{
	uint64_t now_ns = vg_now_ns();

	vg_recordings_limits_check(session, now_ns);
	if (now_ns - session->begin_ns - session->activity.round_ns < ROUND_MAX_NS)
		return true;
	VG_EACH_RECORDING(i, session->live & session->round.due)
		session->recordings[i].recorder.losses.samples[VG_LOSS_ROUND_TIMEOUT] +=
			session->tasks.live.count - session->round.visited;
	session->round.at = at;
	return false;
}

static void counters_write(struct vg_session *session, struct vg_task *task, uint64_t stops)
{
	VG_EACH_RECORDING(i, session->with_counters & session->live & task->in_profiles) {
		struct vg_recording *recording = &session->recordings[i];

		/* Write the sample first: in a profile, a reading of counters follows its sample. */
		vg_account_flush(recording, task);
		vg_counter_set_thread_write(&recording->counter_set, &recording->recorder.writer, task,
					    &task->accounts[i], stops, vg_recording_now_ns(recording));
	}
}

/* Takes one thread's turn of the round. */
static void thread_turn(struct vg_session *session, struct vg_task *task)
{
	uint64_t stops = session->pauses.stops;

	thread_sample(session, task);
	counters_write(session, task, session->pauses.stops - stops);
	vg_recordings_segments_check(session);
}

/* Samples the sleeping threads if `sleeping` is true, and the threads that are awake if it is false.  Returns whether
 * the round may continue. */
static bool threads_round(struct vg_session *session, bool sleeping)
{
	size_t count = session->tasks.live.count;
	/* Each round begins with another thread, so that no thread is always the last. */
	size_t at = count > 0 ? session->round.at % count : 0;

	for (size_t i = 0; i < count && (session->live & session->round.due) != 0; i++) {
		struct vg_task *task = &session->tasks.live.items[at];

		if (task->sleep.is_sleeping == sleeping) {
			/* The priority may still be raised from the stop of an earlier thread. */
			vg_priority_lower(&session->tracer.priority);
			thread_turn(session, task);
			/* Do not check the limits after each thread: a check costs as much as sampling a sleeping
			 * thread. */
			if (++session->round.visited % LIMITS_CHECK_THREADS == 0 && !round_check(session, at))
				return false;
		}
		at = at + 1 < count ? at + 1 : 0;
	}
	return true;
}

/* If a thread exits and another one is created, the number of threads is unchanged, and the scan at the begin of the
 * round may have missed both.  So if the round noticed an exit, scans again, and samples the new threads. */
static void new_threads_round(struct vg_session *session)
{
	uint64_t found = session->tasks.found;
	size_t count;

	if (!session->tasks.stale) {
		/* No thread has exited, so the list was complete when the round began. */
		session->scan_ns = session->activity.round_ns;
		return;
	}
	if ((session->live & session->round.due) == 0)
		return;
	scan_result_apply(session, vg_threads_scan(session));
	count = (size_t)(session->tasks.found - found);
	for (size_t i = session->tasks.live.count - count; i < session->tasks.live.count && session->live != 0; i++)
		thread_turn(session, &session->tasks.live.items[i]);
}

void vg_round(struct vg_session *session, vg_recording_set due)
{
	session->round.due = due & session->live;
	if (session->round.due == 0)
		return;
	round_begin(session);
	session->round.at++;
	session->round.visited = 0;
	/* First the threads that are awake, because their activities have just been read. */
	if (threads_round(session, false))
		threads_round(session, true);
	new_threads_round(session);
	vg_timer_samples_round_end(session);
	vg_recordings_limits_check(session, vg_now_ns());
	session->round.count++;
}

/* Returns the thread, or NULL if it is not known or has exited. */
static struct vg_task *live_find(struct vg_tasks *tasks, pid_t tid)
{
	size_t hint = 0;
	struct vg_task *task = vg_tasks_find(tasks, tid, &hint);

	return task == NULL || task->exited || task->exiting || task->untraceable ? NULL : task;
}

int vg_round_thread(struct vg_session *session, vg_recording_set due, pid_t tid)
{
	uint64_t now_ns = vg_session_now_ns(session), stops = session->pauses.stops;
	struct vg_task *task = NULL;

	session->round.due = due & session->live;
	if (session->round.due == 0)
		return 0;
	if (!vg_task_is_alive(&session->tasks, tid))
		return -ESRCH;
	vg_walker_round(&session->walker);
	vg_activity_expire(&session->activity, now_ns);
	modules_check(session, true, now_ns);
	vg_timer_samples_fetch(session);
	/* A scan finds a new thread.  If an exited thread had the same tid, the first scan removes that one.  The read
	 * of the thread's activity may be the first to notice this. */
	for (int attempt = 0; attempt < NEW_THREAD_ATTEMPTS; attempt++) {
		task = live_find(&session->tasks, tid);
		if (task != NULL)
			thread_sample(session, task);
		if (task != NULL && !task->exited && !task->exiting)
			break;
		session->tasks.stale = true;
		scan_result_apply(session, vg_threads_scan(session));
		task = NULL;
	}
	if (task != NULL)
		counters_write(session, task, session->pauses.stops - stops);
	vg_recordings_limits_check(session, vg_now_ns());
	session->round.count++;
	if (task != NULL)
		return 0;
	return session->tasks.excess > 0 && vg_task_is_alive(&session->tasks, tid) ? -ENOSPC : -ESRCH;
}
