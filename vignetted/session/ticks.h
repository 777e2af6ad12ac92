/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TICKS_H
#define VG_VIGNETTED_TICKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When samples are due: once in every period, at a time in it that changes at random, so that no program that does
 * something periodically is always sampled at the same point of it.  Periods are absolute: a late tick does not
 * shift those that follow.
 */
struct vg_ticks {
	uint64_t period_ns;          /* 0: never */
	uint64_t due_ns;             /* the next tick */
	uint64_t phase_ns;           /* of it in its period */
	uint64_t period_end_ns;      /* of the period that it is in */
	uint64_t skipped;            /* periods that passed without their tick */
	uint64_t late;               /* ticks that came more than half a period late */
	uint64_t random;
	bool follow;                 /* set by the caller once started: at any time in the first half of a period, for
	                                those who take the next tick of others */
};

void vg_ticks_start(struct vg_ticks *ticks, uint64_t period_ns, uint64_t now_ns);

/* Whether a sample is due; if so, sets when the next is. */
bool vg_ticks_due(struct vg_ticks *ticks, uint64_t now_ns);

/* Starts anew with another period, or with none; the counts go on. */
void vg_ticks_restart(struct vg_ticks *ticks, uint64_t period_ns, uint64_t now_ns);

/* Another period, from the next tick on. */
void vg_ticks_change(struct vg_ticks *ticks, uint64_t period_ns);

#endif
