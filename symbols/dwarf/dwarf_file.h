/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_FILE_H
#define VG_SYMBOLS_DWARF_FILE_H

#include "symbols/dwarf/dwarf_reader.h"

/* The files of a line table, at the cursor, or libdw's (dwarf_file.c).  */
int vg_dwarf_read_files(struct vg_dwarf_reader *reader, struct vg_elf_bytes bytes,
			unsigned version, bool is_64bit);
void vg_dwarf_set_files(struct vg_dwarf_reader *reader, Dwarf_Files *files, size_t count);
/* The table's file for a file number of the unit; *file is NONE if there is none such. */
int vg_dwarf_file(struct vg_dwarf_reader *reader, uint64_t number, uint32_t *file);

#endif
