/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_THREAD_SAMPLE_H
#define VG_VIGNETTED_THREAD_SAMPLE_H

#include "vignetted/session/session.h"

/* One sample of one thread for the recordings of the round: its activity is read, the methods are chosen
 * (policy/methods.h), its stack is copied and walked, and the sample is written.  What cannot be sampled is counted in
 * the recorder's losses. */
void vg_thread_sample(struct vg_session *session, struct vg_task *task);

#endif
