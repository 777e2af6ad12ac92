/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ACCOUNT_H
#define VG_VIGNETTED_ACCOUNT_H

#include "vignetted/session/recording.h"
#include "vignetted/target/events.h"

/*
 * What one recording writes of one thread: its beginning, names, samples and end.  Times are session time.
 * A writer that fails remembers that.
 */

/* Begins the account.  `thread` has the thread's number; the rest is set here. */
void vg_account_begin(struct vg_recording *recording, struct vg_task *task, struct vg_thread thread,
		      uint64_t begin_ns);

/* Writes the thread's name, if the profile has another. */
void vg_account_name(struct vg_recording *recording, struct vg_task *task, uint64_t now_ns);

/* A stack of a thread, and what was found out with it. */
struct vg_taken {
	const struct vg_walk *walk;
	int64_t call;                /* the system call that the thread waits in, or -1 */
	uint64_t interval;           /* that it is in: a token, or 0 */
	uint64_t time_ns;
	uint64_t slices;             /* the count that will say it has not run since */
};

/* Takes a sample of that weight (policy/weights.h).  It is written when the thread's next sample is taken, which may give it
 * more weight, or by vg_account_settle(). */
void vg_account_sample(struct vg_recording *recording, struct vg_task *task, const struct vg_events *events,
		       const struct vg_taken *taken, const struct vg_weight_pair *weights);

/* The thread is where it was at its latest sample: that stack stands for these samples too.  Many in a row become one
 * record. */
void vg_account_repeat(struct vg_recording *recording, struct vg_task *task, uint32_t count, uint64_t time_ns,
		       const struct vg_weight_pair *weights);

/* Writes what is not written yet. */
int vg_account_settle(struct vg_recording *recording, struct vg_task *task);

/* The recording ends now, and the thread goes on: gives the time that is in no sample yet to its latest stack. */
void vg_account_rest(struct vg_recording *recording, struct vg_task *task, uint64_t now_ns);

/* The thread ended at about that time. */
void vg_account_end(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns);

#endif
