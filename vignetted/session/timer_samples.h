/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TIMER_SAMPLES_H
#define VG_VIGNETTED_TIMER_SAMPLES_H

#include "vignetted/session/session.h"

/*
 * The samples that the kernel's timers take of running threads (capture/timers.h).
 *
 * Each measures one period of its thread's CPU time; what a sample stands for is in policy/weights.h.  A thread that has timers is not stopped, unless its stack is deeper
 * than what they copy, or they fall behind the CPU time that the scheduler reports: because the thread is in the kernel
 * where that must not be sampled, or it was given a CPU that has no ring.
 */

/* Fetches those that there are, oldest first, and records them. */
void vg_timer_samples_fetch(struct vg_session *session);

/* Observes the thread's clocks for the recordings' weights, decides whether timers or stops sample the thread, and gives it
 * timers or takes them away.  task->look is of now.  The recordings for which timers sample it. */
vg_recording_set vg_timer_samples_decide(struct vg_session *session, struct vg_task *task, vg_recording_set set,
					 const struct vg_clocks *clocks);

#endif
