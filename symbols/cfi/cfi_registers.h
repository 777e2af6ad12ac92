/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_REGISTERS_H
#define VG_SYMBOLS_CFI_REGISTERS_H

#include "symbols/cfi/cfi_reader.h"

/* What the registers of a machine are called in Breakpad's records; count 0: it does not know the machine. */
struct vg_cfi_names vg_cfi_names_of(unsigned machine);

/* The register's own name, also where it holds the return address; NULL: none. */
const char *vg_cfi_register_name(const struct vg_cfi_reader *reader, uint64_t reg);

#endif
