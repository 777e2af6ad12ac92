/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_PROGRAM_H
#define VG_SYMBOLS_CFI_PROGRAM_H

#include "symbols/cfi/cfi_reader.h"

/* Runs a program from reader->location on, and writes the rows if `writes`.
 * -EBADMSG: damaged at reader->location; what was written before it stands.  -ENOBUFS, -ENOMEM. */
int vg_cfi_run(struct vg_cfi_reader *reader, struct vg_elf_bytes program, bool writes);

#endif
