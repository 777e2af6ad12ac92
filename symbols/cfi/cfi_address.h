/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_ADDRESS_H
#define VG_SYMBOLS_CFI_ADDRESS_H

#include "symbols/cfi/cfi_reader.h"

/* Reads an address in a DW_EH_PE_* encoding.  *valid is false if the encoding is not supported, if
 * its base is unknown, or if the address is truncated. */
uint64_t vg_cfi_address(const struct vg_cfi_reader *reader, struct vg_elf_bytes *cursor,
			uint8_t encoding, bool *valid);

#endif
