/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "vignetted/session/recording.h"
#include "vignetted/session/round.h"
#include "vignetted/session/threads.h"
#include "vignetted/session/timer_samples.h"
#include "vignetted/target/access.h"

/* The rings of timers get 1/8 of the helper's memory; the rest is for stacks. */
enum { RINGS_SHARE = 8 };

/* If the first sample fails, it is tried again.  Each wait is FIRST_SAMPLE_RETRY_US longer than the wait before; all
 * waits together take 2 s.  With 0.1 s, one of eight recordings that begin at the same time on a busy machine failed:
 * a helper that gets no CPU holds the thread for that long. */
enum { FIRST_SAMPLE_ATTEMPTS = 100, FIRST_SAMPLE_RETRY_US = 400 };

int vg_session_open(struct vg_session *session, const struct vg_session_options *options,
		    pid_t pid, bool command, struct vg_err *err)
{
	struct utsname machine = { 0 };
	int rc;

	memset(session, 0, sizeof *session);
	for (uint32_t i = 0; i < VG_RECORDINGS_MAX; i++)
		session->recordings[i].index = i;
	session->max_memory_bytes = options->max_memory_bytes ?: VG_MEMORY_DEFAULT_BYTES;
	session->modules.max = VG_MODULES_MAX;
	session->stop_always = options->stop_always;
	session->target.pidfd = -1;
	/* The command does not run before its recording has begun: serve/launch.h has left it stopped. */
	session->tracer = (struct vg_tracer){ .leader = pid, .command = command ? pid : 0,
					      .pending = command ? pid : 0, .schedstat = -1 };
	session->modules.memory = &session->memory;
	session->walker = (struct vg_walker){
		.modules = &session->modules, .memory = &session->memory, .tasks = &session->tasks,
		.priority = &session->tracer.priority,
	};
	vg_priority_begin(&session->tracer.priority);
	session->periods_per_tick = 1;
	session->scheduler_tick_ns = vg_scheduler_tick_ns();
	/* The helper's seccomp filter will forbid uname(2). */
	uname(&machine);
	snprintf(session->machine, sizeof session->machine, "%.31s", machine.machine);
	session->timers.kernel_frames = options->kernel;
	rc = options->kernel ? vg_kernel_symbols_open(&session->kernel, err) : 0;
	if (rc == 0)
		rc = vg_target_open(&session->target, pid, err);
	if (rc == 0)
		vg_tracer_open(&session->tracer);
	return rc;
}

int vg_session_start(struct vg_session *session, const struct vg_session_options *options, struct vg_err *err)
{
	int rc = vg_memory_open(&session->memory, session->target.pid);

	if (rc == 0)
		rc = vg_tasks_open(&session->tasks, session->target.pid);
	if (rc == 0)
		rc = vg_walker_open(&session->walker);
	if (rc != 0)
		return vg_err_sys(err, rc, "process %d", session->target.pid);
	rc = vg_access_check(session->target.pid, err);
	if (rc != 0)
		return rc;
	vg_target_program_read(&session->target);
	session->tasks.max = options->max_threads ?: VG_THREADS_DEFAULT;
	session->begin_ns = vg_now_ns();
	/* The event ring may not fit into the address space, for one of two reasons.  If max_memory_bytes is too small
	 * for the ring, the session begins without events.  Otherwise RLIMIT_AS is too small for it.  Then the session
	 * fails, because events would be lost without a message. */
	if (options->events_fd >= 0)
		rc = vg_events_open(&session->events, options->events_fd, options->events_overwrite);
	if (rc == -ENOMEM && session->max_memory_bytes > 2 * sizeof *session->events.shared)
		return vg_err_set(err, rc, "too little address space (RLIMIT_AS) for the program's events: %zu MiB are "
				  "needed", (sizeof *session->events.shared >> 20) + 1);
	vg_events_begin(&session->events, session->begin_ns);
	vg_ticks_start(&session->ticks, 0, session->begin_ns);
	vg_modules_refresh(&session->modules);
	return 0;
}

/* ---- the schedule ---- */

/* Returns what has happened since the latest decision on the pace, and what bounds the next one. */
static struct vg_pace_load pace_load(const struct vg_session *session, uint64_t now_ns)
{
	struct vg_pace_load load = session->pace.load;

