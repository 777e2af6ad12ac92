/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/round.h"

#include <errno.h>

#include "vignetted/session/account.h"
#include "vignetted/session/recordings.h"
#include "vignetted/session/thread_sample.h"
#include "vignetted/session/threads.h"
#include "vignetted/session/timer_samples.h"

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
		vg_recordings_stop_all(session, "the process ended");
	}
	VG_EACH_RECORDING(i, session->round.due)
		session->recordings[i].recorder.lost[VG_LOSS_NO_MEMORY] += rc == -ENOMEM;
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
			session->recordings[i].recorder.lost[VG_LOSS_THREAD_LIMIT] += session->tasks.excess;
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
		session->recordings[i].recorder.lost[VG_LOSS_ROUND_TIMEOUT] +=
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

/* Samples the sleeping threads if `sleeping` is true, and the threads that are awake if it is false.  Returns whether
 * the round may continue. */
static bool threads_round(struct vg_session *session, bool sleeping)
{
	size_t count = session->tasks.live.count;
	/* Each round begins with another thread, so that no thread is always the last. */
	size_t at = count > 0 ? session->round.at % count : 0;

	for (size_t i = 0; i < count && (session->live & session->round.due) != 0; i++) {
		struct vg_task *task = &session->tasks.live.items[at];
		uint64_t stops = session->pauses.stops;

		if (task->sleep.is_sleeping == sleeping) {
			/* The priority may still be raised from the stop of an earlier thread. */
			vg_priority_lower(&session->tracer.priority);
			vg_thread_sample(session, task);
			counters_write(session, task, session->pauses.stops - stops);
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
	for (size_t i = session->tasks.live.count - count; i < session->tasks.live.count && session->live != 0; i++) {
		vg_thread_sample(session, &session->tasks.live.items[i]);
		counters_write(session, &session->tasks.live.items[i], 0);
	}
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
			vg_thread_sample(session, task);
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
