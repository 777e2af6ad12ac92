/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/lane.h"

/* Moves that are kept from one tick to the next: beyond, only the latest state is known. */
enum { MOVES_MAX = 1 << 16 };

static uint64_t innermost(const struct vg_events_lane *lane)
{
	return lane->depth > 0 ? lane->open[lane->depth - 1] : 0;
}

void vg_lane_forget(struct vg_events_lane *lane)
{
	lane->moves.count = 0;
	lane->before = innermost(lane);
}

void vg_lane_reset(struct vg_events_lane *lane)
{
	lane->known = false;
	lane->joined = lane->told = 0;
	lane->name = 0;
	lane->depth = 0;
	vg_lane_forget(lane);
}

static void move_note(struct vg_events_lane *lane, uint64_t time_ns)
{
	struct vg_lane_move move = { time_ns, innermost(lane) };

	if (lane->moves.count >= MOVES_MAX || vg_array_push(&lane->moves, &move) != 0)
		vg_lane_forget(lane);
}

void vg_lane_open(struct vg_events_lane *lane, uint64_t time_ns, uint64_t token)
{
	if (lane->depth == VG_LANE_DEPTH)
		return;
	lane->open[lane->depth++] = token;
	move_note(lane, time_ns);
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
	move_note(lane, time_ns);
}

uint64_t vg_lane_at(const struct vg_events_lane *lane, uint64_t time_ns)
{
	size_t low = 0, high = lane->moves.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (lane->moves.items[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? lane->moves.items[low - 1].interval : lane->before;
}
