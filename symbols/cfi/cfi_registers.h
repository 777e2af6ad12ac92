/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_REGISTERS_H
#define VG_SYMBOLS_CFI_REGISTERS_H

#include "symbols/cfi/cfi_reader.h"

/* Breakpad's names of a machine's registers; count is 0 if Breakpad does not know the machine. */
struct vg_cfi_register_table vg_cfi_register_names(unsigned machine);

/* The register's own name, even if it is the return address register; NULL if it has none. */
const char *vg_cfi_register_name(const struct vg_cfi_reader *reader, uint64_t reg);

#endif
