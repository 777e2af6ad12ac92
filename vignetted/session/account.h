/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ACCOUNT_H
#define VG_VIGNETTED_ACCOUNT_H

#include "vignetted/session/session.h"

/* What profiles are told of each thread: its beginning, names, samples and end.  Times are session
 * time.  A writer that fails remembers that. */

/* A thread that the scan found, for those live recordings that have not been told of it; makes the
 * task ready to be sampled. */
void vg_account_begin(struct vg_session *session, struct vg_task *task, uint64_t now_ns);

/* A thread that the scan no longer found. */
void vg_account_end(struct vg_session *session, struct vg_task *task, uint64_t now_ns);

/* Its name, for those recordings that have another and want it. */
void vg_account_name(struct vg_session *session, struct vg_task *task, uint64_t now_ns);

/* What a sample is told of besides the stack. */
struct vg_account_sample {
	int64_t call;                /* the system call that the thread waits in, or -1 */
	uint64_t time_ns;
	uint64_t cpu_ns;             /* that the thread has used in all */
	uint64_t interrupt_ns;       /* processor time that an interrupt tells of; 0: it was looked at */
	uint64_t slices;             /* the count that will say it has not run since */
};

/* A sample with the stack that session->walk holds. */
void vg_account_sample(struct vg_session *session, struct vg_recording *recording,
		       struct vg_task *task, const struct vg_account_sample *taken);

/* The same at a time that has passed, for the CPU time that interrupts told of since the latest. */
void vg_account_interrupt(struct vg_session *session, struct vg_recording *recording,
			  struct vg_task *task, int64_t call, uint64_t time_ns);

/* The thread is where it was at its latest sample, or could not be looked at: that stack stands
 * for it.  Many of these in a row become one record, written by vg_account_settle(). */
void vg_account_repeat(struct vg_recording *recording, struct vg_task *task, uint32_t count,
		       uint64_t now_ns, uint64_t cpu_ns);
int vg_account_settle(struct vg_recording *recording, struct vg_task *task);

#endif
