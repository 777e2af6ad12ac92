/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_RULE_H
#define VG_SYMBOLS_CFI_RULE_H

#include "symbols/cfi/cfi_reader.h"

/* Writes the reader's state as the row that begins at `address`.  Without .cfa or
 * .ra in it, the unwind ends there and the next row begins another.  0, -ENOBUFS, -ENOMEM. */
int vg_cfi_write_row(struct vg_cfi_reader *reader, uint64_t address);
/* Ends the open unwind, if any, at the address. */
void vg_cfi_write_end(struct vg_cfi_reader *reader, uint64_t address);

#endif
