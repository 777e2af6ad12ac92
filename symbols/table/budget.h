/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BUDGET_H
#define VG_SYMBOLS_BUDGET_H

#include <stdint.h>

/*
 * The work that a reader may spend on a file, in steps: damaged or hostile input can send it in
 * circles.  Internal to symbols/.
 */
struct vg_budget {
	uint64_t steps;                         /* left */
};

/* Adds the steps that so many bytes allow, up to UINT64_MAX. */
void vg_budget_extend(struct vg_budget *budget, uint64_t bytes, uint64_t steps_per_byte);

/* 0, or -ENOBUFS when fewer steps are left. */
int vg_budget_spend(struct vg_budget *budget, uint64_t steps);

#endif
