/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/round.h"

#include <errno.h>

#include "vignetted/session/account.h"
#include "vignetted/session/recordings.h"
#include "vignetted/session/thread_sample.h"
#include "vignetted/session/threads.h"
#include "vignetted/session/timer_samples.h"

/* Modules that no stack goes through are seen to go this late. */
enum { MODULES_EVERY_NS = 250 * 1000 * 1000 };
enum { LIMITS_EVERY = 16, ROUND_MAX_NS = 1000 * 1000 * 1000 };

static void scan_result(struct vg_session *session, int rc)
{
	if (rc == -ESRCH) {
		vg_recordings_events(session, true);
		session->gone = true;
		vg_recordings_stop_all(session, "the process ended");
	}
	VG_EACH_RECORDING(i, session->round.due)
		session->recordings[i].recorder.lost[VG_LOSS_NO_MEMORY] += rc == -ENOMEM;
}

/* Fetches what came since the last round, and finds who is there. */
static void round_begin(struct vg_session *session)
{
	uint64_t now_ns = vg_session_now_ns(session);
	bool ran;

	vg_walker_round(&session->walker);
	/* There may be many to fetch. */
	if (session->events.shared != NULL)
		vg_priority_rest(&session->tracer.priority);
	ran = vg_activity_begin(&session->activity, &session->target, &session->tasks, now_ns);
	if (ran && now_ns >= session->modules_due_ns) {
		session->modules_due_ns = now_ns + MODULES_EVERY_NS;
		if (!vg_modules_check(&session->modules))
			vg_walker_maps_read(&session->walker);
		vg_recordings_unloads(session, now_ns);
	}
	/* What a ring holds is lost when it is closed. */
	vg_timer_samples_fetch(session);
	scan_result(session, vg_threads_scan_due(session));
	VG_EACH_RECORDING(i, session->round.due) {
		session->recordings[i].recorder.lost[VG_LOSS_THREAD_LIMIT] += session->tasks.over;
		session->recordings[i].tick_count++;
	}
}

/* Whether the round may go on, at that thread.  Signals and what others ask for wait for it to end, and there may be
 * thousands of threads whose unwind information takes 35 ms each to read (walker.c). */
static bool round_check(struct vg_session *session, size_t at)
{
	uint64_t now_ns = vg_now_ns();

	vg_recordings_limits(session, now_ns);
	if (now_ns - session->begin_ns - session->activity.round_ns < ROUND_MAX_NS)
		return true;
	VG_EACH_RECORDING(i, session->live & session->round.due)
		session->recordings[i].recorder.lost[VG_LOSS_OUT_OF_TIME] +=
			session->tasks.live.count - session->round.looked;
	session->round.at = at;
	return false;
}

static void counters_write(struct vg_session *session, struct vg_task *task, uint64_t stops)
{
	VG_EACH_RECORDING(i, session->counting & session->live & task->begun) {
		struct vg_recording *recording = &session->recordings[i];

		/* A reading stands behind its samples. */
		vg_account_settle(recording, task);
		vg_counting_write(recording, task, stops, vg_recording_now_ns(recording));
	}
}

/* Whether the round may go on. */
static bool threads_round(struct vg_session *session, bool asleep)
{
	size_t count = session->tasks.live.count;
	/* Another first one each time, so that no thread is always the one that waits longest. */
	size_t at = count > 0 ? session->round.at % count : 0;

	for (size_t i = 0; i < count && (session->live & session->round.due) != 0; i++) {
		struct vg_task *task = &session->tasks.live.items[at];
		uint64_t stops = session->pauses.stops;

		if (task->sleep.is_asleep == asleep) {
			/* Of thousands that wait, one was stopped. */
			vg_priority_lower(&session->tracer.priority);
			vg_thread_sample(session, task);
			counters_write(session, task, session->pauses.stops - stops);
			/* Now and then: thousands of sleeping threads cost a microsecond each. */
			if (++session->round.looked % LIMITS_EVERY == 0 && !round_check(session, at))
				return false;
		}
		at = at + 1 < count ? at + 1 : 0;
	}
	return true;
}

/* A thread that has ended may have another one in its place: the number of threads, by which scans go, is the same then.
 * Samples those that are new. */
static void successors_round(struct vg_session *session)
{
	uint64_t found = session->tasks.found;
	size_t count;

	if (!session->tasks.stale) {
		/* All answered, so they were the same when the round began. */
		session->scan_ns = session->activity.round_ns;
		return;
	}
	if ((session->live & session->round.due) == 0)
		return;
	scan_result(session, vg_threads_scan(session));
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
	session->round.looked = 0;
	/* What was found of those that are awake is of just now. */
	if (threads_round(session, false))
		threads_round(session, true);
	successors_round(session);
	vg_recordings_limits(session, vg_now_ns());
	session->round.count++;
}
