/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ROUND_H
#define VG_VIGNETTED_ROUND_H

#include "vignetted/session/session.h"

/* One sample of every thread for those recordings, if they are live.  Stops those that reach a limit or cannot write,
 * and all when the process is gone. */
void vg_round(struct vg_session *session, vg_recording_set due);

#endif
