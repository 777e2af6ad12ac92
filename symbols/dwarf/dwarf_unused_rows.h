/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_UNUSED_ROWS_H
#define VG_SYMBOLS_DWARF_UNUSED_ROWS_H

#include "symbols/dwarf/dwarf_reader.h"

/* Functions from rows of code that no function DIE covers. */

/* Keeps those rows of the current unit that vg_dwarf_emit() did not use.  Returns 0 or -ENOMEM. */
int vg_dwarf_keep_unused_rows(struct vg_dwarf_reader *reader);

/* Makes functions of the linker symbols whose code has unused rows.  Call it after
 * vg_dwarf_resolve_names(): the new functions' names are string ids, not origins.  Sorts the linker
 * symbols.  Returns 0, -ENOBUFS or -ENOMEM. */
int vg_dwarf_add_row_functions(struct vg_dwarf_reader *reader);

#endif
