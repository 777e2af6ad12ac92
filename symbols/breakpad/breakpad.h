/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_H
#define VG_SYMBOLS_BREAKPAD_H

#include <stdio.h>

#include "base/err.h"
#include "symbols/table/symbolization.h"
#include "symbols/table/table.h"

/*
 * Breakpad's text format for symbols, .sym files: MODULE, FILE, INLINE_ORIGIN, FUNC, INLINE, line,
 * PUBLIC and STACK CFI records, as in docs/symbol_files.md of Breakpad's sources.
 *
 * Vignette adds INFO records, which other readers ignore:
 *
 *     CODE_ID <build id>          the whole build id
 *     GENERATOR <name> <version>  the program that wrote the file
 *     MISSING <build id> <path>   a dwz file that was not found: names from it are missing
 *     SECTION <address> <size>    a range of code, in hex.  The symbol of a PUBLIC record, which has
 *                                 no size, ends with its section at the latest
 *
 * To symbolize addresses without reading the whole file into a table:
 *
 *     struct vg_symbolization symbolization = { 0 };
 *     rc = vg_breakpad_symbolize(&symbolization, "app.sym", addresses, count, &err);
 *     vg_symbolization_free(&symbolization);
 */

/* Writes a table.  Files and inline origins are numbered in the order of their names, as Breakpad's dump_syms does.
 * Files and inline origins to which no record refers are left out.  Control characters in names become '?', and names
 * are cut to 65,536 bytes.  Returns 0; -ENOMEM; -EFBIG: the names of functions would have more than 4 GiB; or the error
 * of the stream. */
int vg_breakpad_write(const struct vg_symbols *symbols, FILE *stream, struct vg_err *err);

/*
 * Reads a .sym file in one pass.  Accepts the old and the new grammar of INLINE, and lines that end
 * in LF or CRLF.  If `wanted` is not NULL, it is a list of addresses, sorted and without
 * duplicates.  Functions without a wanted address then get no name, lines or inlined calls, so look
 * up wanted addresses only.
 *
 * *symbols must be empty.  The caller frees *symbols.  After a failure *symbols is empty.  Records
 * that cannot be parsed are skipped.  bad_records is their number, and first_bad_line is the line
 * number of the first one.  STACK and unknown records are skipped.
 *
 * Returns 0; -EBADMSG: no MODULE record; -ENOMEM; or an error of vg_infile_open().
 */
int vg_breakpad_read(struct vg_symbols *symbols, const char *path, const uint64_t *wanted,
		     size_t wanted_count, struct vg_err *err);

/* Sets `missing_file`, which must be all zero, from the INFO records at the start of the file.
 * Returns 0, -ENOMEM, or an error of vg_infile_open(). */
int vg_breakpad_find_missing_file(struct vg_missing_file *missing_file, const char *path, struct vg_err *err);

/*
 * Symbolizes addresses with a .sym file, in one pass over the mapped file.  The frames are the same
 * as vg_symbols_lookup() would find for each address.  `wanted` is sorted and without duplicates.
 * Memory grows with the number of addresses and of FILE, INLINE_ORIGIN, FUNC and PUBLIC records, not
 * with the number of lines and names.  Records of functions without a wanted address are not
 * checked.
 *
 * *symbolization must be all zero.  The caller frees *symbolization.  After a failure it is all zero
 * again.
 *
 * Returns 0; -EBADMSG: no MODULE record, or functions overlap so much that each address is in more than 16
 * functions on average; -ENOMEM; or an error of vg_infile_open().
 */
int vg_breakpad_symbolize(struct vg_symbolization *symbolization, const char *path, const uint64_t *wanted,
			  size_t wanted_count, struct vg_err *err);

#endif
