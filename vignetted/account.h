/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ACCOUNT_H
#define VG_VIGNETTED_ACCOUNT_H

#include "vignetted/session.h"

/* What the profile is told of each thread: its beginning, names, samples and end.  All return
 * what the writer returns; times are session time. */

/* A thread that the scan found; makes the task ready to be sampled. */
int vg_account_begin(struct vg_session *session, struct vg_task *task, uint64_t now_ns);

/* A thread that the scan no longer found. */
int vg_account_end(struct vg_session *session, struct vg_task *task, uint64_t now_ns);

/* Its name, if it has changed. */
int vg_account_name(struct vg_session *session, struct vg_task *task, uint64_t now_ns);

/* A sample with the stack that session->walk holds, below `call` if that is not -1. */
int vg_account_sample(struct vg_session *session, struct vg_task *task, int64_t call,
		      uint64_t now_ns, const struct vg_task_look *look);

/* The same at a time that has passed, for so much of its CPU time. */
int vg_account_interrupt(struct vg_session *session, struct vg_task *task, int64_t call,
			 uint64_t time_ns, uint64_t cpu_ns);

/* The thread is where it was at its latest sample, or could not be looked at: that stack stands
 * for it.  Many of these in a row become one record, written by vg_account_settle(). */
void vg_account_repeat(struct vg_session *session, struct vg_task *task, uint64_t now_ns,
		       const struct vg_task_look *look);
int vg_account_settle(struct vg_session *session, struct vg_task *task);

#endif
