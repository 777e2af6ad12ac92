/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ENDING_H
#define VG_VIGNETTED_ENDING_H

#include "vignetted/session/session.h"

/* Why a recording ends whose program has hung up: the process ends, or else `otherwise`.  Returns at once unless
 * the process is on its way out, which it may take 0.4 s to be waited for. */
const char *vg_ending_reason(struct vg_session *session, const char *otherwise);

#endif
