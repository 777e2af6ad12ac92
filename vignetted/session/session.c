/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "vignetted/session/account.h"
#include "vignetted/session/interrupted.h"
#include "vignetted/session/looks.h"
#include "vignetted/session/pacing.h"
#include "vignetted/session/rates.h"
#include "vignetted/session/sampling.h"
#include "vignetted/session/timers.h"
#include "vignetted/session/walking.h"

/* Modules that no stack goes through are seen to go this late. */
enum { MODULES_EVERY_NS = 250 * 1000 * 1000 };
enum { LIMITS_EVERY = 16, ROUND_MAX_NS = 1000 * 1000 * 1000, FIRST_ATTEMPTS = 50, FIRST_PAUSE_US = 80 };

/* Now: confined, we could not ask. */
static void machine_note(struct vg_session *session)
{
	struct utsname machine = { 0 };

	uname(&machine);
	snprintf(session->machine, sizeof session->machine, "%.31s", machine.machine);
}

int vg_session_open(struct vg_session *session, const struct vg_session_options *options,
		    pid_t pid, bool command, struct vg_err *err)
{
	memset(session, 0, sizeof *session);
	for (uint32_t i = 0; i < VG_RECORDINGS; i++)
		session->recordings[i].index = i;
	session->max_memory_bytes = options->max_memory_bytes ?: VG_MEMORY_DEFAULT_BYTES;
	session->max_name_bytes = options->max_name_bytes ?: VG_NAME_DEFAULT_BYTES;
	session->modules.max = options->max_modules ?: VG_MODULES_MAX_DEFAULT;
	session->stop_always = options->stop_always;
	session->target.pidfd = -1;
	session->tracer = (struct vg_tracer){ .leader = pid, .command = command ? pid : 0 };
	session->modules.memory = &session->memory;
	vg_priority_begin(&session->tracer.priority);
	vg_pacing_begin(session);
	machine_note(session);
	return vg_target_open(&session->target, pid, err);
}

static int parts_open(struct vg_session *session)
{
	int rc = vg_memory_open(&session->memory, session->target.pid);

	if (rc == 0)
		rc = vg_tasks_open(&session->tasks, session->target.pid);
	if (rc == 0)
		rc = vg_unwinder_open(&session->unwinder, &session->modules);
	return rc;
}

int vg_session_start(struct vg_session *session, const struct vg_session_options *options, struct vg_err *err)
{
	int rc = parts_open(session);

	if (rc != 0)
		return vg_err_sys(err, rc, "process %d", session->target.pid);
	rc = vg_target_probe(&session->target, err);
	if (rc != 0)
		return rc;
	session->tasks.max = options->max_threads ?: VG_THREADS_DEFAULT;
	session->begin_ns = vg_now_ns();
	/* A session without events is better than none where that was asked for: by a bound of memory below what they take.
	 * Else it is not, for they would be lost without a word. */
	if (options->events_fd >= 0)
		rc = vg_events_open(&session->events, options->events_fd, options->events_overwrite);
	if (rc == -ENOMEM && session->max_memory_bytes > 2 * sizeof *session->events.shared)
		return vg_err_set(err, rc, "the helper has too little address space (RLIMIT_AS) for the program's events: "
				  "they take %zu MiB of it", (sizeof *session->events.shared >> 20) + 1);
	vg_events_begin(&session->events, session->begin_ns);
	vg_ticks_start(&session->ticks, 0, session->begin_ns);
	vg_budget_start(&session->budget, 0, session->begin_ns);
	vg_modules_refresh(&session->modules);
	return 0;
}

/* ---- a round: one sample of every thread ---- */

static void events_fetch(struct vg_session *session, bool last)
{
	struct vg_events_sink sink = {
		.tasks = &session->tasks, .now_ns = vg_now_ns() - session->begin_ns, .last = last,
	};

	vg_events_drain(&session->events, &sink);
	session->budget.apart_ns = session->events.cpu_ns;
}

void vg_session_events(struct vg_session *session)
{
	if (session->live != 0)
		events_fetch(session, false);
}

