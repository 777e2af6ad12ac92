/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SESSION_THREADS_H
#define VG_VIGNETTED_SESSION_THREADS_H

#include "vignetted/session/session.h"

/* Which threads the process has, and what profiles say of that: their beginnings, names and ends. */

/* Finds which threads there are, begins and ends their accounts, and fetches events.  0; -ESRCH: the process is
 * gone; or another negative errno. */
int vg_threads_scan(struct vg_session *session);

/* The same where it is needed: a new thread that has run, and one that has ended, have used CPU time. */
int vg_threads_scan_due(struct vg_session *session);

/* Reads the thread's name again, and writes it into the profiles that want it. */
void vg_threads_name(struct vg_session *session, struct vg_task *task, uint64_t now_ns);

/* The same of all threads that have run since the latest call. */
void vg_threads_names(struct vg_session *session);

/* The thread has been found to be gone: the next scan says so to the profiles. */
void vg_threads_gone(struct vg_session *session, struct vg_task *task);

#endif
