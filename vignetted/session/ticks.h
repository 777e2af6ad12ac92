/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TICKS_H
#define VG_VIGNETTED_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pauses.h"

/*
 * When samples are due: once in every period, at a random time in it.  So a periodic program is not always sampled at
 * the same point of its period.  Periods are absolute: a late tick does not move later periods.
 *
 *     vg_ticks_start(&ticks, period_ns, vg_now_ns());
 *     if (vg_ticks_due(&ticks, vg_now_ns())) ...              else sleep until ticks.due_ns
 */
struct vg_ticks {
	uint64_t period_ns;          /* 0: there are no ticks */
	uint64_t due_ns;             /* CLOCK_MONOTONIC of the next tick */
	uint64_t phase_ns;           /* from the beginning of the next tick's period to that tick */
	uint64_t period_end_ns;      /* CLOCK_MONOTONIC at the end of the next tick's period */
	uint64_t skipped;            /* periods without a tick */
	uint64_t late;               /* ticks that were more than half a period late */
	uint64_t random;             /* state of the generator */
	bool in_first_half;          /* all ticks are in the first half of their periods.  The caller sets this after
					the start, for the ticks of a recording: the recording takes the session's first
					tick after its own tick */
};

void vg_ticks_start(struct vg_ticks *ticks, uint64_t period_ns, uint64_t now_ns);

/* Returns whether a tick is due.  If so, sets when the next tick is due. */
bool vg_ticks_due(struct vg_ticks *ticks, uint64_t now_ns);

/* Begins again with another period: the next tick is one to two periods after now_ns.  If period_ns is 0, there are no
 * more ticks.  Keeps the counts. */
void vg_ticks_restart(struct vg_ticks *ticks, uint64_t period_ns, uint64_t now_ns);

/*
 * The budget limits two costs to the same share: the time for which each thread is stopped, and the helper's part of
 * one core.  If sampling costs more, the rate is lowered.  If it costs clearly less, the rate rises again, up to the
 * requested rate.  All zero is no budget.
 *
 *     vg_budget_change(&budget, ppm, &pauses, now_ns);
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

/* Sets the share.  The next vg_budget_check() takes the sampling rate at that check as the requested rate. */
void vg_budget_change(struct vg_budget *budget, uint32_t ppm, const struct vg_pauses *pauses,
		      uint64_t now_ns);

/* Compares the costs with the budget, if 0.5 s have passed since the latest check.  `periods`: sampling periods from
 * one tick to the next.  Returns whether it changed the period of the ticks. */
bool vg_budget_check(struct vg_budget *budget, struct vg_ticks *ticks, uint32_t periods,
		     const struct vg_pauses *pauses);

#endif
