/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PRIORITY_H
#define VG_VIGNETTED_PRIORITY_H

/*
 * Asks the scheduler to run this process soon when it wakes, for a stopped thread waits for it.
 * On a machine whose cores are all busy that is the difference between pauses of 0.1 ms and of
 * 4 ms.  Takes what it can get: a short slice needs no privilege (Linux 6.12), a better nice
 * value does.
 */
void vg_priority_raise(void);

#endif
