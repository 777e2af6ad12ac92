/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_H
#define VG_SYMBOLS_CFI_H

#include "symbols/elf/elf_image.h"

/*
 * Reads call frame information (DWARF 5, 6.4; .eh_frame: Linux Standard Base) into the CFI rows of
 * struct vg_symbols.  libdw splits the sections into entries.  The instructions of each entry, its
 * program, are run here, once from start to end.  libdw would run the program from its start for each
 * row: a function of 100,000 rows would take 14 s, and takes 0.03 s here.  Internal to symbols/.
 */

/*
 * Adds the rows of .eh_frame and .debug_frame of `image`, and then of `debug` if that is another
 * file.  If two entries are for the same code, the first one stays.  Does nothing for machines that
 * Breakpad does not know.
 *
 * Adds to symbols->cfi_rows_left_out the number of rows that Breakpad's language cannot express, and
 * to symbols->bad_records the number of damaged entries.  Returns 0 or -ENOMEM.
 */
int vg_cfi_read(const struct vg_elf_image *image, const struct vg_elf_image *debug,
		struct vg_symbols *symbols);

#endif
