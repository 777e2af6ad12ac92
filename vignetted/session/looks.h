/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LOOKS_H
#define VG_VIGNETTED_LOOKS_H

#include "vignetted/session/session.h"

/*
 * Looks at threads, and as few as will do.  Most threads of most programs have slept for long.
 * Whether any of those has run is seen at once: the processor time of the process, less that of
 * the threads that are awake, is what it was.  The kernel adds it up in a hundredth of what asking
 * for each takes, from the very numbers that it tells of each.  Time that a thread has used since
 * the scheduler's latest tick is in neither; so a thread that has slept for a second and more may
 * be seen to run that much late.
 */

/*
 * Begins a round: reads the process's processor time, and looks at the threads that are awake if
 * that may spare others.  Sets session->target_cpu_ns, rest_still and looks_fresh; and `still`, for
 * where no thread at all has run since a recording's latest round, none need be looked at for it.
 * Whether any has run since the latest round of all.
 */
bool vg_looks_begin(struct vg_session *session);

/* vg_session_scan() where it is needed: a new thread that has run, and one that has ended, have used
 * processor time.  In a crowd no more often than every 16 ms. */
int vg_looks_scan(struct vg_session *session);

/* Once for each thread, when it was to be sampled for the first time: task->exiting says what came of it. */
void vg_looks_judge(struct vg_session *session, struct vg_task *task);

/* Whether new threads are found all the time, most of which are gone when they are to be sampled: then
 * scans are so far apart. */
bool vg_looks_crowded(const struct vg_session *session);
enum { VG_SCAN_CROWD_NS = 16 * 1000 * 1000 };

/* Sets task->look, unless what is there still holds.  0, -ESRCH: the thread is gone, or another
 * negative errno. */
int vg_look_at(struct vg_session *session, struct vg_task *task);

#endif
