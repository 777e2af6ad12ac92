/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TIMER_SAMPLES_H
#define VG_VIGNETTED_TIMER_SAMPLES_H

#include "vignetted/session/session.h"

/*
 * The samples that the kernel's timers take of running threads (interrupts.h).
 *
 * Each stands for one period of its thread's CPU time.  A thread that timers sample is not stopped, unless its stack is
 * deeper than what they copy, or they fall behind the CPU time that the scheduler reports: because it is in the kernel
 * where that must not be sampled, or it was given a CPU that has no ring.
 */

/* Fetches those that there are, oldest first, and records them. */
void vg_timer_samples_fetch(struct vg_session *session);

/* Whether timers sample the thread, whose task->look is of now, for the recording.  If so, its CPU time is theirs to
 * account for.  A thread that timers of CPUs do not reach is stopped until they meet it again. */
bool vg_timer_samples_cover(const struct vg_session *session, const struct vg_recording *recording,
			    struct vg_task *task);

#endif
