/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/activity.h"

/* So long must a thread have slept to be taken for one that goes on sleeping. */
static const uint64_t ASLEEP_NS = 1000000000;

/* Rounds to pass over after as many in a row in which a sleeper had run, or seemed to. */
enum { MISSES_MAX = 16 };

static int look_read(struct vg_activity *activity, struct vg_tasks *tasks, struct vg_task *task)
{
	const struct vg_task_look before = task->look;
	int rc = vg_task_look(tasks, task, &task->look);

	if (rc != 0)
		return rc;
	if (task->look.slices != before.slices)
		task->sleep.since_ns = activity->round_ns;
	/* It was among the rest, in which this was found.  CPU time is less than before where a thread that executes a
	 * program has taken the place of the first one, and that one's number. */
	if (task->sleep.is_asleep && task->look.cpu_ns >= before.cpu_ns)
		activity->rest_ns -= task->look.cpu_ns - before.cpu_ns;
	return 0;
}

static size_t awake_count(const struct vg_activity *activity, struct vg_tasks *tasks)
{
	size_t awake = 0;

	for (size_t i = 0; i < tasks->live.count; i++) {
		struct vg_task *task = &tasks->live.items[i];

		task->sleep.is_asleep = task->look.slices != 0 && activity->round_ns - task->sleep.since_ns >= ASLEEP_NS;
		awake += !task->sleep.is_asleep;
	}
	return awake;
}

/* Reads the threads that are awake.  0 with the CPU time of the others, those that have ended among them; or a
 * negative errno. */
static int rest_read(struct vg_activity *activity, struct vg_tasks *tasks, uint64_t *rest_ns)
{
	*rest_ns = activity->process_cpu_ns;
	for (size_t i = 0; i < tasks->live.count; i++) {
		struct vg_task *task = &tasks->live.items[i];
		int rc = task->sleep.is_asleep ? 0 : look_read(activity, tasks, task);

		if (rc != 0)
			return rc;
		*rest_ns -= task->look.cpu_ns;
	}
	return 0;
}

/* Finds whether a thread that is asleep has run, or one has come or gone. */
static void rest_compare(struct vg_activity *activity, struct vg_tasks *tasks)
{
	uint64_t rest_ns;

	if (activity->misses_left > 0) {
		activity->misses_left--;
		return;
	}
	if (rest_read(activity, tasks, &rest_ns) != 0)
		return;
	activity->awake_fresh = true;
	activity->rest_still = activity->rest_known && rest_ns == activity->rest_ns && !tasks->stale;
	activity->rest_known = true;
	activity->rest_ns = rest_ns;
	activity->misses = activity->rest_still ? 0 : activity->misses < MISSES_MAX ? activity->misses + 1 : MISSES_MAX;
	activity->misses_left = activity->misses > 2 ? activity->misses : 0;
}

bool vg_activity_begin(struct vg_activity *activity, const struct vg_target *target, struct vg_tasks *tasks,
		       uint64_t round_ns)
{
	uint64_t before_ns = activity->process_cpu_ns, now_cpu_ns;
	size_t awake;

	activity->round_ns = round_ns;
	awake = awake_count(activity, tasks);
	activity->rest_still = activity->awake_fresh = false;
	/* At once before threads are read: what they use in between seems to be others'. */
	now_cpu_ns = vg_target_cpu_ns(target);
	if (now_cpu_ns != 0)
		activity->process_cpu_ns = now_cpu_ns;
	/* It is 0 when the process is gone. */
	if (now_cpu_ns == before_ns)
		activity->rest_still = now_cpu_ns != 0 && !tasks->stale;
	else if (now_cpu_ns != 0 && (awake <= 1 || 2 * awake < tasks->live.count))
		rest_compare(activity, tasks);
	return before_ns == 0 || activity->process_cpu_ns != before_ns;
}

int vg_activity_read(struct vg_activity *activity, struct vg_tasks *tasks, struct vg_task *task)
{
	bool holds = task->sleep.is_asleep ? activity->rest_still : activity->awake_fresh;

	return holds && task->look.slices != 0 ? 0 : look_read(activity, tasks, task);
}
