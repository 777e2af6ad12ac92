/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ROUND_H
#define VG_VIGNETTED_ROUND_H

#include "vignetted/session/session_state.h"

/* Takes one sample of every thread for those recordings of `due` that are live.  Stops recordings that reach a limit or
 * cannot write.  If the process has ended, stops all recordings. */
void vg_round(struct vg_session *session, vg_recording_set due);

/* Takes one sample of this thread for those recordings of `due` that are live.  Reads no other thread, except for the
 * list of threads if the thread is not in session->tasks.  Returns 0, -ESRCH if there is no such thread, or -ENOSPC if
 * it is beyond vg_tasks.max. */
int vg_round_thread(struct vg_session *session, vg_recording_set due, pid_t tid);

#endif
