/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_BUDGET_H
#define VG_VIGNETTED_BUDGET_H

#include "base/pauses.h"
#include "vignetted/session/ticks.h"

/*
 * What sampling may cost: a share of the time of each thread that is stopped, and the same share
 * of one core for the helper.  Where it costs more, samples become rarer; where it costs clearly
 * less, they come back towards the rate that was asked for.
 */
struct vg_budget {
	uint32_t ppm;                /* the share in millionths; 0: no budget */
	uint64_t asked_period_ns;
	uint64_t checked_ns, cpu_ns; /* at the latest check */
	uint64_t apart_ns;           /* the caller's: processor time so far that is not sampling's */
	uint64_t stops, pause_ns;
	uint64_t changes;            /* of the rate */
};

void vg_budget_start(struct vg_budget *budget, uint32_t ppm, uint64_t now_ns);

/* Another share, or another rate that is asked for. */
void vg_budget_change(struct vg_budget *budget, uint32_t ppm, const struct vg_pauses *pauses,
		      uint64_t now_ns);

/* Looks every half second.  Whether it changed the ticks' period. */
bool vg_budget_check(struct vg_budget *budget, struct vg_ticks *ticks, uint32_t periods,
		     const struct vg_pauses *pauses);

#endif
