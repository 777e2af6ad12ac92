/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/policy/pace.h"

/* Time from one decision to the next.  It is long enough for a step of each thread (policy.h), even if ticks are far
 * apart.  If no recording wants wall time, a decision needs no steps.  Such a decision comes after PACE_FIRST_PERIOD_NS
 * if ticks are one period apart. */
static const uint64_t PACE_PERIOD_NS = UINT64_C(300) * 1000 * 1000;
static const uint64_t PACE_FIRST_PERIOD_NS = UINT64_C(50) * 1000 * 1000;

/* The longest time between two ticks.  Threads without a timer are sampled at ticks only.  If all threads run nearly
 * all the time, all of them have timers, and ticks may be farther apart (FETCH_BUSY_NS). */
static const uint64_t FETCH_NS = UINT64_C(25) * 1000 * 1000;
static const uint64_t FETCH_BUSY_NS = UINT64_C(125) * 1000 * 1000;

/* The samples between two ticks fill at most half of a ring: the next tick may be 1.5 times as far away
 * (session/ticks.c), and the helper may get a CPU late.  The time between two ticks is also at most half of
 * time_left_ns. */
enum { CAPACITY_SHARE = 2 };

/* Threads run "nearly all the time" if runnable_ns is this share of awake_ns or more.  BUSY_PERCENT is needed to move
 * ticks apart, BUSY_KEEP_PERCENT to keep them apart. */
enum { BUSY_PERCENT = 90, BUSY_KEEP_PERCENT = 80 };

/* A thread is added to awake_ns if it ran for 1 / ACTIVE_SHARE of the time or more.  A wait is short if it takes less
 * than 1 / SHORT_WAIT_SHARE of a period. */
enum { ACTIVE_SHARE = 100, SHORT_WAIT_SHARE = 20 };

void vg_pace_thread(struct vg_pace_load *load, uint64_t elapsed_ns, uint64_t runnable_ns, uint64_t switches)
{
	if (runnable_ns < elapsed_ns / ACTIVE_SHARE)
		return;
	if (runnable_ns > elapsed_ns || elapsed_ns - runnable_ns < switches * (load->period_ns / SHORT_WAIT_SHARE))
		runnable_ns = elapsed_ns;
	load->awake_ns += elapsed_ns;
	load->runnable_ns += runnable_ns;
}

bool vg_pace_due(const struct vg_pace_load *load, uint32_t periods)
{
	return load->elapsed_ns >= (periods == 1 && load->cpu_only ? PACE_FIRST_PERIOD_NS : PACE_PERIOD_NS) ||
	       (periods > 1 && (load->stops > 0 || load->unloads > 0 ||
				periods * load->period_ns > load->time_left_ns));
}

uint32_t vg_pace_periods(const struct vg_pace_load *load, uint32_t before)
{
	uint64_t percent = before > 1 ? BUSY_KEEP_PERCENT : BUSY_PERCENT;
	/* A thread has a step every 200 ms (policy.h).  If no thread had a step since the latest decision, assume that
	 * nothing has changed. */
	bool busy = load->awake_ns > 0 ? load->runnable_ns * 100 >= load->awake_ns * percent :
		    before * load->period_ns > FETCH_NS;
	uint64_t fetch_ns, periods;

	busy = busy && load->found == 0 && !load->events;
	fetch_ns = busy ? FETCH_BUSY_NS : FETCH_NS;

	if (!(busy || load->cpu_only) || load->counters || load->stops > 0 || load->unloads > 0 ||
	    load->period_ns == 0)
		return 1;
	if (fetch_ns > load->ring_capacity_ns / CAPACITY_SHARE)
		fetch_ns = load->ring_capacity_ns / CAPACITY_SHARE;
	if (fetch_ns > load->time_left_ns / CAPACITY_SHARE)
		fetch_ns = load->time_left_ns / CAPACITY_SHARE;
	periods = fetch_ns / load->period_ns;
	return periods > 0 ? (uint32_t)periods : 1;
}
