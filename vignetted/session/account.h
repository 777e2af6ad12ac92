/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ACCOUNT_H
#define VG_VIGNETTED_ACCOUNT_H

#include "vignetted/session/session_state.h"

/*
 * What one recording writes about one thread: its creation, names, samples and exit.  The state between two samples is
 * the struct vg_account in task->accounts[recording->index].  target/tasks.h defines it, because struct vg_task
 * contains the accounts.  Times are session times.  Only vg_account_flush() returns write errors.  All write errors
 * stay in the writer (writer.failed).
 *
 *     vg_account_begin(recording, task, thread, begin_ns, found_ns, &unsampled_ns);
 *     vg_account_sample(recording, task, events, &sample, &weights);
 *     vg_account_thread_end(recording, task, end_ns, &unsampled_ns);
 */

/* Begins the account of a thread that was created at about begin_ns and found at found_ns.  `thread` has its tid, and
 * its id if it is in the profile already, because of its events; else VG_NONE.  *unsampled_ns: see vg_weights_begin().
 * vg_account_finish() or vg_account_thread_end() ends it. */
void vg_account_begin(struct vg_recording *recording, struct vg_task *task, struct vg_thread thread,
		      uint64_t begin_ns, uint64_t found_ns, uint64_t *unsampled_ns);

/* After vg_recorder_restart(): writes the thread and its latest stack again.  now_ns: the recording's time. */
void vg_account_restart(struct vg_recording *recording, struct vg_task *task, uint64_t now_ns);

/* Writes the thread's name, if it has changed since it was last written to this profile. */
void vg_account_name(struct vg_recording *recording, struct vg_task *task, uint64_t now_ns);

/* A new stack of a thread. */
struct vg_new_sample {
	const struct vg_walk *walk;
	int64_t call;                /* the system call that the thread waits in, or -1 */
	uint64_t interval;           /* token of the thread's interval, or 0 */
	uint64_t time_ns;
	uint64_t number;             /* of the stack: see vg_task.latest */
};

/* Whether the recording has the thread's latest stack, so that it can be repeated. */
bool vg_account_has_latest(const struct vg_recording *recording, const struct vg_task *task);

/* Takes a sample with these weights (policy/weights.h).  The thread's next sample may
 * add weight to this sample.  So this sample is written only when the next one is taken, or by vg_account_flush(). */
void vg_account_sample(struct vg_recording *recording, struct vg_task *task, const struct vg_events *events,
		       const struct vg_new_sample *sample, const struct vg_weight_pair *weights);

/* Takes `count` samples with the stack of the latest sample, because the thread has not run since.  Repeats in a row
 * become one record. */
void vg_account_repeat(struct vg_recording *recording, struct vg_task *task, uint32_t count, uint64_t time_ns,
		       const struct vg_weight_pair *weights);

/* Writes the latest sample and its repeats.  Returns 0 or a negative errno. */
int vg_account_flush(struct vg_recording *recording, struct vg_task *task);

/* The recording ends, and the thread continues: adds to the thread's latest stack the time that is in no sample yet. */
void vg_account_finish(struct vg_recording *recording, struct vg_task *task, uint64_t now_ns);

/* The thread exited at about end_ns.  The CPU time that the thread is assumed to have used since it was last read is
 * subtracted from *unsampled_ns. */
void vg_account_thread_end(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns,
			   uint64_t *unsampled_ns);

#endif
