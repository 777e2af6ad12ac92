/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_H
#define VG_SYMBOLS_BREAKPAD_H

#include <stdio.h>

#include "base/err.h"
#include "symbols/table/answers.h"
#include "symbols/table/table.h"

/*
 * Breakpad's text format for symbols (docs/symbol_files.md in its sources): MODULE, FILE,
 * INLINE_ORIGIN, FUNC, INLINE, line, PUBLIC and STACK CFI records.
 *
 * INFO records go with them, which other readers ignore: CODE_ID, the whole build id; GENERATOR,
 * by what name and version of program they were written; ABSENT <build id> <path>, a file that was not
 * found and holds some of the names; and SECTION <address> <size>, in hex, for
 * each stretch of code that symbols may name, because nothing else in the format says where a
 * PUBLIC ends that no other follows at once.
 */

/* Files and inline origins are numbered in the order of their names, as Breakpad's dump_syms does
 * it, and only those cited are written.  Control characters in names become '?'.
 * 0, -ENOMEM, or the stream's error. */
int vg_breakpad_write(const struct vg_symbols *symbols, FILE *stream, struct vg_err *err);

/*
 * Reads a .sym file in one pass, old and new INLINE grammar, LF or CRLF.  If wanted is not NULL it
 * is sorted and unique, and what covers none of those addresses keeps neither name nor lines nor
 * inlines: look up no others then.
 *
 * *symbols must be empty, and is empty again after a failure.  Records that cannot be parsed are
 * counted in bad_records, with the number of the first one's line, and skipped; unknown ones and
 * STACK are skipped silently.  -EBADMSG: no MODULE record; -ENOMEM; or vg_infile_open()'s.
 */
int vg_breakpad_read(struct vg_symbols *symbols, const char *path, const uint64_t *wanted,
		     size_t wanted_count, struct vg_err *err);

/* Fills an all-zero `absent` from the file's first records.  0, -ENOMEM, or vg_infile_open()'s. */
int vg_breakpad_find_absent(struct vg_absent *absent, const char *path, struct vg_err *err);

/*
 * Reads what the addresses need, and no more, in one pass over the mapped file: answers as
 * vg_symbols_lookup() would give them.  Memory grows with the addresses and with the numbers of
 * files, inline origins, FUNC and PUBLIC records, not with lines or names.
 *
 * *answers must be all zero, and is again after a failure.  -EBADMSG also where functions lie over
 * one another so much that the answers to give are sixteen times as many as the addresses; else as
 * vg_breakpad_read().  What belongs to functions without a wanted address is not checked.
 */
int vg_breakpad_answer(struct vg_answers *answers, const char *path, const uint64_t *wanted,
		       size_t wanted_count, struct vg_err *err);

#endif
