/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/ticks.h"

#include "base/clock.h"

/* xorshift64: a step of three shifts (Marsaglia, "Xorshift RNGs", 2003). */
static uint64_t random_next(struct vg_ticks *ticks)
{
	ticks->random ^= ticks->random << 13;
	ticks->random ^= ticks->random >> 7;
	ticks->random ^= ticks->random << 17;
	return ticks->random;
}

/* Moves the phase by up to half a period in either direction, and reflects it at the ends of the period.  So all
 * phases are equally likely, and two ticks are 1/2 to 3/2 of a period apart.  If the phase moved by up to 1/4 only, a
 * program that repeats at nearly the sampling rate would have errors twice as large as with random samples. */
static uint64_t phase_step(struct vg_ticks *ticks)
{
	int64_t period_ns = (int64_t)ticks->period_ns, most_ns = period_ns / 2;
	int64_t phase_ns = (int64_t)(ticks->phase_ns % ticks->period_ns) - most_ns +
			   (int64_t)(random_next(ticks) % (uint64_t)(2 * most_ns + 1));

	if (phase_ns < 0)
		phase_ns = -phase_ns;
	return (uint64_t)(phase_ns < period_ns ? phase_ns : 2 * period_ns - phase_ns - 1);
}

static void period_begin(struct vg_ticks *ticks, uint64_t begin_ns)
{
	ticks->phase_ns = ticks->in_first_half ? random_next(ticks) % (ticks->period_ns / 2) : phase_step(ticks);
	ticks->due_ns = begin_ns + ticks->phase_ns;
	ticks->period_end_ns = begin_ns + ticks->period_ns;
}

void vg_ticks_restart(struct vg_ticks *ticks, uint64_t period_ns, uint64_t now_ns)
{
	ticks->period_ns = period_ns;
	if (period_ns != 0)
		period_begin(ticks, now_ns + period_ns);
}

void vg_ticks_start(struct vg_ticks *ticks, uint64_t period_ns, uint64_t now_ns)
{
	*ticks = (struct vg_ticks){ .random = now_ns | 1 };
	vg_ticks_restart(ticks, period_ns, now_ns);
}

bool vg_ticks_due(struct vg_ticks *ticks, uint64_t now_ns)
{
	uint64_t passed;

	if (ticks->period_ns == 0 || now_ns < ticks->due_ns)
		return false;
	if (now_ns - ticks->due_ns > ticks->period_ns / 2)
		ticks->late++;
	passed = now_ns > ticks->period_end_ns ?
		 (now_ns - ticks->period_end_ns) / ticks->period_ns : 0;
	ticks->skipped += passed;
	period_begin(ticks, ticks->period_end_ns + passed * ticks->period_ns);
	return true;
}

/* ---- the budget ---- */

static const uint64_t WINDOW_NS = 500000000;
static const uint64_t PERIOD_MAX_NS = 1000000000;

static void window_begin(struct vg_budget *budget, const struct vg_pauses *pauses, uint64_t now_ns)
{
	budget->checked_ns = now_ns;
	budget->cpu_ns = vg_own_cpu_ns() - budget->excluded_cpu_ns;
	budget->stops = pauses->stops;
	budget->pause_ns = pauses->total_ns;
}

void vg_budget_change(struct vg_budget *budget, uint32_t ppm, const struct vg_pauses *pauses,
		      uint64_t now_ns)
{
	budget->ppm = ppm;
	budget->requested_period_ns = 0;
	window_begin(budget, pauses, now_ns);
}

/* Returns the larger of two shares: the share of a thread's time in which the thread is stopped, and the share of one
 * core that the helper uses.  A thread is stopped once a period, so the first share is the mean pause divided by the
 * period. */
static uint64_t cost_ppm(const struct vg_budget *budget, const struct vg_ticks *ticks,
			 const struct vg_pauses *pauses, uint64_t elapsed_ns)
{
	uint64_t stops = pauses->stops - budget->stops;
	uint64_t pause_ns = pauses->total_ns - budget->pause_ns;
	uint64_t stopped_ppm = stops == 0 ? 0 : pause_ns / stops * 1000000 / ticks->period_ns;
	uint64_t cpu_ppm = (vg_own_cpu_ns() - budget->excluded_cpu_ns - budget->cpu_ns) * 1000000 / elapsed_ns;

	return stopped_ppm > cpu_ppm ? stopped_ppm : cpu_ppm;
}

bool vg_budget_check(struct vg_budget *budget, struct vg_ticks *ticks, uint32_t periods,
		     const struct vg_pauses *pauses)
{
	uint64_t now_ns = vg_now_ns(), elapsed_ns = now_ns - budget->checked_ns, cost;
	uint64_t period_ns, before_ns, begin_ns;

	if (budget->ppm == 0 || ticks->period_ns == 0 || elapsed_ns < WINDOW_NS)
		return false;
	if (budget->requested_period_ns == 0)
		budget->requested_period_ns = ticks->period_ns / periods;
	cost = cost_ppm(budget, ticks, pauses, elapsed_ns);
	window_begin(budget, pauses, now_ns);
	/* Lower the rate at once as far as the budget requires.  Raise it by 25 % at a time. */
	before_ns = period_ns = ticks->period_ns / periods;
	if (cost > budget->ppm)
		period_ns = period_ns * cost / budget->ppm;
	else if (cost < budget->ppm * UINT64_C(3) / 4)
		period_ns = period_ns * 4 / 5;
	if (period_ns > PERIOD_MAX_NS)
		period_ns = PERIOD_MAX_NS;
	if (period_ns < budget->requested_period_ns)
		period_ns = budget->requested_period_ns;
	if (period_ns == before_ns)
		return false;
	/* The period that is in progress changes, too. */
	begin_ns = ticks->period_end_ns - ticks->period_ns;
	ticks->period_ns = period_ns * periods;
	period_begin(ticks, begin_ns);
	budget->changes++;
	return true;
}
