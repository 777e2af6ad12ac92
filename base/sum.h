/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_SUM_H
#define VG_BASE_SUM_H

#include <stdint.h>

/* The sum, or UINT64_MAX if it overflows.  Sums of times in a hostile profile can overflow. */
static inline uint64_t vg_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#endif