	load.elapsed_ns = now_ns - session->pace.at_ns;
	load.stops = session->pauses.stops - session->pace.stops;
	load.stops -= load.stops < load.queue_stops ? load.stops : load.queue_stops;
	load.found = session->tasks.found - session->pace.found;
	load.unloads = session->modules.ranges.past_total - session->pace.unloads;
	load.counters = session->with_counters != 0;
	load.events = vg_events_are_frequent(&session->events, session->activity.round_ns);
	load.period_ns = vg_session_period_ns(session);
	load.ring_capacity_ns = vg_timers_capacity_ns(&session->timers);
	load.cpu_only = true;
	load.time_left_ns = UINT64_MAX;
	VG_EACH_RECORDING(i, session->live) {
		const struct vg_recording *recording = &session->recordings[i];
		uint64_t end_ns = recording->begin_ns + recording->options.max_duration_ns;
		uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;

		load.cpu_only = load.cpu_only && recording->options.cpu_mode;
		/* Duration limits are checked at ticks. */
		if (recording->options.max_duration_ns != 0 && left_ns < load.time_left_ns)
			load.time_left_ns = left_ns;
	}
	return load;
}

static void pace_begin(struct vg_session *session, uint64_t now_ns)
{
	session->pace.at_ns = now_ns;
	session->pace.stops = session->pauses.stops;
	session->pace.found = session->tasks.found;
	session->pace.unloads = session->modules.ranges.past_total;
	session->pace.load = (struct vg_pace_load){ .period_ns = session->timers.mean_period_ns };
}

/* Decides again how many sampling periods lie between two ticks (policy/policy.h). */
static void pace_decide(struct vg_session *session)
{
	uint64_t now_ns = vg_now_ns();
	struct vg_pace_load load = pace_load(session, now_ns);
	uint32_t periods;

	if (!vg_pace_due(&load, session->periods_per_tick))
		return;
	periods = vg_pace_periods(&load, session->periods_per_tick);
	pace_begin(session, now_ns);
	if (periods == session->periods_per_tick)
		return;
	session->periods_per_tick = periods;
	/* Restart the ticks: otherwise periods of the former length would count as skipped. */
	vg_ticks_restart(&session->ticks, periods * load.period_ns, now_ns);
}

/* Writes the sampling periods to the profiles, if they have changed. */
static void rates_write(struct vg_session *session)
{
	VG_EACH_RECORDING(i, session->live) {
		struct vg_recording *recording = &session->recordings[i];
		uint64_t period_ns = vg_recording_period_ns(session, recording);

		if (recording->options.period_ns == 0 || period_ns == recording->period_now_ns)
			continue;
		recording->period_now_ns = period_ns;
		vg_writer_rate(&recording->recorder.writer, vg_recording_now_ns(recording), period_ns);
	}
}

static void timers_update(struct vg_session *session, uint64_t period_ns)
{
	uint64_t max_bytes = session->max_memory_bytes;
	struct vg_tasks *tasks = &session->tasks;
	struct rlimit memory;

	if (session->stop_always || (period_ns == session->timers.mean_period_ns &&
				     (period_ns == 0 || session->timers.rings != NULL)))
		return;
	if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur < max_bytes)
		max_bytes = memory.rlim_cur;
	VG_EACH_TASK(task, tasks) {
		task->timers.open = false;
		task->timers.policy = (struct vg_policy){ 0 };
	}
	/* If this fails, running threads are stopped instead. */
	vg_timers_open(&session->timers, session->target.pid, tasks->live.items, tasks->live.count, period_ns,
		       max_bytes / RINGS_SHARE);
}

/* Sets ticks, timers and budget after a recording began or stopped.  A session ticks as often as its fastest recording
 * needs, and may cost as much as its largest budget allows. */
