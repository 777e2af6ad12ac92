/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/pacing.h"

#include "vignetted/capture/crowd.h"

/* Threads that no timer sample has been taken of yet are read when samples are fetched, so not too seldom;
 * where few threads run, and all the time, there are none of these. */
static const uint64_t FETCH_NS = UINT64_C(25) * 1000 * 1000;
static const uint64_t FETCH_BUSY_NS = UINT64_C(125) * 1000 * 1000;

/* From one tick to the next it may be 1.25 periods, and we may get a CPU late. */
enum { ROOM_SHARE = 2 };

/* Of a window: less than 1% is nothing, and this much is all the time; more to become busy than to stay it. */
enum { SLIGHT = 100, BUSY_PERCENT = 90, STILL_BUSY_PERCENT = 80 };

/* Waits that last 5% of a sampling period and less are no more to be told apart by reading each. */
enum { SHORT = 20 };

void vg_pacing_begin(struct vg_pacing *pacing)
{
	pacing->busy = pacing->crowd_only = false;
}

/* Adds the thread, if it ran at all since it was weighed.  One that is ready and has no CPU does not
 * wait for anything that reading could tell, nor, on the whole, does one that waits often and shortly. */
static void task_weigh(struct vg_task *task, uint64_t short_ns, uint64_t *ready_ns, uint64_t *ran_ns)
{
	uint64_t since_ns = task->looked_ns - task->weighed_ns, before_ns = task->weighed_ready_ns, own_ns;
	uint64_t waits = task->look.slices - task->weighed_slices;

	task->weighed_ready_ns = task->look.cpu_ns + task->look.queued_ns;
	task->weighed_slices = task->look.slices;
	own_ns = task->weighed_ready_ns - before_ns;
	if (task->weighed_ns == 0)
		own_ns = 0;              /* nobody knows: it is not busy yet */
	else if (own_ns < since_ns / SLIGHT)
		since_ns = 0;
	else if (own_ns < since_ns && since_ns - own_ns < waits * short_ns)
		own_ns = since_ns;
	task->weighed_ns = task->looked_ns;
	*ready_ns += own_ns < since_ns ? own_ns : since_ns;
	*ran_ns += since_ns;
}

void vg_pacing_weigh(struct vg_pacing *pacing, struct vg_tasks *tasks, const struct vg_pacing_needs *needs,
		     uint64_t timer_period_ns)
{
	uint64_t percent = pacing->busy ? STILL_BUSY_PERCENT : BUSY_PERCENT, ready_ns = 0, ran_ns = 0;
	bool reading_needed = needs->kernel_unseen || needs->counters || needs->events || pacing->stops_seen;

	pacing->stacks_truncated = false;
	for (size_t i = 0; i < tasks->live.count; i++) {
		task_weigh(&tasks->live.items[i], timer_period_ns / SHORT, &ready_ns, &ran_ns);
		pacing->stacks_truncated |= tasks->live.items[i].meagre;
	}
	pacing->busy = ran_ns > 0 && ready_ns * 100 >= ran_ns * percent && tasks->found == pacing->found &&
		       !reading_needed;
	pacing->crowd_only = needs->timers_few && !reading_needed;
	pacing->found = tasks->found;
	pacing->stops_seen = false;
}

/* Whether all that is due at a tick comes from timers, or can wait. */
static bool is_fetched_only(const struct vg_pacing *pacing, const struct vg_pacing_needs *needs)
{
	bool can_wait = pacing->busy || (pacing->crowd_only && needs->crowd) || (needs->cpu_only && !needs->timers_few);

	return needs->timers_run && !pacing->stacks_truncated && needs->rates_covered && can_wait;
}

uint32_t vg_pacing_periods(const struct vg_pacing *pacing, const struct vg_pacing_needs *needs)
{
	uint64_t fetch_ns = pacing->busy ? FETCH_BUSY_NS : needs->timers_few ? VG_CROWD_SCAN_NS : FETCH_NS;
	uint64_t end_ns = needs->left_ns / ROOM_SHARE, periods;

	if (!is_fetched_only(pacing, needs) || needs->period_ns == 0)
		return 1;
	if (fetch_ns > needs->room_ns / ROOM_SHARE)
		fetch_ns = needs->room_ns / ROOM_SHARE;
	periods = (fetch_ns < end_ns ? fetch_ns : end_ns) / needs->period_ns;
	return periods > 0 ? (uint32_t)periods : 1;
}
