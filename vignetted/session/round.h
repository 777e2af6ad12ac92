/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ROUND_H
#define VG_VIGNETTED_ROUND_H

#include "vignetted/session/session.h"

/* Takes one sample of every thread for those recordings of `due` that are live.  Stops recordings that reach a limit or
 * cannot write.  If the process has ended, stops all recordings. */
void vg_round(struct vg_session *session, vg_recording_set due);

#endif
