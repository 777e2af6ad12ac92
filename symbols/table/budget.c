/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/budget.h"

#include <errno.h>

void vg_budget_extend(struct vg_budget *budget, uint64_t bytes, uint64_t steps_per_byte)
{
	uint64_t steps;

	if (__builtin_mul_overflow(bytes, steps_per_byte, &steps) ||
	    __builtin_add_overflow(budget->steps, steps, &budget->steps))
		budget->steps = UINT64_MAX;
}

int vg_budget_spend(struct vg_budget *budget, uint64_t steps)
{
	if (budget->steps < steps)
		return -ENOBUFS;
	budget->steps -= steps;
	return 0;
}
