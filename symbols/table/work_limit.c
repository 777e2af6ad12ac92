/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/work_limit.h"

#include <errno.h>

void vg_work_limit_extend(struct vg_work_limit *work_limit, uint64_t bytes, uint64_t steps_per_byte)
{
	uint64_t steps;

	if (__builtin_mul_overflow(bytes, steps_per_byte, &steps) ||
	    __builtin_add_overflow(work_limit->steps_left, steps, &work_limit->steps_left))
		work_limit->steps_left = UINT64_MAX;
}

int vg_work_limit_use(struct vg_work_limit *work_limit, uint64_t steps)
{
	if (work_limit->steps_left < steps)
		return -ENOBUFS;
	work_limit->steps_left -= steps;
	return 0;
}
