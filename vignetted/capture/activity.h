/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ACTIVITY_H
#define VG_VIGNETTED_ACTIVITY_H

#include "vignetted/target/target.h"
#include "vignetted/target/tasks.h"

/*
 * Which threads have run, asked of as few of them as will do.
 *
 * Most threads of most programs have slept for long.  Whether any of those has run is seen at once: the
 * CPU time of the process, less that of the threads that are awake, is then what it was.  The kernel adds
 * it up in 1% of what asking for each thread takes, from the very numbers that it reports of each.  CPU
 * time since the scheduler's latest tick is in neither; so a thread that has slept for a second or more
 * may be seen to run that much late.
 */
struct vg_activity {
	uint64_t round_ns;           /* session time when the latest round began */
	uint64_t process_cpu_ns;     /* the process's CPU time then, or when it was last known */
	bool rest_still;             /* no thread that is asleep has run since it was read */
	bool awake_fresh;            /* those that are awake have just been read */
	bool rest_known;             /* `rest_ns` is set */
	uint64_t rest_ns;            /* the process's CPU time less all threads' when they were read: that
	                                of threads that have ended */
	uint32_t misses, misses_left; /* rounds in a row in which sleepers had run; rounds to pass over */
};

/*
 * Begins a round: reads the process's CPU time, and the threads that are awake if that may spare others.
 * Sets process_cpu_ns, rest_still, awake_fresh, and task->sleep.is_asleep of each thread.
 * Whether any thread has run since the latest round.
 */
bool vg_activity_begin(struct vg_activity *activity, const struct vg_target *target, struct vg_tasks *tasks,
		       uint64_t round_ns);

/* Sets task->look, unless what is there still holds.  0; -ESRCH: the thread is gone; or another negative errno. */
int vg_activity_read(struct vg_activity *activity, struct vg_tasks *tasks, struct vg_task *task);

#endif
