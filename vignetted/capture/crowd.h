/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CROWD_H
#define VG_VIGNETTED_CROWD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether new threads are found all the time, most of which are gone when they are to be sampled.  They live
 * shorter than it takes us to come to them, are met by chance, and stand for nearly nobody: to find one and
 * learn that it is gone costs as much as several live.  In such a crowd scans for threads are farther apart.
 */
struct vg_crowd {
	uint32_t level;
};

enum { VG_CROWD_SCAN_NS = 16 * 1000 * 1000 };

/* Once for each thread, when it was to be sampled for the first time. */
void vg_crowd_met(struct vg_crowd *crowd, bool is_gone);

/* A scan found no new thread. */
void vg_crowd_nobody(struct vg_crowd *crowd);

bool vg_crowd_is(const struct vg_crowd *crowd);

/* Whether a scan so long after the latest one is too early.  Where ticks are as far apart as scans are to be, they
 * are not equally far (ticks_wide). */
bool vg_crowd_is_early(const struct vg_crowd *crowd, uint64_t since_ns, bool ticks_wide);

#endif
