/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SAMPLING_H
#define VG_VIGNETTED_SAMPLING_H

#include "vignetted/session/session.h"

/*
 * One sample of one thread.  It is disturbed as little as can be:
 *
 *   it has not run since its latest sample   that stack stands for it, nothing is copied
 *   it waits                                 the stack is copied as it waits
 *   it runs, and interrupts tell of it       nothing: see interrupted.h
 *   it runs                                  it is stopped, its stack copied, and let go
 *
 * What cannot be sampled is counted in the recorder's losses.
 */
void vg_sampling_thread(struct vg_session *session, struct vg_task *task);

#endif
