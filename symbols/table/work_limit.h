/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_WORK_LIMIT_H
#define VG_SYMBOLS_WORK_LIMIT_H

#include <stdint.h>

/*
 * Limits the work on one file, in steps.  Each reader defines what a step is.  A damaged or hostile
 * file can refer to itself in a circle, or describe more than its size allows.  Internal to
 * symbols/.
 *
 *     rc = vg_work_limit_use(&reader->work_limit, 1);
 *     if (rc != 0)
 *             return rc;
 */
struct vg_work_limit {
	uint64_t steps_left;
};

/* Adds bytes * steps_per_byte steps, up to UINT64_MAX. */
void vg_work_limit_extend(struct vg_work_limit *work_limit, uint64_t bytes, uint64_t steps_per_byte);

/* Takes `steps` from the limit.  Returns 0, or -ENOBUFS if fewer steps are left. */
int vg_work_limit_use(struct vg_work_limit *work_limit, uint64_t steps);

#endif
