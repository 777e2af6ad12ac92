/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SESSION_THREADS_H
#define VG_VIGNETTED_SESSION_THREADS_H

#include "vignetted/session/session_state.h"

/* Finds the threads of the process, and writes their creation, names and exit to the profiles. */

/* Finds the threads, begins and ends their accounts, and fetches events.  Stops the recordings of one thread whose
 * thread has ended.  If all live recordings are of one thread each, no other thread is listed or read.  Returns 0,
 * -ESRCH if the process has ended, or another negative errno. */
int vg_threads_scan(struct vg_session *session);

/* Calls vg_threads_scan() if a thread can have been created or have exited: the number of threads has changed, or a new
 * or sleeping thread may have used CPU time.  If neither is true, only fetches events. */
int vg_threads_scan_if_due(struct vg_session *session);

/* Reads the thread's name again, and writes it to the profiles that have names. */
void vg_threads_name_read(struct vg_session *session, struct vg_task *task, uint64_t now_ns);

/* Calls vg_threads_name_read() for all threads that have run since the latest call. */
void vg_threads_names_read(struct vg_session *session);

/* Notes that the thread has exited, unless it is the process's first thread (vg_task.exiting).  The next scan writes
 * exits to the profiles. */
void vg_threads_exited(struct vg_session *session, struct vg_task *task);

/* Returns the end reason of a recording whose program has closed its connection.  The reason is "the process ended" if
 * the process has exited or is exiting; if not, it is the text `otherwise`.  If the process is exiting, waits up to
 * 0.4 s for the exit. */
const char *vg_threads_end_reason(struct vg_session *session, const char *otherwise);

#endif
