/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_RULE_H
#define VG_SYMBOLS_CFI_RULE_H

#include "symbols/cfi/cfi_reader.h"

/* Writes the reader's state as a row that begins at `address`.  If .cfa or .ra cannot be expressed, the
 * range ends at `address`, and the next row begins a new range.  Returns 0, -ENOBUFS or -ENOMEM. */
int vg_cfi_row_write(struct vg_cfi_reader *reader, uint64_t address);
/* Ends the open range, if any, at `address`. */
void vg_cfi_range_end(struct vg_cfi_reader *reader, uint64_t address);

#endif
