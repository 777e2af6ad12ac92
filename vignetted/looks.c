/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/looks.h"

/* So long must a thread have slept to be taken for one that goes on sleeping. */
static const uint64_t ASLEEP_NS = 1000000000;

/* Rounds to pass over after as many in a row in which a sleeper had run, or seemed to. */
enum { VAIN_MAX = 16 };

/*
 * Threads that live shorter than from one scan to the next are met by chance, and stand for all that time.
 * In a crowd of them scans are farther apart: to find one, look at it and stop it costs as much as several
 * of them live.  What counts are those that were found, of which each scan forgets a share: where every
 * second scan finds one, that is a crowd.
 */
enum { CROWD = 8, NEWCOMERS_MAX = 32, FORGET_SHARE = 16 };

static int look_read(struct vg_session *session, struct vg_task *task)
{
	const struct vg_task_look before = task->look;
	int rc = vg_task_look(&session->tasks, task, &task->look);

	if (rc != 0)
		return rc;
	task->looked_ns = session->round_ns;
	if (before.slices != 0) {
		session->switches += task->look.slices - before.slices;
		session->looked_cpu_ns += task->look.cpu_ns - before.cpu_ns;
	}
	if (task->look.slices != before.slices)
		task->moved_ns = session->round_ns;
	/* It was among the rest, in which this was found. */
	if (task->asleep)
		session->rest_ns -= task->look.cpu_ns - before.cpu_ns;
	return 0;
}

static size_t awake_count(struct vg_session *session)
{
	struct vg_tasks *tasks = &session->tasks;
	size_t awake = 0;

	for (size_t i = 0; i < tasks->live.count; i++) {
		struct vg_task *task = &tasks->live.items[i];

		task->asleep = task->look.slices != 0 &&
			       session->round_ns - task->moved_ns >= ASLEEP_NS;
		awake += !task->asleep;
	}
	return awake;
}

/* Looks at the threads that are awake.  0 with the processor time of the others, those that have
 * ended among them; or a negative errno. */
static int rest_read(struct vg_session *session, uint64_t *rest_ns)
{
	struct vg_tasks *tasks = &session->tasks;

	*rest_ns = session->target_cpu_ns;
	for (size_t i = 0; i < tasks->live.count; i++) {
		struct vg_task *task = &tasks->live.items[i];
		int rc = task->asleep ? 0 : look_read(session, task);

		if (rc != 0)
			return rc;
		*rest_ns -= task->look.cpu_ns;
	}
	return 0;
}

/* Finds whether a thread that is asleep has run, or one has come or gone. */
static void rest_look(struct vg_session *session)
{
	uint64_t rest_ns;

	if (session->vain_left > 0) {
		session->vain_left--;
		return;
	}
	if (rest_read(session, &rest_ns) != 0)
		return;
	session->looks_fresh = true;
	session->rest_still = session->rest_known && rest_ns == session->rest_ns &&
			      !session->tasks.stale;
	session->rest_known = true;
	session->rest_ns = rest_ns;
	session->vain = session->rest_still ? 0 : session->vain < VAIN_MAX ? session->vain + 1 : VAIN_MAX;
	session->vain_left = session->vain > 2 ? session->vain : 0;
}

/* Of a process that is gone, the time is 0. */
static void still_note(struct vg_session *session)
{
	session->still = 0;
	VG_EACH_RECORDING(i, session->due) {
		struct vg_recording *recording = &session->recordings[i];

		if (session->target_cpu_ns != 0 && recording->target_cpu_ns == session->target_cpu_ns)
			session->still |= 1u << i;
		recording->target_cpu_ns = session->target_cpu_ns;
	}
}

bool vg_looks_begin(struct vg_session *session)
{
	uint64_t before_ns = session->target_cpu_ns;
	size_t awake = awake_count(session);

	session->rest_still = session->looks_fresh = false;
	/* At once before the looks: what threads use in between seems to be others'. */
	session->target_cpu_ns = vg_target_cpu_ns(&session->target);
	if (session->target_cpu_ns != 0 && session->target_cpu_ns != before_ns &&
	    (awake <= 1 || 2 * awake < session->tasks.live.count))
		rest_look(session);
	still_note(session);
	return before_ns == 0 || session->target_cpu_ns != before_ns;
}

static int newcomers_scan(struct vg_session *session)
{
	uint64_t found = session->tasks.found, newcomers = session->newcomers;
	int rc = vg_session_scan(session);

	newcomers -= (newcomers + FORGET_SHARE - 1) / FORGET_SHARE;
	newcomers += session->tasks.found - found;
	session->newcomers = newcomers < NEWCOMERS_MAX ? (uint32_t)newcomers : NEWCOMERS_MAX;
	return rc;
}

bool vg_looks_crowded(const struct vg_session *session)
{
	return session->newcomers >= CROWD;
}

int vg_looks_scan(struct vg_session *session)
{
	bool early = vg_looks_crowded(session) && session->fetch_periods == 1 && !session->all_now &&
		     session->round_ns - session->scan_ns < VG_CROWDED_SCAN_NS;

	if (!session->rest_still && !early)
		return newcomers_scan(session);
	vg_session_events(session);
	/* Nobody has come or gone. */
	if (session->rest_still)
		session->scan_ns = session->round_ns;
	return 0;
}

int vg_look_at(struct vg_session *session, struct vg_task *task)
{
	bool holds = task->asleep ? session->rest_still : session->looks_fresh;

	return holds && task->look.slices != 0 ? 0 : look_read(session, task);
}
