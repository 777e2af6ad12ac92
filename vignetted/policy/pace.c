/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/policy/pace.h"

/* From one decision to the next: a step of each thread (policy.h) is in it, with wide ticks, too.  Where no recording asks for
 * wall time, what threads do is no matter, and the first decision comes sooner. */
static const uint64_t DECIDE_NS = UINT64_C(300) * 1000 * 1000;
static const uint64_t DECIDE_FIRST_NS = UINT64_C(50) * 1000 * 1000;

/* Threads without a timer are sampled when samples are fetched, so not too seldom; where all threads run nearly all the
 * time, there are none of these. */
static const uint64_t FETCH_NS = UINT64_C(25) * 1000 * 1000;
static const uint64_t FETCH_BUSY_NS = UINT64_C(125) * 1000 * 1000;

/* From one tick to the next it may be 1.25 periods, and we may get a CPU late: that share of the room is left free. */
enum { ROOM_SHARE = 2 };

/* Nearly all the time; more to begin with than to go on. */
enum { BUSY_PERCENT = 90, STILL_BUSY_PERCENT = 80 };

enum { SLIGHT_SHARE = 100, SHORT_WAIT_SHARE = 20 };

void vg_pace_thread(struct vg_pace_load *load, uint64_t elapsed_ns, uint64_t ready_ns, uint64_t switches)
{
	if (ready_ns < elapsed_ns / SLIGHT_SHARE)
		return;
	if (ready_ns > elapsed_ns || elapsed_ns - ready_ns < switches * (load->period_ns / SHORT_WAIT_SHARE))
		ready_ns = elapsed_ns;
	load->awake_ns += elapsed_ns;
	load->ready_ns += ready_ns;
}

bool vg_pace_due(const struct vg_pace_load *load, uint32_t periods)
{
	return load->elapsed_ns >= (periods == 1 && load->cpu_only ? DECIDE_FIRST_NS : DECIDE_NS) ||
	       (periods > 1 && (load->stops > 0 || periods * load->period_ns > load->left_ns));
}

uint32_t vg_pace_periods(const struct vg_pace_load *load, uint32_t before)
{
	uint64_t percent = before > 1 ? STILL_BUSY_PERCENT : BUSY_PERCENT;
	/* What threads did is added up every 200 ms (policy.h).  Where nothing came since, it is as it was. */
	bool busy = load->awake_ns > 0 ? load->ready_ns * 100 >= load->awake_ns * percent :
		    before * load->period_ns > FETCH_NS;
	uint64_t fetch_ns, periods;

	busy = busy && load->found == 0 && !load->events;
	fetch_ns = busy ? FETCH_BUSY_NS : FETCH_NS;

	if (!(busy || load->cpu_only) || load->counters || load->stops > 0 || load->period_ns == 0)
		return 1;
	if (fetch_ns > load->room_ns / ROOM_SHARE)
		fetch_ns = load->room_ns / ROOM_SHARE;
	if (fetch_ns > load->left_ns / ROOM_SHARE)
		fetch_ns = load->left_ns / ROOM_SHARE;
	periods = fetch_ns / load->period_ns;
	return periods > 0 ? (uint32_t)periods : 1;
}
