/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_FILE_H
#define VG_SYMBOLS_DWARF_FILE_H

#include "symbols/dwarf/dwarf_reader.h"

/* Reads the unit's list of files from its line table header.  `bytes` begins at the list of
 * directories.  `version` is the version of the line table.  Returns 0, -ENOBUFS or -ENOMEM. */
int vg_dwarf_read_files(struct vg_dwarf_reader *reader, struct vg_elf_bytes bytes,
			unsigned version, bool is_64bit);

/* Sets the unit's list of files to libdw's list, which is borrowed.  NULL and 0: no files. */
void vg_dwarf_set_files(struct vg_dwarf_reader *reader, Dwarf_Files *files, size_t count);

/* Finds the unit's file with that number and sets *file to its index in symbols->files, or to
 * VG_SYMBOLS_NONE if there is no such file.  Returns 0 or -ENOMEM. */
int vg_dwarf_file(struct vg_dwarf_reader *reader, uint64_t number, uint32_t *file);

#endif
