/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SCHEDULE_H
#define VG_VIGNETTED_SCHEDULE_H

#include "vignetted/session/session_state.h"

/* A session ticks as often as its fastest recording needs, and may cost as much as its largest budget allows. */

/* Sets ticks, timers and budget after a recording began or stopped. */
void vg_schedule_update(struct vg_session *session);

/* Decides again how many sampling periods lie between two ticks (policy/pace.h).  Call it after each round. */
void vg_schedule_pace(struct vg_session *session);

/* Writes the sampling periods to the profiles, if they have changed. */
void vg_schedule_rates_write(struct vg_session *session);

#endif
