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

/* A sample of a thread. */
struct vg_taken {
	const struct vg_walk *walk;
	int64_t call;                /* the system call that the thread waits in, or -1 */
	uint64_t interval;           /* that it is in: a token, or 0 */
	uint64_t time_ns;
	uint64_t cpu_ns;             /* that the thread has used in all */
	uint64_t timer_ns;           /* the CPU time that a timer sample stands for; 0: the thread was read or stopped */
	uint64_t slices;             /* the count that will say it has not run since */
	bool waits_rarely_read;      /* ticks are several periods apart */
};

/* Writes the sample. */
void vg_account_sample(struct vg_recording *recording, struct vg_task *task, const struct vg_events *events,
		       const struct vg_taken *taken);

/* The same for a timer sample, which stands for the CPU time that timers measured since the latest one; taken->cpu_ns
 * and timer_ns are set here.  `random` says that timers meet the thread at random, as those of CPUs do. */
void vg_account_timer_sample(struct vg_recording *recording, struct vg_task *task, const struct vg_events *events,
			     struct vg_taken taken, bool random);

/* The thread is where it was at its latest sample, or could not be read: that stack stands
 * for it.  Many of these in a row become one record, written by vg_account_settle(). */
void vg_account_repeat(struct vg_recording *recording, struct vg_task *task, uint32_t count,
		       uint64_t now_ns, uint64_t cpu_ns);
int vg_account_settle(struct vg_recording *recording, struct vg_task *task);

/* The thread's CPU time began anew, if task->renewed says so. */
void vg_account_renew(struct vg_task *task);

/* The thread ended at about that time. */
void vg_account_end(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns);

#endif
