/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/looks.h"

/* So long must a thread have slept to be taken for one that goes on sleeping. */
static const uint64_t ASLEEP_NS = 1000000000;

/* Rounds to pass over after as many in a row in which a sleeper had run, or seemed to. */
enum { VAIN_MAX = 16 };

/*
 * Threads that live shorter than it takes us to come to them are met by chance, and stand for nearly nobody.
 * In a crowd of them scans are farther apart: to find one and learn that it is gone costs as much as several
 * live.  Each that is gone when we come to it counts for a crowd, each that is not twice as much against it,
 * and where none is found for a while, there is none.
 */
enum { CROWD = 32, CROWD_MOST = 64, GONE_COUNTS = 4, LIVES_COUNTS = 8, NOBODY_COUNTS = 1 };
enum { SCAN_CROWD_LEAST_NS = VG_SCAN_CROWD_NS / 2 };

static void crowd_less(struct vg_session *session, uint32_t by)
{
	session->crowd -= session->crowd < by ? session->crowd : by;
}

void vg_looks_judge(struct vg_session *session, struct vg_task *task)
{
	task->judged = true;
	if (!task->exiting)
		crowd_less(session, LIVES_COUNTS);
	else if (session->crowd < CROWD_MOST)
		session->crowd += GONE_COUNTS;
}

static void task_renew(struct vg_session *session, struct vg_task *task)
{
	task->interrupts_of = 0;
	task->weighed_ns = 0;
	VG_EACH_RECORDING(i, session->live & task->begun)
		task->accounts[i].cpu_ns = task->accounts[i].queued_ns = 0;
}

static int look_read(struct vg_session *session, struct vg_task *task)
{
	const struct vg_task_look before = task->look;
	int rc = vg_task_look(&session->tasks, task, &task->look);

	if (rc != 0)
		return rc;
	task->looked_ns = session->round_ns;
	/* A thread that executes a program takes the place of the first one, and that one's number. */
	if (task->look.cpu_ns < before.cpu_ns)
		task_renew(session, task);
	else if (before.slices != 0 && (!session->interrupts.narrow || task->interrupts_of != 0)) {
		session->switches += task->look.slices - before.slices;
		session->looked_cpu_ns += task->look.cpu_ns - before.cpu_ns;
	}
	if (task->look.slices != before.slices)
		task->moved_ns = session->round_ns;
	/* It was among the rest, in which this was found. */
	if (task->asleep && task->look.cpu_ns >= before.cpu_ns)
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

	/* There may be many to fetch. */
	if (session->events.shared != NULL)
		vg_priority_rest(&session->tracer.priority);
	session->rest_still = session->looks_fresh = false;
	/* At once before the looks: what threads use in between seems to be others'. */
	session->target_cpu_ns = vg_target_cpu_ns(&session->target);
	if (session->target_cpu_ns != 0 && session->target_cpu_ns != before_ns &&
	    (awake <= 1 || 2 * awake < session->tasks.live.count))
		rest_look(session);
	still_note(session);
	return before_ns == 0 || session->target_cpu_ns != before_ns;
}

bool vg_looks_crowded(const struct vg_session *session)
{
	return session->crowd >= CROWD && session->counting == 0;
}

/* Where ticks are as far apart as scans are to be, they are not equally far. */
static bool is_early(const struct vg_session *session)
{
	uint64_t apart_ns = session->fetch_periods > 1 ? SCAN_CROWD_LEAST_NS : VG_SCAN_CROWD_NS;

	return vg_looks_crowded(session) && !session->all_now && session->round_ns < session->scan_ns + apart_ns;
}

int vg_looks_scan(struct vg_session *session)
{
	uint64_t found = session->tasks.found;
	int rc;

	if (!session->rest_still && !is_early(session)) {
		rc = vg_session_scan(session);
		if (session->tasks.found == found)
			crowd_less(session, NOBODY_COUNTS);
		return rc;
	}
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
