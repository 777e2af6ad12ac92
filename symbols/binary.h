/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BINARY_H
#define VG_SYMBOLS_BINARY_H

#include "base/err.h"
#include "symbols/elf/search.h"
#include "symbols/table/table.h"

/*
 * Reads the symbols of an ELF file, of either class and byte order and of any machine, from the
 * best source there is: DWARF 2 to 5 in the file or in the separate file that its build id or
 * .gnu_debuglink leads to, with what dwz or split DWARF keeps in further files; and for what no
 * function of the DWARF covers .symtab, else .dynsym with .gnu_debugdata, and the stubs of the
 * procedure linkage table.  symbols->source says which.  A file with none of them is no error: the
 * table then only knows the module's identity.  With symbols->wants_unwinds also how to walk the
 * stack, from .eh_frame and .debug_frame.
 *
 * search may be NULL: nothing but the usual places.  *symbols must be empty but for that wish, and
 * is empty again after a failure.  -ENOEXEC: not an ELF file, or no program or library; -EBADMSG:
 * a damaged or truncated one; -EINVAL: not a regular file; -ENOMEM; open(2)'s; or, if a
 * debuginfod server could not be asked, what forbade it.
 * Debug information that is damaged in part loses that part only, counted in bad_records; if a file that
 * it refers to is not there, symbols->absent names it.
 */
int vg_symbols_from_binary(struct vg_symbols *symbols, const char *path,
			   const struct vg_symbols_search *search, struct vg_err *err);

/* Fills an all-zero `absent` as that would, without reading the symbols.  The same errors. */
int vg_symbols_find_absent(struct vg_absent *absent, const char *path,
			   const struct vg_symbols_search *search, struct vg_err *err);

#endif
