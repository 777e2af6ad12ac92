/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_EMIT_H
#define VG_SYMBOLS_DWARF_EMIT_H

#include "symbols/dwarf/dwarf_reader.h"

/* Adds to the table the functions of the unit that was just read.  The member `name` of functions
 * and inlined calls is an index in reader->origins until vg_dwarf_resolve_names().  Returns 0,
 * -ENOBUFS or -ENOMEM. */
int vg_dwarf_emit(struct vg_dwarf_reader *reader);

#endif