static void schedule_update(struct vg_session *session)
{
	uint64_t period_ns = 0, now_ns = vg_now_ns();
	uint32_t ppm = 0;
	bool limited = true;

	session->changed = false;
	session->walker.max_frames = 0;
	VG_EACH_RECORDING(i, session->live) {
		const struct vg_session_options *options = &session->recordings[i].options;

		if (options->max_frames > session->walker.max_frames)
			session->walker.max_frames = options->max_frames;
		if (options->period_ns == 0)
			continue;
		if (period_ns == 0 || options->period_ns < period_ns)
			period_ns = options->period_ns;
		limited = limited && options->budget_ppm != 0;
		if (options->budget_ppm > ppm)
			ppm = options->budget_ppm;
	}
	session->periods_per_tick = 1;
	vg_ticks_restart(&session->ticks, period_ns, now_ns);
	timers_update(session, period_ns);
	pace_begin(session, now_ns);
	vg_budget_change(&session->budget, limited ? ppm : 0, &session->pauses, now_ns);
	rates_write(session);
}

/* ---- ticks ---- */

/* The process may have called execve(2), for example if it was a shell's child at the beginning. */
static void program_update(struct vg_session *session)
{
	if (!vg_target_program_update(&session->target))
		return;
	VG_EACH_RECORDING(i, session->live)
		vg_recording_header_write(&session->recordings[i]);
}

/* Writes the checkpoints that are due: one a second for each recording. */
static void checkpoints_write(struct vg_session *session)
{
	uint64_t now_ns = vg_now_ns();
	bool named = false;

	VG_EACH_RECORDING(i, session->live) {
		if (now_ns < session->recordings[i].next_checkpoint_ns)
			continue;
		if (!named) {
			program_update(session);
			vg_threads_names_read(session);
		}
		named = true;
		/* Find out whether the thread has ended, if it is the process's first thread, which stays in /proc. */
		session->tasks.stale |= session->recordings[i].options.thread != 0;
		vg_recording_checkpoint(session, &session->recordings[i], false);
	}
}

void vg_session_tick(struct vg_session *session)
{
	vg_recording_set due = 0;
	uint64_t skipped;

	if (session->live == 0)
		return;
	skipped = (session->ticks.skipped - session->skipped) * session->periods_per_tick;
	session->skipped = session->ticks.skipped;
	VG_EACH_RECORDING(i, session->live) {
		if (vg_recording_due(&session->recordings[i], &session->ticks, skipped))
			due |= 1u << i;
	}
	vg_round(session, due);
	if (session->live != 0 && vg_budget_check(&session->budget, &session->ticks, session->periods_per_tick,
						  &session->pauses))
		rates_write(session);
	checkpoints_write(session);
	if (session->changed)
		schedule_update(session);
	pace_decide(session);
}

int vg_session_scan(struct vg_session *session)
{
	/* Fetch before the scan, which forgets threads that have exited. */
	vg_walker_round(&session->walker);
	vg_timer_samples_fetch(session);
	return vg_threads_scan(session);
}

int vg_session_sample(struct vg_session *session, struct vg_recording *recording, pid_t tid)
{
	int rc = 0;

	if (tid != 0 && recording->options.thread != 0 && recording->options.thread != tid)
		return -EINVAL;
	session->round.all_now = true;
	if (tid != 0)
		rc = vg_round_thread(session, 1u << recording->index, tid);
	else
		vg_round(session, 1u << recording->index);
	session->round.all_now = false;
	checkpoints_write(session);
	return rc;
}

/* ---- recordings ---- */

/* Finds out why no thread could be read: usually the limit of open files is reached.  Returns 0 if the first thread can
 * be read now, or has exited. */
static int unreadable_reason(struct vg_session *session, struct vg_err *err)
{
	struct vg_task_activity activity;
	int rc = session->tasks.live.count == 0 ? 0 :
		 vg_task_activity_read(&session->tasks, &session->tasks.live.items[0], &activity);

	return rc == 0 || rc == -ESRCH ? 0 :
	       vg_err_sys(err, rc, "process %d: no thread can be read", session->target.pid);
}

static bool is_refused(const struct vg_recorder *recorder)
{
	return vg_permission_is_refused(recorder->losses.samples[VG_LOSS_FORBIDDEN],
					recorder->losses.samples[VG_LOSS_NOT_STOPPED]);
}

/* Takes the first sample.  In a recording on demand, only scans.  If no thread can be sampled, fails with the reason,
 * instead of leaving an empty profile.  It is no failure if other recordings take turns in tracing the thread: later
 * samples are taken between theirs. */
