/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/policy/weights.h"

/* A timer sample makes up for one part in four of what timers have missed, and weighs at least a half and at most four
 * times what its timer measured.  Larger parts would make single samples weigh what chance says.  Smaller parts would
 * leave more at the end of a recording. */
enum { BEHIND_PARTS = 4, TIMER_MOST = 4 };

/* A running thread's CPU time may be late by a tick of the scheduler, which is 1 s where a CPU has no periodic one. */
static const uint64_t LATE_NS = 1000 * 1000 * 1000;

static uint64_t positive(int64_t ns)
{
	return ns > 0 ? (uint64_t)ns : 0;
}

void vg_weights_begin(struct vg_weights *weights, uint64_t time_ns, bool is_born)
{
	*weights = (struct vg_weights){ .time_ns = time_ns, .observed = is_born };
}

void vg_weights_observe(struct vg_weights *weights, const struct vg_clocks *clocks)
{
	uint64_t elapsed_ns = clocks->time_ns > weights->time_ns ? clocks->time_ns - weights->time_ns : 0;
	uint64_t used_ns = clocks->cpu_ns - weights->cpu_ns, queued_ns = clocks->queued_ns - weights->queued_ns;
	bool is_other = clocks->cpu_ns < weights->cpu_ns || clocks->queued_ns < weights->queued_ns ||
			used_ns > elapsed_ns + LATE_NS;

	if (!weights->observed || is_other)
		used_ns = queued_ns = 0;
	weights->observed = true;
	weights->runs = false;
	weights->time_ns += elapsed_ns;
	weights->cpu_ns = clocks->cpu_ns;
	weights->queued_ns = clocks->queued_ns;
	weights->cpu_left_ns += (int64_t)used_ns;
	weights->queued_left_ns += (int64_t)queued_ns;
	weights->waited_left_ns += (int64_t)elapsed_ns - (int64_t)used_ns - (int64_t)queued_ns;
	weights->behind_ns = weights->cpu_left_ns;
}

/* The time that is in no sample yet, at the latest observation. */
static int64_t left_ns(const struct vg_weights *weights)
{
	return weights->cpu_left_ns + weights->queued_left_ns + weights->waited_left_ns;
}

/* Timers may be ahead of the scheduler's clock: the weight's wall time is no more than there is. */
static struct vg_weight running_take(struct vg_weights *weights, uint64_t cpu_ns, uint64_t queued_ns, int64_t most_ns)
{
	struct vg_weight weight = { .wall_ns = cpu_ns + queued_ns, .cpu_ns = cpu_ns };

	if (weight.wall_ns > positive(most_ns))
		weight.wall_ns = positive(most_ns);
	weights->cpu_left_ns -= (int64_t)cpu_ns;
	/* Later samples take what is over, when there is time for it. */
	weights->queued_left_ns += (int64_t)cpu_ns - (int64_t)weight.wall_ns;
	return weight;
}

static struct vg_weight waiting_take(struct vg_weights *weights)
{
	uint64_t waited_ns = positive(weights->waited_left_ns), most_ns = positive(left_ns(weights));

	if (waited_ns > most_ns)
		waited_ns = most_ns;
	weights->waited_left_ns -= (int64_t)waited_ns;
	return (struct vg_weight){ .wall_ns = waited_ns };
}

static struct vg_weight_pair halves(struct vg_weight all)
{
	struct vg_weight half = { .wall_ns = all.wall_ns / 2, .cpu_ns = all.cpu_ns / 2 };

	return (struct vg_weight_pair){
		.before = half, .own = { .wall_ns = all.wall_ns - half.wall_ns, .cpu_ns = all.cpu_ns - half.cpu_ns },
	};
}

struct vg_weight_pair vg_weights_take(struct vg_weights *weights, const struct vg_clocks *clocks, enum vg_weights_seen seen)
{
	bool had_run = weights->latest == VG_LATEST_RAN, had_waited = weights->latest == VG_LATEST_WAITED;
	struct vg_weight ran = { 0 }, waited = { 0 };

	vg_weights_observe(weights, clocks);
	weights->runs = seen != VG_SEEN_WAITING;
	weights->latest = seen == VG_SEEN_WAITING ? VG_LATEST_WAITED : seen == VG_SEEN_RUNNING ? VG_LATEST_RAN : VG_LATEST_NONE;
	if (seen == VG_SEEN_RUNNING) {
		weights->behind_ns = 0;
		weights->timer_ns = 0;
	}
	if (seen == VG_SEEN_QUEUED)
		ran = running_take(weights, 0, positive(weights->queued_left_ns), left_ns(weights));
	else if (seen == VG_SEEN_RUNNING || had_run)
		ran = running_take(weights, positive(weights->cpu_left_ns), positive(weights->queued_left_ns), left_ns(weights));
	if (seen == VG_SEEN_WAITING || had_waited)
		waited = waiting_take(weights);
	if (seen == VG_SEEN_WAITING)
		return had_waited ? halves(waited) : (struct vg_weight_pair){ .before = ran, .own = waited };
	return had_run && seen == VG_SEEN_RUNNING ? halves(ran) : (struct vg_weight_pair){ .before = waited, .own = ran };
}

void vg_weights_ran(struct vg_weights *weights)
{
	weights->runs = true;
}

void vg_weights_written(struct vg_weights *weights)
{
	weights->latest = VG_LATEST_NONE;
}

bool vg_weights_timer_count(struct vg_weights *weights, uint64_t period_ns, uint64_t sample_period_ns)
{
	weights->timer_ns += period_ns;
	return weights->timer_ns + period_ns / 2 >= sample_period_ns;
}

struct vg_weight_pair vg_weights_timer(struct vg_weights *weights, uint64_t time_ns)
{
	int64_t own_ns = (int64_t)weights->timer_ns, part_ns = weights->behind_ns / BEHIND_PARTS;
	bool had_run = weights->latest == VG_LATEST_RAN || weights->latest == VG_LATEST_TIMER;
	struct vg_weight ran;

	if (part_ns > (TIMER_MOST - 1) * own_ns)
		part_ns = (TIMER_MOST - 1) * own_ns;
	if (part_ns < -own_ns / 2)
		part_ns = -own_ns / 2;
	weights->behind_ns -= part_ns;
	weights->timer_ns = 0;
	weights->latest = VG_LATEST_TIMER;
	ran = running_take(weights, (uint64_t)(own_ns + part_ns), 0, left_ns(weights) + (int64_t)(time_ns - weights->time_ns));
	return had_run ? halves(ran) : (struct vg_weight_pair){ .own = ran };
}

struct vg_weight vg_weights_end(struct vg_weights *weights, uint64_t time_ns)
{
	uint64_t later_ns = time_ns > weights->time_ns ? time_ns - weights->time_ns : 0;
	struct vg_weight rest = { .wall_ns = positive(left_ns(weights) + (int64_t)later_ns) };
	bool ran = weights->runs || weights->latest == VG_LATEST_RAN || weights->latest == VG_LATEST_TIMER;

	if (ran) {
		rest.cpu_ns = positive(weights->cpu_left_ns + (int64_t)(weights->runs ? later_ns : 0));
		weights->cpu_left_ns = 0;
	}
	weights->time_ns += later_ns;
	weights->queued_left_ns = weights->waited_left_ns = weights->behind_ns = 0;
	return rest;
}
