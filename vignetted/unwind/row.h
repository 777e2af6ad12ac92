/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ROW_H
#define VG_VIGNETTED_ROW_H

#include <stdbool.h>
#include <stdint.h>

/* How to find the caller of a frame at one address.  Call frame information describes a table of rows (DWARF 5, section
 * 6.4.1).  A struct vg_row is one row of that table, reduced to what nearly all rows need.  The canonical frame address
 * (CFA) is the caller's stack pointer.  The caller's frame pointer and the return address are at fixed offsets from the
 * CFA or from a register. */
enum vg_row_kind {
	VG_ROW_PLAIN,                /* struct vg_row holds the whole row */
	VG_ROW_ROOT,                 /* the return address is undefined: root frame */
	VG_ROW_NONE,                 /* no unwind information covers the address */
	VG_ROW_COMPLEX,              /* unwind information that struct vg_row cannot hold, or that is malformed */
	VG_ROW_UNLOADED,             /* the module was unloaded before the row was decoded */
};

/* The base to which an offset is added. */
enum vg_row_base {
	VG_FROM_SAME,                /* not saved: the register holds the caller's value */
	VG_FROM_CFA,
	VG_FROM_SP,
	VG_FROM_FP,
	VG_FROM_UNDEFINED,           /* the caller's value is lost */
	VG_FROM_REGISTER,            /* ra_base only: the return address is in the register with DWARF number
					ra_offset */
};

struct vg_row {
	uint8_t kind;                /* enum vg_row_kind */
	uint8_t cfa_base;            /* VG_FROM_SP or VG_FROM_FP */
	uint8_t cfa_deref;           /* if set, the CFA is the word at cfa_base + cfa_offset */
	uint8_t cfa_addend;          /* bytes to add to that word; 0 without cfa_deref */
	uint8_t fp_base;             /* enum vg_row_base: where the caller's frame pointer is */
	uint8_t ra_base;             /* where the return address is: VG_FROM_CFA, VG_FROM_SP, VG_FROM_FP or
					VG_FROM_REGISTER */
	uint8_t signal;              /* signal trampoline: the caller was interrupted and made no call */
	int32_t cfa_offset, fp_offset, ra_offset; /* bytes, each from the base of the same name */
};

#endif
