/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_SLOTS_H
#define VG_SYMBOLS_BREAKPAD_SLOTS_H

#include "base/array.h"
#include "base/intern.h"

/* Maps the numbers of FILE or INLINE_ORIGIN records to slots, which count from 0.  Numbers are
 * untrusted and may be large and in any order.  A map that is all zero is empty. */
struct vg_sym_slots {
	VG_ARRAY(uint32_t) dense;       /* by number: slot, or VG_SYMBOLS_NONE */
	struct vg_intern sparse;        /* numbers that are much larger than `count` */
	VG_ARRAY(uint32_t) sparse_slots; /* by id in `sparse`: slot */
	uint32_t count;                 /* number of slots */
};
#define VG_SYM_SLOTS_MAX (UINT32_C(1) << 30)

/* Sets *slot to the number's slot.  Returns 1 if the number is new, 0 if it is known, or -ENOMEM. */
int vg_sym_slot(struct vg_sym_slots *slots, uint64_t number, uint32_t *slot);
void vg_sym_slots_free(struct vg_sym_slots *slots);

#endif
