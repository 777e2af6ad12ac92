/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BINARY_H
#define VG_SYMBOLS_BINARY_H

#include "base/err.h"
#include "symbols/elf/search.h"
#include "symbols/table/table.h"

/*
 * Reads the symbols of an ELF executable or shared library, of any class, byte order and machine.
 *
 * Functions, lines and inlined calls come from DWARF 2 to 5: in the file itself, or in the separate
 * debug file that its build id or .gnu_debuglink names.  Files of dwz and split DWARF (.dwo, .dwp)
 * are found and read as well.  Code without a DWARF function gets its name from .symtab or, if there
 * is no .symtab, from .dynsym and .gnu_debugdata.  PLT stubs are named name@plt.  symbols->source
 * says which of these were read, and from which further files.  A file without any symbols is no
 * error: the table then has the module's identity only.
 *
 * If symbols->wants_cfi is set, .eh_frame and .debug_frame become CFI rows too.
 *
 * `search` says where further files may be; NULL: in the default directories only.  *symbols must
 * be empty except for wants_cfi.  The caller frees *symbols with vg_symbols_free().  After a failure
 * *symbols is empty.
 *
 *     struct vg_symbols symbols = { .wants_cfi = true };
 *     if (vg_symbols_from_binary(&symbols, "/usr/bin/app", NULL, &err) == 0)
 *             rc = vg_breakpad_write(&symbols, stdout, &err);
 *     vg_symbols_free(&symbols);
 *
 * Returns 0, or: -ENOEXEC: not an ELF file, or not an executable or shared library; -EBADMSG:
 * damaged or truncated; -EINVAL: not a regular file; -ENOMEM; or an error of open(2).  Damage in a part of the debug information costs that
 * part only, and bad_records counts it.  If a dwz file is not found, symbols->missing_file names
 * it.
 */
int vg_symbols_from_binary(struct vg_symbols *symbols, const char *path,
			   const struct vg_symbols_search *search, struct vg_err *err);

/* As vg_symbols_from_binary(), for an open file.  Takes ownership of fd.  `path` is the file's name in messages, and
 * the place from which .gnu_debuglink is searched. */
int vg_symbols_from_descriptor(struct vg_symbols *symbols, int fd, const char *path,
			       const struct vg_symbols_search *search, struct vg_err *err);

/* Whether an open ELF file has the code of this range.  A debug file does not: it has only the headers of the
 * sections.  The addresses of the range are relative, as in struct vg_symbols.  The file stays open.  `path` is
 * its name.  Sets *load_base to the virtual address of the relative address 0.  Returns 0; -ENOENT: no ELF file,
 * or it does not have the code; -ENOMEM. */
int vg_binary_code_find(int fd, const char *path, const struct vg_symbol_range *range, uint64_t *load_base);

/* Sets `missing_file` to the dwz file that vg_symbols_from_binary() would not find, if there is one.
 * Does not read symbols.  `missing_file` must be all zero.  Returns the same errors as
 * vg_symbols_from_binary(). */
int vg_symbols_find_missing_file(struct vg_missing_file *missing_file, const char *path,
				 const struct vg_symbols_search *search, struct vg_err *err);

#endif
