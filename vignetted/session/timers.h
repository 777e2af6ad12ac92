/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TIMERS_H
#define VG_VIGNETTED_TIMERS_H

#include "vignetted/session/session.h"

/*
 * Which of the kernel's timers sample a session's threads (interrupts.h): what they cost these is weighed
 * against what stops would.
 *
 *     of threads, inherited       at first
 *     of four threads             where many threads are made
 *     of CPUs                     where threads are switched often, if that is allowed and the CPUs are few
 *     halted, then closed         where they are, and it is not
 */

/* Tries to have some, that far apart, for the recordings that there are now; without, the session
 * stops threads.  Where they can no longer be opened, those that there are stay, and recordings that
 * are faster stop threads. */
void vg_timers_follow(struct vg_session *session, uint64_t period_ns);

/* Once a tick: has the kernel sample, or not, by what either way would cost the threads. */
void vg_timers_weigh(struct vg_session *session);

#endif
