/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_ANSWER_H
#define VG_SYMBOLS_BREAKPAD_ANSWER_H

#include "symbols/breakpad/breakpad_reader.h"

/* Internal to symbols/. */

/* Fills innermost and parents of the reader for the function that is read, and sets its frames to
 * none.  0 or -ENOMEM. */
int vg_sym_inlines_find(struct vg_sym_reader *reader, const struct vg_symbol_function *function);

/* What PUBLIC records say of the wanted addresses that no function covers; they end at the next
 * symbol, and with their section.  0 or -ENOMEM. */
int vg_sym_publics_answer(struct vg_sym_reader *reader);

/* Answers the wanted address of that index with that name.  0 or -ENOMEM. */
int vg_sym_public_answer(struct vg_sym_reader *reader, size_t at, const struct vg_sym_name *name);

#endif
