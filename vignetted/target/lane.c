/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/lane.h"

#include <string.h>

#include "base/sorted.h"

/* The most changes that a lane keeps.  If there are more, the older half is dropped. */
enum { CHANGES_MAX = 1 << 16 };

/* Drops the oldest changes. */
static void changes_drop(struct vg_events_lane *lane, size_t count)
{
	if (count == 0)
		return;
	lane->interval_before = lane->changes.items[count - 1].interval;
	lane->known_since_ns = lane->changes.items[count - 1].time_ns;
	lane->changes.count -= count;
	memmove(lane->changes.items, lane->changes.items + count, lane->changes.count * sizeof *lane->changes.items);
}

void vg_lane_history_drop(struct vg_events_lane *lane, uint64_t before_ns)
{
	changes_drop(lane, vg_count_below(lane->changes.items, lane->changes.count, time_ns, before_ns));
}

void vg_lane_reset(struct vg_events_lane *lane)
{
	lane->known = false;
	lane->thread_written = lane->skipped = lane->name_written = 0;
	lane->name = 0;
	lane->begin_ns = 0;
	lane->has_ended = false;
	lane->sampled = (struct vg_lane_sampled){ 0 };
	vg_lane_skip(lane);
}

void vg_lane_skip(struct vg_events_lane *lane)
{
	lane->depth = 0;
	lane->changes.count = 0;
	lane->interval_before = 0;
}

static void change_note(struct vg_events_lane *lane, uint64_t time_ns)
{
	struct vg_lane_change change = { time_ns, lane->depth > 0 ? lane->open[lane->depth - 1] : 0 };

	if (lane->changes.count >= CHANGES_MAX)
		changes_drop(lane, CHANGES_MAX / 2);
	if (vg_array_push(&lane->changes, &change) != 0) {
		lane->changes.count = 0;
		lane->interval_before = change.interval;
		lane->known_since_ns = time_ns;
	}
}

void vg_lane_open(struct vg_events_lane *lane, uint64_t time_ns, uint64_t token)
{
	if (lane->depth == VG_LANE_DEPTH)
		return;
	lane->open[lane->depth++] = token;
	change_note(lane, time_ns);
}

void vg_lane_close(struct vg_events_lane *lane, uint64_t time_ns, uint64_t token)
{
	uint32_t at = lane->depth;

	while (at > 0 && lane->open[at - 1] != token)
		at--;
	if (at == 0)
		return;
	for (; at < lane->depth; at++)
		lane->open[at - 1] = lane->open[at];
	lane->depth--;
	change_note(lane, time_ns);
}

uint64_t vg_lane_interval_at(const struct vg_events_lane *lane, uint64_t time_ns)
{
	size_t after = vg_count_at_most(lane->changes.items, lane->changes.count, time_ns, time_ns);

	if (after > 0)
		return lane->changes.items[after - 1].interval;
	return time_ns >= lane->known_since_ns ? lane->interval_before : 0;
}

uint64_t vg_lane_end_ns(const struct vg_events_lane *lane, uint64_t token, uint64_t time_ns)
{
	return token == lane->sampled.interval && time_ns < lane->sampled.time_ns ? lane->sampled.time_ns : time_ns;
}
