/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bench/floors.h"

#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "bench/stop.h"
#include "vignetted/capture/timers.h"
#include "vignetted/capture/priority.h"
#include "vignetted/session/ticks.h"
#include "vignetted/target/tasks.h"

static struct {
	pid_t pid;
	struct vg_ticks ticks;
	struct vg_priority priority;
	struct vg_tasks tasks;
	struct vg_timers timers;
} floors;

enum { RINGS_BYTES = 1 << 25 };

static void nothing(void)
{
}

/* Wakes at the ticks of a session. */
static void ticks_run(int end_fd, bool stop)
{
	struct pollfd end = { .fd = end_fd, .events = POLLIN };
	struct timespec left;

	vg_ticks_restart(&floors.ticks, floors.ticks.period_ns, vg_now_ns());
	do {
		uint64_t now_ns, due_ns;

		if (vg_ticks_due(&floors.ticks, vg_now_ns()) && stop && stop_and_continue(floors.pid) != 0)
			compare_fail("a stop");
		now_ns = vg_now_ns();
		due_ns = floors.ticks.due_ns;
		left = (struct timespec){ 0, due_ns > now_ns ? (long)(due_ns - now_ns) : 0 };
	} while (ppoll(&end, 1, &left, NULL) == 0);
}

static void wake(int end_fd)
{
	ticks_run(end_fd, false);
}

static void stop(int end_fd)
{
	ticks_run(end_fd, true);
}

static void timers_on(void)
{
	const struct vg_task *tasks;

	if (vg_tasks_scan(&floors.tasks) != 0 ||
	    vg_timers_open(&floors.timers, floors.pid, floors.tasks.live.items, floors.tasks.live.count,
			   floors.ticks.period_ns, RINGS_BYTES) != 0)
		compare_fail("opening the timers");
	tasks = floors.tasks.live.items;
	for (size_t i = 0; i < floors.tasks.live.count; i++)
		vg_timers_add(&floors.timers, tasks[i].tid);
}

static void timers_off(void)
{
	vg_timers_close(&floors.timers);
}

const struct sampler *floors_begin(const char *name, pid_t pid, uint64_t period_ns)
{
	static const struct {
		const char *name;
		struct sampler sampler;
	} all[] = {
		{ "waking", { nothing, wake, nothing } },
		{ "stopping", { nothing, stop, nothing } },
		{ "timers", { timers_on, compare_wait, timers_off } },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (strcmp(all[i].name, name) != 0)
			continue;
		floors.pid = pid;
		vg_priority_begin(&floors.priority);
		vg_ticks_start(&floors.ticks, period_ns, vg_now_ns());
		if (vg_tasks_open(&floors.tasks, pid) != 0)
			compare_fail("reading the list of threads");
		return &all[i].sampler;
	}
	return NULL;
}
