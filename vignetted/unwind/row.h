/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ROW_H
#define VG_VIGNETTED_ROW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How to find the caller of the frame that runs at one address: a row of the table that call
 * frame information describes (DWARF 5, section 6.4.1), kept to what nearly all rows need.  The
 * canonical frame address (CFA) is the caller's stack pointer; frame pointer and return address
 * lie at fixed places from it or from a register.
 */
enum vg_row_kind {
	VG_ROW_PLAIN,                /* the fields below say it all */
	VG_ROW_ROOT,                 /* the return address is undefined: a thread's first frame */
	VG_ROW_NONE,                 /* no unwind information covers the address */
	VG_ROW_COMPLEX,              /* there is, and it takes more than this to follow it */
};

/* What a place is counted from. */
enum vg_row_base {
	VG_FROM_SAME,                /* not saved: the register still has the caller's value */
	VG_FROM_CFA,
	VG_FROM_SP,                  /* the stack pointer in this frame */
	VG_FROM_FP,                  /* the frame pointer in this frame */
	VG_FROM_NOWHERE,             /* undefined */
	VG_FROM_REGISTER,            /* of ra_base only: in the register whose number ra_offset is */
};

struct vg_row {
	uint8_t kind;                /* enum vg_row_kind */
	uint8_t cfa_base;            /* VG_FROM_SP or VG_FROM_FP */
	uint8_t cfa_deref;           /* the CFA is the word at base + offset, not base + offset */
	uint8_t cfa_added;           /* and this added to it */
	uint8_t fp_base;             /* enum vg_row_base: where the caller's frame pointer is */
	uint8_t ra_base;             /* VG_FROM_CFA, VG_FROM_SP, VG_FROM_FP or VG_FROM_REGISTER */
	uint8_t signal;              /* a signal trampoline: its caller was interrupted, not calling */
	int32_t cfa_offset, fp_offset, ra_offset;
};

#endif
