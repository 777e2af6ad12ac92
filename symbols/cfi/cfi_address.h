/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_ADDRESS_H
#define VG_SYMBOLS_CFI_ADDRESS_H

#include "symbols/cfi/cfi_reader.h"

/* An address as the entry's encoding has it; *valid is false if the encoding is not supported or its base is unknown. */
uint64_t vg_cfi_address(const struct vg_cfi_reader *reader, struct vg_elf_bytes *cursor,
			uint8_t encoding, bool *valid);

#endif
