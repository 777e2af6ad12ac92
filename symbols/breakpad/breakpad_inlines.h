/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_INLINES_H
#define VG_SYMBOLS_BREAKPAD_INLINES_H

#include "symbols/breakpad/breakpad_reader.h"

/* Sets reader->innermost and reader->parents for the function that is being read, and resets
 * reader->frames.  Returns 0 or -ENOMEM. */
int vg_sym_inlines_find(struct vg_sym_reader *reader, const struct vg_symbol_function *function);

#endif
