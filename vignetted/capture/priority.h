/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PRIORITY_H
#define VG_VIGNETTED_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The helper's scheduling priority.
 *
 * While a thread is stopped, the helper must get a CPU at once.  On a machine whose cores are all busy, this shortens
 * pauses from 4 ms to 0.1 ms.  At other times the helper must not take more than its share, because the threads that it
 * samples would wait for it.  So the helper has a real-time priority while a thread is stopped, and a short timeslice
 * otherwise.  A real-time priority needs a privilege.  A short timeslice needs none (Linux 6.12).  If a real-time
 * priority is not allowed, the helper tries to set a better nice value, and keeps that value all the time.
 *
 *     vg_priority_raise(&priority);
 *     ...                                      stops a thread, copies its stack, releases it
 *     vg_priority_lower(&priority);
 *
 * Without the privilege the functions change no priority.  The same holds before vg_priority_begin() if the struct is
 * all zero.
 */
struct vg_priority {
	bool can_raise;              /* a real-time priority is allowed */
	bool raised;                 /* the helper has the real-time priority now */
	bool used;                   /* vg_priority_raise() was called since the helper woke */
	int nice;                    /* nice value while not raised */
	uint64_t woken_ns;           /* CLOCK_MONOTONIC when the helper woke */
};

void vg_priority_begin(struct vg_priority *priority);

/* Call vg_priority_raise() before a thread is asked to stop, and while waiting for a thread that stops late.  Call
 * vg_priority_lower() after the thread is released.  For a short time after the helper woke, vg_priority_lower() does
 * nothing: the next stop will need the priority again. */
void vg_priority_raise(struct vg_priority *priority);
void vg_priority_lower(struct vg_priority *priority);

/* Call it when the helper has just woken.  Lowers the priority if vg_priority_raise() was not called between the
 * previous wake-up and this one. */
void vg_priority_woken(struct vg_priority *priority);

/* Lowers the priority at once.  Call it before anything that takes long. */
void vg_priority_lower_now(struct vg_priority *priority);

#endif
