/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ENDING_H
#define VG_VIGNETTED_ENDING_H

#include "vignetted/session/session.h"

/* Why a recording ends whose program has hung up: the process ends, or else `otherwise`.  Waits up to 0.4 s for a
 * process that is exiting; returns at once otherwise. */
const char *vg_ending_reason(struct vg_session *session, const char *otherwise);

#endif
