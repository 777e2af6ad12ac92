/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_PROGRAM_H
#define VG_SYMBOLS_CFI_PROGRAM_H

#include "symbols/cfi/cfi_reader.h"

/* Runs the program of a CIE or FDE from start to end.  The first row is for code at the address reader->location.
 * Writes the rows if write_rows is set.  Set write_rows for an FDE, not for a CIE.  Returns 0; -EBADMSG: the program is
 * damaged, and its rows are valid for code up to reader->location, which has advanced; -ENOBUFS or -ENOMEM. */
int vg_cfi_run(struct vg_cfi_reader *reader, struct vg_elf_bytes program, bool write_rows);

#endif
