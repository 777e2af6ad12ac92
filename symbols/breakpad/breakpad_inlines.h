/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_INLINES_H
#define VG_SYMBOLS_BREAKPAD_INLINES_H

#include "symbols/breakpad/breakpad_reader.h"

/* Fills innermost and parents of the reader for the function that is read, and sets its frames to
 * none.  0 or -ENOMEM. */
int vg_sym_inlines_find(struct vg_sym_reader *reader, const struct vg_symbol_function *function);

#endif
