/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_H
#define VG_SYMBOLS_CFI_H

#include "symbols/elf/elf_image.h"

/*
 * Call frame information (DWARF 5, section 6.4, and the LSB's .eh_frame) -> the unwinds of the
 * table.  libdw splits the sections into entries; their programs are run here, once from start to
 * end, because libdw runs one anew for each address that it is asked about.  Internal to symbols/.
 */

/* Unwinds from .eh_frame and .debug_frame of `image`, and of `debug` where that is another file.
 * Of two entries for the same code the first stays, .eh_frame before .debug_frame.  Nothing is
 * read for machines whose registers Breakpad does not name.  Rows that the table's language
 * cannot say are counted in unwinds_left_out, damage in bad_records.  0 or -ENOMEM. */
int vg_cfi_read(const struct vg_elf_image *image, const struct vg_elf_image *debug,
		struct vg_symbols *symbols);

#endif