/* Threads that came and went since the last round. */
int vg_session_scan(struct vg_session *session)
{
	uint64_t now_ns = vg_now_ns() - session->begin_ns;
	int scanned = vg_tasks_scan(&session->tasks);

	/* The kernel's list may be empty for a moment, while a thread that is not the first executes a
	 * program and takes that one's place. */
	if (scanned == -ESRCH && !vg_target_ended(&session->target, 0)) {
		session->tasks.stale = true;
		return 0;
	}
	for (size_t i = 0; scanned == 0 && i < session->tasks.live.count; i++) {
		struct vg_task *task = &session->tasks.live.items[i];

		if (task->seen && (session->live & ~task->begun) != 0)
			vg_account_begin(session, task, now_ns);
	}
	/* While those that are gone are still known. */
	vg_session_events(session);
	/* Of a process that is gone the threads are too, and what they have not told yet is due. */
	for (size_t i = 0; i < session->tasks.live.count; i++) {
		struct vg_task *task = &session->tasks.live.items[i];

		if (!task->seen)
			vg_account_end(session, task, now_ns);
	}
	vg_tasks_sweep(&session->tasks);
	session->scan_ns = now_ns;
	return scanned;
}

static void limits_check(struct vg_session *session, uint64_t now_ns)
{
	VG_EACH_RECORDING(i, session->live)
		vg_recording_limits(session, &session->recordings[i], now_ns);
}

static void all_stop(struct vg_session *session, const char *reason)
{
	VG_EACH_RECORDING(i, session->live)
		vg_recording_stop(session, &session->recordings[i], reason);
}

/* Fetches what came since the last round, and sees who is there. */
static void round_begin(struct vg_session *session)
{
	uint64_t now_ns = vg_now_ns() - session->begin_ns;
	int rc;

	session->round_ns = now_ns;
	session->maps_fresh = false;
	vg_modules_doubt(&session->modules);
	if (vg_looks_begin(session) && now_ns >= session->modules_due_ns) {
		session->modules_due_ns = now_ns + MODULES_EVERY_NS;
		if (!vg_modules_check(&session->modules))
			vg_walk_modules(session, now_ns);
	}
	/* What a ring holds is lost when it is closed. */
	vg_interrupted_fetch(session);
	rc = vg_looks_scan(session);
	vg_timers_weigh(session);
	if (rc == -ESRCH) {
		events_fetch(session, true);
		session->gone = true;
		all_stop(session, "the process ended");
	}
	VG_EACH_RECORDING(i, session->due) {
		struct vg_recorder *recorder = &session->recordings[i].recorder;

		recorder->lost[VG_LOSS_NO_MEMORY] += rc == -ENOMEM;
		recorder->lost[VG_LOSS_THREAD_LIMIT] += session->tasks.over;
		session->recordings[i].tick_count++;
	}
}

static void checkpoints(struct vg_session *session)
{
	uint64_t now_ns = vg_now_ns();

	VG_EACH_RECORDING(i, session->live) {
		if (now_ns >= session->recordings[i].checkpoint_ns)
			vg_recording_checkpoint(session, &session->recordings[i], false);
	}
}

/* Whether the round may go on, at that thread.  Signals and what others ask for wait for it to end, and there may be
 * thousands of threads whose unwind information takes 35 ms each to read (walking.c). */
static bool round_check(struct vg_session *session, size_t at)
{
	uint64_t now_ns = vg_now_ns();

	limits_check(session, now_ns);
	if (now_ns - session->begin_ns - session->round_ns < ROUND_MAX_NS)
		return true;
	VG_EACH_RECORDING(i, session->live & session->due)
		session->recordings[i].recorder.lost[VG_LOSS_OUT_OF_TIME] +=
			session->tasks.live.count - session->round_looked;
	session->round_at = at;
	return false;
}

