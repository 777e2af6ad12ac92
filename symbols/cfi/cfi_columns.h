/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_COLUMNS_H
#define VG_SYMBOLS_CFI_COLUMNS_H

#include "symbols/cfi/cfi_reader.h"

/*
 * The columns of a row: .cfa, .ra, and the registers that have names, sorted by name.
 */

/* Sets the columns for a CIE whose return address is in `return_register`. */
void vg_cfi_columns_set(struct vg_cfi_reader *reader, uint64_t return_register);
/* The column of a register; UINT8_MAX if it has no name. */
uint8_t vg_cfi_column(const struct vg_cfi_reader *reader, uint64_t reg);

#endif
