/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_FUNCTION_H
#define VG_SYMBOLS_BREAKPAD_FUNCTION_H

#include "symbols/breakpad/breakpad_reader.h"

/* Read FUNC, INLINE and line records.  The cursor is after the word FUNC or INLINE, or at the start
 * of a line record.  Errors as in vg_sym_records(). */
int vg_sym_function_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor);
int vg_sym_inline_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor);
int vg_sym_line_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor);

/* Ends the function that is being read, if any.  Returns 0 or the error of reader->function_done(). */
int vg_sym_function_end(struct vg_sym_reader *reader);

#endif
