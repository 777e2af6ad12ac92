/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SCHEDULE_H
#define VG_VIGNETTED_SCHEDULE_H

#include "vignetted/session/session.h"

/* A session's ticks are as fast as its fastest recording needs, and may cost as much as the most generous allows. */

/* Recordings have come or gone: ticks, timers and the budget follow. */
void vg_schedule_follow(struct vg_session *session);

/* Once a tick, when the round is over: decides anew how many periods lie between ticks (policy/pace.h). */
void vg_schedule_adapt(struct vg_session *session);

/* Writes into the profiles how far apart their samples are. */
void vg_schedule_rates(struct vg_session *session);

#endif
