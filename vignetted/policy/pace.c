/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/policy/pace.h"

/* From one decision to the next. */
static const uint64_t DECIDE_NS = UINT64_C(100) * 1000 * 1000;

/* Threads without a timer are looked at when samples are fetched, so not too seldom. */
static const uint64_t FETCH_NS = UINT64_C(25) * 1000 * 1000;

/* From one tick to the next it may be 1.25 periods, and we may get a CPU late: that share of the room is left free. */
enum { ROOM_SHARE = 2 };

bool vg_pace_due(const struct vg_pace_load *load, uint32_t periods)
{
	return load->elapsed_ns >= DECIDE_NS || (periods > 1 && (load->stops > 0 || periods > vg_pace_periods(load)));
}

uint32_t vg_pace_periods(const struct vg_pace_load *load)
{
	uint64_t fetch_ns = FETCH_NS, periods;

	if (!load->cpu_only || load->counters || load->stops > 0 || load->period_ns == 0)
		return 1;
	if (fetch_ns > load->room_ns / ROOM_SHARE)
		fetch_ns = load->room_ns / ROOM_SHARE;
	if (fetch_ns > load->left_ns / ROOM_SHARE)
		fetch_ns = load->left_ns / ROOM_SHARE;
	periods = fetch_ns / load->period_ns;
	return periods > 0 ? (uint32_t)periods : 1;
}
