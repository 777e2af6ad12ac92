/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/budget.h"

#include "base/clock.h"

static const uint64_t WINDOW_NS = 500000000;
static const uint64_t PERIOD_MAX_NS = 1000000000;

static void window_begin(struct vg_budget *budget, const struct vg_pauses *pauses, uint64_t now_ns)
{
	budget->checked_ns = now_ns;
	budget->cpu_ns = vg_own_cpu_ns() - budget->excluded_cpu_ns;
	budget->stops = pauses->stops;
	budget->pause_ns = pauses->total_ns;
}

void vg_budget_start(struct vg_budget *budget, uint32_t ppm, uint64_t now_ns)
{
	static const struct vg_pauses none;

	*budget = (struct vg_budget){ .ppm = ppm };
	window_begin(budget, &none, now_ns);
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
	uint64_t period_ns, before_ns;

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
	vg_ticks_change(ticks, period_ns * periods);
	budget->changes++;
	return true;
}
