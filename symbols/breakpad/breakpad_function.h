/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_FUNCTION_H
#define VG_SYMBOLS_BREAKPAD_FUNCTION_H

#include "symbols/breakpad/breakpad_reader.h"

/* Records behind their first word; errors as vg_sym_records(). */
int vg_sym_function_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor);
int vg_sym_inline_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor);
int vg_sym_line_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor);

/* Ends the function whose records were read last, if any.  0, or what on_function() returned. */
int vg_sym_function_end(struct vg_sym_reader *reader);

#endif
