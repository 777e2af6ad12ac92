/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_PUBLICS_H
#define VG_SYMBOLS_BREAKPAD_PUBLICS_H

#include "symbols/breakpad/breakpad_reader.h"

/* What PUBLIC records say of the wanted addresses that no function covers; they end at the next
 * symbol, and with their section.  0 or -ENOMEM. */
int vg_sym_publics_answer(struct vg_sym_reader *reader);

#endif
