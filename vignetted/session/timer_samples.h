/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TIMER_SAMPLES_H
#define VG_VIGNETTED_TIMER_SAMPLES_H

#include "vignetted/session/session_state.h"

/*
 * The samples that timers take of running threads (capture/timers.h).
 *
 * Each timer sample measures one period of its thread's CPU time; policy/weights.h says how a sample is weighted.  A
 * running thread with timers is stopped in five cases:
 *
 *  - The timers were opened at this tick.  They take their first sample one period later.
 *  - The round takes a sample of each thread at once (vg_session_sample()).
 *  - A timer sample does not suffice to unwind the thread's stack (doc/design/capture.md has the list).
 *  - The timers have measured less CPU time than the scheduler reports, because the thread runs kernel code that must
 *    not be sampled, or runs on a CPU without a ring.
 *  - The thread has been in the run queue for long.  Timers do not expire in that time (doc/design/time.md).
 */

/* Fetches the timer samples, oldest first, and records them. */
void vg_timer_samples_fetch(struct vg_session *session);

/* Decides whether timers or stops sample the thread while it runs, and opens or closes its timers.  The caller has read
 * task->activity at now_ns, a session time, and has passed it to vg_weights_observe().  Returns the recordings
 * of `due` for which timers sample the thread. */
vg_recording_set vg_timer_samples_decide(struct vg_session *session, struct vg_task *task, vg_recording_set due,
					 uint64_t now_ns);

/* Call it at the end of a round, in which timers may have been opened. */
void vg_timer_samples_round_end(struct vg_session *session);

#endif
