/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RATES_H
#define VG_VIGNETTED_RATES_H

#include "vignetted/session/session.h"

/* A session's ticks: as fast as its fastest recording needs, they cost as much as the most generous allows. */

/* Recordings have come or gone: ticks, timers and the budget follow. */
void vg_rates_follow(struct vg_session *session);

/* Tells the profiles how far apart their samples are. */
void vg_rates_tell(struct vg_session *session);

#endif