static int first_sample(struct vg_session *session, struct vg_recording *recording,
			struct vg_err *err)
{
	const struct vg_recorder *recorder = &recording->recorder;
	bool taken_turns = false;
	int rc;

	if (recording->options.period_ns == 0) {
		/* Threads that are found later count as new.  If the scan fails, the first sample reports why. */
		vg_session_scan(session);
		return 0;
	}
	for (int attempt = 0; attempt < FIRST_SAMPLE_ATTEMPTS; attempt++) {
		vg_session_sample(session, recording, 0);
		if (recorder->samples > 0 || recording->ended != NULL)
			return 0;
		if (recorder->losses.samples[VG_LOSS_UNREADABLE] > 0)
			return unreadable_reason(session, err);
		if (!is_refused(recorder))
			break;
		/* Retry: another tracer may hold the thread for a moment, and during an execve(2) nobody can attach.
		 * vg_access_check() fails if that tracer stays. */
		taken_turns |= vg_access_tracer(session->target.pid) != 0;
		rc = vg_access_check(session->target.pid, err);
		if (rc != 0)
			return rc;
		usleep((useconds_t)attempt * FIRST_SAMPLE_RETRY_US);
	}
	if (is_refused(recorder) && !taken_turns)
		return vg_access_explain_eperm(session->target.pid, err);
	/* No thread of the command stopped in time.  A thread that gets no CPU does not run before it stops.  So a
	 * patient sample is in time, even if the command needs little CPU time and ends before there is another one.
	 * A process that runs already is not held so long: other recordings of it wait meanwhile. */
	if (session->tracer.command != 0 && recorder->losses.samples[VG_LOSS_NOT_STOPPED] != 0) {
		vg_tracer_pending_wait(&session->tracer);
		session->tracer.is_patient = true;
		vg_session_sample(session, recording, 0);
		session->tracer.is_patient = false;
	}
	return 0;
}

static int counting_begin(struct vg_session *session, struct vg_recording *recording, struct vg_err *err)
{
	size_t open = 0;
	int rc;

	if (recording->counter_set.count == 0)
		return 0;
	VG_EACH_RECORDING(i, session->with_counters)
		open += session->recordings[i].counter_set.open;
	vg_counter_set_begin(&recording->counter_set, &session->tasks, open);
	session->with_counters |= 1u << recording->index;
	/* The scan opens the counters of all threads. */
	rc = vg_session_scan(session);
	if (rc != 0)
		return vg_err_sys(err, rc, "process %d", session->target.pid);
	return vg_counter_set_check(&recording->counter_set, &session->tasks, err);
}

int vg_session_begin(struct vg_session *session, const struct vg_session_options *options, int fd,
		     struct vg_recording **recording, struct vg_err *err)
{
	struct vg_recording *place;
	uint32_t index = 0;
	int rc;

	while (index < VG_RECORDINGS_MAX && (session->open & 1u << index) != 0)
		index++;
	if (index == VG_RECORDINGS_MAX)
		return vg_err_set(err, -EUSERS, "the process has %d recordings already, the most that are possible",
				  VG_RECORDINGS_MAX);
	if (session->exited)
		return vg_err_set(err, -ESRCH, "the process has ended");
	if (options->thread != 0 && !vg_task_is_alive(&session->tasks, options->thread))
		return vg_err_set(err, -ESRCH, "process %d has no thread %d", session->target.pid, options->thread);
	if (options->flight_ns != 0 && options->flight_memory_bytes > session->max_memory_bytes / 2)
		return vg_err_set(err, -EINVAL, "the flight recorder's memory is more than half of the helper's: "
				  "use at most %llu bytes", (unsigned long long)session->max_memory_bytes / 2);
	/* Events up to now are for the other recordings only.  If no other recording is live, the events are
	 * dropped. */
	if (session->live != 0)
		vg_recordings_events_fetch(session, false);
	else
		vg_events_begin(&session->events, session->begin_ns);
	/* The next scan begins the threads' accounts in the new recording.  So it must not be skipped, even if no
	 * thread has run, was created or has exited.  The sleeping threads must be read again, too. */
	session->tasks.stale = true;
	session->activity.unattributed_known = false;
	place = &session->recordings[index];
	rc = vg_recording_open(session, place, options, fd,
			       session->max_memory_bytes / (session->open == 0 ? 1 : VG_RECORDINGS_MAX));
	if (rc != 0) {
		vg_recording_close(session, place);
		return vg_err_sys(err, rc, "cannot write the profile");
	}
	session->live |= 1u << place->index;
	place->number = ++session->begun;
	if (options->max_frames > session->walker.max_frames)
		session->walker.max_frames = options->max_frames;
	rc = counting_begin(session, place, err);
	/* Release the command.  Until then the first sample cannot stop any thread. */
	if (session->tracer.pending != 0 && session->tracer.pending == session->tracer.command)
		vg_tracer_pending_wait(&session->tracer);
	if (rc == 0)
		rc = first_sample(session, place, err);
	schedule_update(session);
	if (rc == 0 && place->failure != 0)
		rc = vg_err_sys(err, place->failure, "cannot write the profile");
	if (rc != 0) {
		vg_recording_close(session, place);
		schedule_update(session);
		return rc;
	}
	*recording = place;
	return 0;
}

