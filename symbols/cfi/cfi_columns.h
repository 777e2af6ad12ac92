/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_COLUMNS_H
#define VG_SYMBOLS_CFI_COLUMNS_H

#include "symbols/cfi/cfi_reader.h"

/*
 * The columns of the rows: .cfa, .ra and the registers with names, in the order of their names.
 */

/* Lays out the columns for a return address in that register. */
void vg_cfi_lay_out(struct vg_cfi_reader *reader, uint64_t return_register);
/* The column of a register, or UINT8_MAX if it has no name. */
uint8_t vg_cfi_column(const struct vg_cfi_reader *reader, uint64_t reg);

#endif
