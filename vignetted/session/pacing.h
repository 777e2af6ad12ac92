/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PACING_H
#define VG_VIGNETTED_PACING_H

#include "vignetted/session/session.h"

/*
 * How many sampling periods there are from one tick to the next.
 *
 * That the helper wakes costs a busy program more than the samples do: it takes a CPU from somebody,
 * and requests that would have been answered one by one wait together.  While interrupts sample, and
 * nothing is due at each period, ticks are as far apart as the rings have room for: where only CPU
 * time is asked for, and where no thread waits for long, so that there is little to look at: for a tenth of
 * the time at most, or so shortly each time that looks could tell no more than how much it is in all.
 */

/* A tick every period, until more is known. */
void vg_pacing_begin(struct vg_session *session);

/* Whether threads that ran at all since the latest call ran nearly all the time. */
void vg_pacing_weigh(struct vg_session *session);

/* Ticks as far apart as may be by now. */
void vg_pacing_adapt(struct vg_session *session);

/* From one sample of a thread to the next, by the ticks. */
uint64_t vg_pacing_period_ns(const struct vg_session *session);

/* Whether waits are looked at more seldom than every period, though they are asked for. */
bool vg_pacing_is_wide(const struct vg_session *session, const struct vg_recording *recording);

#endif
