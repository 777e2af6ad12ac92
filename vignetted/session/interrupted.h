/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_INTERRUPTED_H
#define VG_VIGNETTED_INTERRUPTED_H

#include "vignetted/session/session.h"

/*
 * The samples that the kernel takes of running threads (interrupts.h), and what they mean for the
 * session.
 *
 * Each stands for one period of its thread's CPU time.  A thread that they tell of is not stopped,
 * unless its stack is deeper than what they copy, or they fall behind what the scheduler says that
 * it has used: because it is in the kernel where that must not be sampled, or it was given a CPU
 * that has no ring.
 */

/* Fetches those that there are, oldest first, and records them. */
void vg_interrupted_fetch(struct vg_session *session);

/* Whether interrupts tell the recording of this thread's running, which has used so much CPU time by
 * now.  If so, what it has used is theirs to account for.  Where timers are of CPUs, one that they do not
 * reach is told of by stops until they have met it again. */
bool vg_interrupted_covers(const struct vg_session *session, const struct vg_recording *recording,
			   struct vg_task *task, uint64_t cpu_ns);

#endif
