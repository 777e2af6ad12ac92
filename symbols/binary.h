/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BINARY_H
#define VG_SYMBOLS_BINARY_H

#include "base/err.h"
#include "symbols/table.h"

/*
 * Reads the symbols of an ELF file, from the best source there is: DWARF 2 to 5 in the file or in
 * the separate file that its build id or .gnu_debuglink leads to, and .symtab, else .dynsym, for
 * what no function of the DWARF covers.  symbols->source says which.  A file with none of them is
 * no error: the table then only knows the module's identity.  With symbols->wants_unwinds also how
 * to walk the stack, from .eh_frame and .debug_frame.
 *
 * *symbols must be empty but for that wish, and is empty again after a failure.  -ENOEXEC: not an ELF file, or no
 * program or library; -EBADMSG: a damaged or truncated one; -EINVAL: not a regular file; -ENOMEM;
 * or open(2)'s.
 * Debug information that is damaged in part loses that part only, counted in bad_records.
 */
int vg_symbols_from_binary(struct vg_symbols *symbols, const char *path, struct vg_err *err);

#endif
