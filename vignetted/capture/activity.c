/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/activity.h"

/* A thread that has not run for this long counts as sleeping. */
static const uint64_t ASLEEP_NS = 1000000000;

/* The most rounds without a check.  After n failed checks in a row, if n > 2, the next n rounds have no check. */
enum { ROUNDS_TO_SKIP_MAX = 16 };

static int activity_update(struct vg_activity *activity, struct vg_tasks *tasks, struct vg_task *task)
{
	const struct vg_task_activity before = task->activity;
	int rc = vg_task_activity_read(tasks, task, &task->activity);

	if (rc != 0)
		return rc;
	if (task->activity.timeslices != before.timeslices)
		task->sleep.since_ns = activity->round_ns;
	/* The CPU time that the thread has used since its previous read was unattributed until now.  The CPU time of a
	 * thread id can decrease: a thread that calls execve(2) takes the id of the first thread. */
	if (task->sleep.is_sleeping && task->activity.cpu_ns >= before.cpu_ns)
		activity->unattributed_ns -= task->activity.cpu_ns - before.cpu_ns;
	return 0;
}

/* Sets is_sleeping of each thread.  Returns how many are awake. */
static size_t sleepers_mark(const struct vg_activity *activity, struct vg_tasks *tasks)
{
	size_t awake = 0;

	VG_EACH_TASK(task, tasks) {
		task->sleep.is_sleeping = task->activity.timeslices != 0 &&
					activity->round_ns - task->sleep.since_ns >= ASLEEP_NS;
		awake += !task->sleep.is_sleeping;
	}
	return awake;
}

/* Reads the threads that are awake.  Returns 0 and the unattributed CPU time, or a negative errno. */
static int unattributed_read(struct vg_activity *activity, struct vg_tasks *tasks, uint64_t *unattributed_ns)
{
	*unattributed_ns = activity->process_cpu_ns;
	VG_EACH_TASK(task, tasks) {
		int rc = task->sleep.is_sleeping ? 0 : activity_update(activity, tasks, task);

		if (rc != 0)
			return rc;
		*unattributed_ns -= task->activity.cpu_ns;
	}
	return 0;
}

/* If a check is due, reads the threads that are awake and sets awake_current.  Sets sleepers_idle if the unattributed
 * CPU time has not changed and no exit of a thread was noticed. */
static void sleepers_check(struct vg_activity *activity, struct vg_tasks *tasks)
{
	uint64_t unattributed_ns;

	if (activity->rounds_to_skip > 0) {
		activity->rounds_to_skip--;
		return;
	}
	if (unattributed_read(activity, tasks, &unattributed_ns) != 0)
		return;
	activity->awake_current = true;
	activity->sleepers_idle = activity->unattributed_known && unattributed_ns == activity->unattributed_ns &&
				  !tasks->stale;
	activity->unattributed_known = true;
	activity->unattributed_ns = unattributed_ns;
	if (activity->sleepers_idle)
		activity->failed_rounds = 0;
	else if (activity->failed_rounds < ROUNDS_TO_SKIP_MAX)
		activity->failed_rounds++;
	activity->rounds_to_skip = activity->failed_rounds > 2 ? activity->failed_rounds : 0;
}

/* Reads the chosen threads (vg_tasks_choose()).  Does not read the process's CPU time: for that the kernel adds up the
 * CPU times of all threads. */
static bool chosen_begin(struct vg_activity *activity, struct vg_tasks *tasks)
{
	bool ran = activity->previous_round_ns == 0;

	activity->awake_current = true;
	VG_EACH_TASK(task, tasks) {
		const struct vg_task_activity before = task->activity;

		task->sleep.is_sleeping = false;
		if (activity_update(activity, tasks, task) != 0)
			activity->awake_current = false;
		ran = ran || task->activity.timeslices != before.timeslices || task->activity.cpu_ns != before.cpu_ns;
	}
	return ran;
}

bool vg_activity_begin(struct vg_activity *activity, const struct vg_target *target, struct vg_tasks *tasks,
		       uint64_t round_ns)
{
	uint64_t before_ns = activity->process_cpu_ns, now_cpu_ns;
	size_t awake;

	activity->previous_round_ns = activity->round_ns;
	vg_activity_expire(activity, round_ns);
	if (tasks->only_count != 0)
		return chosen_begin(activity, tasks);
	awake = sleepers_mark(activity, tasks);
	/* Read the process's CPU time immediately before the threads: CPU time that they use in between would change
	 * the unattributed CPU time. */
	now_cpu_ns = vg_target_cpu_ns(target);
	if (now_cpu_ns != 0)
		activity->process_cpu_ns = now_cpu_ns;
	/* now_cpu_ns is 0 if the process has exited. */
	if (now_cpu_ns == before_ns)
		activity->sleepers_idle = now_cpu_ns != 0 && !tasks->stale;
	else if (now_cpu_ns != 0 && (awake <= 1 || 2 * awake < tasks->live.count))
		sleepers_check(activity, tasks);
	return before_ns == 0 || activity->process_cpu_ns != before_ns;
}

void vg_activity_expire(struct vg_activity *activity, uint64_t round_ns)
{
	activity->round_ns = round_ns;
	activity->sleepers_idle = activity->awake_current = false;
}

int vg_activity_read(struct vg_activity *activity, struct vg_tasks *tasks, struct vg_task *task)
{
	bool holds = task->sleep.is_sleeping ? activity->sleepers_idle : activity->awake_current;

	return holds && task->activity.timeslices != 0 ? 0 : activity_update(activity, tasks, task);
}
