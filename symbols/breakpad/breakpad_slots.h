/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_SLOTS_H
#define VG_SYMBOLS_BREAKPAD_SLOTS_H

#include "base/array.h"
#include "base/intern.h"

/* Files and inline origins have numbers of their own, which may come in any order: each number
 * seen gets a slot, and lines and inlines hold slots until the end. */
struct vg_sym_slots {
	VG_ARRAY(uint32_t) dense;       /* number -> slot, or NONE */
	struct vg_intern sparse;        /* numbers that are far beyond what was counted so far */
	VG_ARRAY(uint32_t) sparse_slots;
	uint32_t count;
};
#define VG_SYM_SLOTS_MAX (UINT32_C(1) << 30)

/* 1 if the number is new, 0 if not, -ENOMEM. */
int vg_sym_slot(struct vg_sym_slots *slots, uint64_t number, uint32_t *slot);
void vg_sym_slots_free(struct vg_sym_slots *slots);

#endif
