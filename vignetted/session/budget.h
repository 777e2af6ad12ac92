/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_BUDGET_H
#define VG_VIGNETTED_BUDGET_H

#include "base/pauses.h"
#include "vignetted/session/ticks.h"

/*
 * The budget limits two costs to the same share: the time for which each thread is stopped, and the helper's part of
 * one core.  If sampling costs more, the rate is lowered.  If it costs clearly less, the rate rises again, up to the
 * requested rate.
 *
 *     vg_budget_start(&budget, ppm, now_ns);
 *     if (vg_budget_check(&budget, &ticks, periods, &pauses))   at each tick
 *             ...                                               the rate has changed
 */
struct vg_budget {
	uint32_t ppm;                /* the share in parts per million; 0: no budget */
	uint64_t requested_period_ns; /* the sampling period without a budget; 0: not known yet */
	uint64_t checked_ns, cpu_ns; /* CLOCK_MONOTONIC and the helper's CPU time at the latest check */
	uint64_t excluded_cpu_ns;    /* the helper's CPU time that is not for sampling; the caller sets it */
	uint64_t stops, pause_ns;    /* number and total length of all pauses at the latest check */
	uint64_t changes;            /* how often the rate was changed */
};

void vg_budget_start(struct vg_budget *budget, uint32_t ppm, uint64_t now_ns);

/* Sets the share.  The next vg_budget_check() takes the sampling rate at that check as the requested rate. */
void vg_budget_change(struct vg_budget *budget, uint32_t ppm, const struct vg_pauses *pauses,
		      uint64_t now_ns);

/* Compares the costs with the budget, if 0.5 s have passed since the latest check.  `periods`: sampling periods from
 * one tick to the next.  Returns whether it changed the period of the ticks. */
bool vg_budget_check(struct vg_budget *budget, struct vg_ticks *ticks, uint32_t periods,
		     const struct vg_pauses *pauses);

#endif