/* Whether the round may go on. */
static bool threads_round(struct vg_session *session, bool asleep)
{
	size_t count = session->tasks.live.count;
	/* Another first one each time, so that no thread is always the one that waits longest. */
	size_t at = count > 0 ? session->round_at % count : 0;

	for (size_t i = 0; i < count && (session->live & session->due) != 0; i++) {
		struct vg_task *task = &session->tasks.live.items[at];
		uint64_t stops = session->pauses.stops;

		if (task->asleep == asleep) {
			vg_sampling_thread(session, task);
			if (session->counting != 0)
				vg_counting_tell(session, task, session->pauses.stops - stops);
			/* Now and then: thousands of sleeping threads cost a microsecond each. */
			if (++session->round_looked % LIMITS_EVERY == 0 && !round_check(session, at))
				return false;
		}
		at = at + 1 < count ? at + 1 : 0;
	}
	return true;
}

static void session_round(struct vg_session *session, vg_recording_set due)
{
	session->due = due & session->live;
	if (session->due == 0)
		return;
	round_begin(session);
	session->round_at++;
	session->round_looked = 0;
	/* What was found of those that are awake is of just now. */
	if (threads_round(session, false))
		threads_round(session, true);
	limits_check(session, vg_now_ns());
	session->round_count++;
}

void vg_session_tick(struct vg_session *session)
{
	vg_recording_set due = 0;

	if (session->live == 0)
		return;
	session->skipped_now = session->ticks.skipped - session->skipped_before;
	session->skipped_before = session->ticks.skipped;
	VG_EACH_RECORDING(i, session->live) {
		if (vg_recording_due(session, &session->recordings[i]))
			due |= 1u << i;
	}
	session_round(session, due);
	if (session->live != 0 && vg_budget_check(&session->budget, &session->ticks, session->fetch_periods,
						  &session->pauses))
		vg_rates_tell(session);
	vg_events_forget(&session->events);
	checkpoints(session);
	if (session->changed)
		vg_rates_follow(session);
	vg_pacing_adapt(session);
}

void vg_session_sample(struct vg_session *session, struct vg_recording *recording)
{
	session->all_now = true;
	session_round(session, 1u << recording->index);
	session->all_now = false;
	vg_events_forget(&session->events);
	checkpoints(session);
}

/* ---- recordings ---- */

/* Why no thread can be looked at: most often for want of descriptors. */
static int unreadable(struct vg_session *session, struct vg_err *err)
{
	struct vg_task_look look;
	int rc = session->tasks.live.count == 0 ? 0 :
		 vg_task_look(&session->tasks, &session->tasks.live.items[0], &look);

	return rc == 0 || rc == -ESRCH ? 0 :
	       vg_err_sys(err, rc, "no thread of process %d can be read", session->target.pid);
}

/* The first sample.  Nothing at all could be sampled: say so now, rather than leave an empty
 * profile. */
static int first_sample(struct vg_session *session, struct vg_recording *recording,
			struct vg_err *err)
{
	const struct vg_recorder *recorder = &recording->recorder;
	int rc;

	if (recording->options.period_ns == 0)
		return 0;
	for (int attempt = 0; attempt < FIRST_ATTEMPTS; attempt++) {
		vg_session_sample(session, recording);
		if (recorder->samples > 0 || recording->ended != NULL)
			return 0;
		if (recorder->lost[VG_LOSS_UNREADABLE] > 0)
			return unreadable(session, err);
		if (recorder->lost[VG_LOSS_FORBIDDEN] == 0)
			return 0;
		/* For moments another recorder has it, and one that executes a program lets nobody in. */
		rc = vg_target_probe(&session->target, err);
		if (rc != 0)
			return rc;
		usleep((useconds_t)attempt * FIRST_PAUSE_US);
	}
	return vg_target_forbidden(&session->target, err);
}

static struct vg_recording *place_find(struct vg_session *session, uint32_t *taken)
{
	struct vg_recording *place = NULL;

	*taken = 0;
	for (uint32_t i = VG_RECORDINGS; i-- > 0;) {
		if (session->recordings[i].open)
			++*taken;
		else
			place = &session->recordings[i];
	}
	return place;
}

