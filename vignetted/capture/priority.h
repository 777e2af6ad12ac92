/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PRIORITY_H
#define VG_VIGNETTED_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What we ask of the scheduler: to run soon when we wake while a stopped thread waits for us, for on a
 * machine whose cores are all busy that is the difference between pauses of 0.1 ms and of 4 ms; and no
 * more than our due at any other time, for then it is the threads that we sample who wait.  A short
 * slice needs no privilege (Linux 6.12), a real-time priority does; where only a better nice value is
 * allowed, that stays.
 */
struct vg_priority {
	bool can_raise;              /* to a real-time priority */
	bool raised, used;           /* now; and since we woke */
	int nice;
	uint64_t woken_ns;
};

void vg_priority_begin(struct vg_priority *priority);

/* From the request to stop a thread until it is let go; and while one that is late is waited for, where
 * nothing else is done.  Does nothing where that is not allowed, or nothing has
 * begun.  Lowering soon after we woke leaves it raised: for the next stop, after the next sleep too. */
void vg_priority_raise(struct vg_priority *priority);
void vg_priority_lower(struct vg_priority *priority);

/* When we wake: what was left raised is lowered if there was no use for it since we woke before. */
void vg_priority_woken(struct vg_priority *priority);

/* At once, before what takes long. */
void vg_priority_rest(struct vg_priority *priority);

#endif