/* Completes the file of a stopped recording. */
static void recording_complete(struct vg_session *session, struct vg_recording *recording)
{
	int rc;

	if (recording->failure == 0) {
		vg_threads_names_read(session);
		vg_recording_checkpoint(session, recording, true);
	}
	recording->complete = true;
	vg_priority_lower_now(&session->tracer.priority);
	rc = recording->options.flight_ns != 0 ?
	     vg_flight_dump_final(&recording->flight, recording->recorder.writer.fd, recording->ended,
				  recording->ended_ns) :
	     vg_recorder_finish(&recording->recorder, recording->ended, recording->ended_ns);
	vg_disk_write_begin(&recording->disk, recording->recorder.writer.file_bytes);
	if (rc != 0 && recording->failure == 0)
		vg_recording_fail(session, recording, rc);
	vg_events_recording_end(&session->events, recording->index);
}

int vg_session_end(struct vg_session *session, struct vg_recording *recording, const char *reason)
{
	vg_recording_set own = 1u << recording->index;

	if (recording->complete)
		return recording->failure;
	/* Do a last round, so that weights reach up to the end and unloaded modules are noticed. */
	session->modules_check_due_ns = 0;
	if (recording->ended == NULL && recording->options.period_ns != 0)
		vg_round(session, own);
	if (recording->ended == NULL) {
		program_update(session);
		vg_threads_scan(session);
		vg_recordings_events_fetch(session, session->live == own);
	}
	vg_recording_stop(session, recording, reason);
	/* A thread may have been asked to stop and not have stopped yet.  Wait for it.  If it does not stop in
	 * time, the kernel releases it when we exit. */
	if (session->live == 0)
		vg_tracer_pending_wait(&session->tracer);
	if (recording->failure == 0 && session->live == 0)
		vg_events_finish(&session->events, session->events.profiles[recording->index].until_ns);
	recording_complete(session, recording);
	schedule_update(session);
	return recording->failure;
}

void vg_session_end_all(struct vg_session *session, const char *reason)
{
	VG_EACH_RECORDING(i, session->open)
		vg_session_end(session, &session->recordings[i], reason);
}

void vg_session_end_stopped(struct vg_session *session)
{
	VG_EACH_RECORDING(i, session->open) {
		struct vg_recording *recording = &session->recordings[i];

		if (recording->ended != NULL && !recording->complete)
			vg_session_end(session, recording, recording->ended);
	}
}

void vg_session_close(struct vg_session *session)
{
	VG_EACH_RECORDING(i, session->open)
		vg_recording_close(session, &session->recordings[i]);
	vg_walker_close(&session->walker);
	vg_modules_free(&session->modules);
	vg_kernel_symbols_close(&session->kernel);
	vg_memory_free(&session->memory);
	vg_tasks_close(&session->tasks);
	vg_timers_close(&session->timers);
	vg_events_close(&session->events);
	vg_tracer_close(&session->tracer);
	vg_target_close(&session->target);
}