int vg_session_begin(struct vg_session *session, const struct vg_session_options *options, int fd,
		     struct vg_recording **recording, struct vg_err *err)
{
	uint32_t taken;
	struct vg_recording *place = place_find(session, &taken);
	int rc;

	if (place == NULL)
		return vg_err_set(err, -EUSERS, "the process has %d sessions, the most that there can be",
				  VG_RECORDINGS);
	if (session->gone)
		return vg_err_set(err, -ESRCH, "the process has ended");
	if (options->flight_ns != 0 && options->flight_memory_bytes > session->max_memory_bytes / 2)
		return vg_err_set(err, -EINVAL, "the flight recorder would take more than half of the "
				  "memory that the helper may use");
	/* What came before is the others', or nobody's. */
	if (session->live != 0) {
		vg_session_events(session);
	} else {
		vg_events_begin(&session->events, session->begin_ns);
		session->tasks.stale = true;
	}
	/* It is to be told of all threads. */
	session->rest_known = false;
	rc = vg_recording_open(session, place, options, fd, taken == 0 ? 1 : VG_RECORDINGS);
	if (rc != 0) {
		vg_recording_close(session, place);
		return vg_err_sys(err, rc, "cannot write the profile");
	}
	session->live |= 1u << place->index;
	place->number = ++session->begun;
	if (options->max_frames > session->max_frames)
		session->max_frames = options->max_frames;
	rc = vg_counting_begin(session, place, err);
	if (rc == 0)
		rc = first_sample(session, place, err);
	vg_rates_follow(session);
	if (rc == 0 && place->failure != 0)
		rc = vg_err_sys(err, place->failure, "cannot write the profile");
	if (rc != 0) {
		vg_recording_close(session, place);
		vg_rates_follow(session);
		return rc;
	}
	*recording = place;
	return 0;
}

int vg_session_end(struct vg_session *session, struct vg_recording *recording, const char *reason)
{
	vg_recording_set own = 1u << recording->index;

	if (recording->complete)
		return recording->failure;
	/* A last round, so that weights reach to the end. */
	session->modules_due_ns = 0;
	if (recording->ended == NULL && recording->options.period_ns != 0)
		session_round(session, own);
	if (recording->ended == NULL) {
		vg_session_scan(session);
		events_fetch(session, session->live == own);
	}
	vg_recording_stop(session, recording, reason);
	/* A thread that was asked to stop and has not is let go when it does, or when we exit. */
	if (session->live == 0)
		vg_tracer_finish(&session->tracer);
	if (recording->failure == 0 && session->live == 0)
		vg_events_finish(&session->events);
	vg_recording_finish(session, recording);
	vg_rates_follow(session);
	return recording->failure;
}

void vg_session_end_all(struct vg_session *session, const char *reason)
{
	for (uint32_t i = 0; i < VG_RECORDINGS; i++) {
		if (session->recordings[i].open)
			vg_session_end(session, &session->recordings[i], reason);
	}
}

void vg_session_end_stopped(struct vg_session *session)
{
	for (uint32_t i = 0; i < VG_RECORDINGS; i++) {
		struct vg_recording *recording = &session->recordings[i];

		if (recording->open && recording->ended != NULL && !recording->complete)
			vg_session_end(session, recording, recording->ended);
	}
}

void vg_session_release(struct vg_session *session, struct vg_recording *recording)
{
	vg_recording_close(session, recording);
}

void vg_session_close(struct vg_session *session)
{
	for (uint32_t i = 0; i < VG_RECORDINGS; i++)
		vg_recording_close(session, &session->recordings[i]);
	vg_unwinder_free(session->unwinder);
	vg_modules_free(&session->modules);
	vg_memory_free(&session->memory);
	vg_tasks_close(&session->tasks);
	vg_interrupts_close(&session->interrupts);
	vg_events_close(&session->events);
	vg_snapshot_free(&session->snapshot);
	vg_walk_free(&session->walk);
	vg_target_close(&session->target);
}
