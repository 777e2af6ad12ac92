/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_THREAD_SAMPLE_H
#define VG_VIGNETTED_THREAD_SAMPLE_H

#include "vignetted/session/session_state.h"

/* Takes one sample of one thread for the recordings of the round: reads its activity, chooses the methods
 * (policy/policy.h), copies and walks its stack, and writes the sample.  If the sample fails, counts a loss. */
void vg_thread_sample(struct vg_session *session, struct vg_task *task);

#endif
