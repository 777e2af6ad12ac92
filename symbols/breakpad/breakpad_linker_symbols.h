/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_LINKER_SYMBOLS_H
#define VG_SYMBOLS_BREAKPAD_LINKER_SYMBOLS_H

#include "symbols/breakpad/breakpad_reader.h"

/* Uses PUBLIC records to symbolize the wanted addresses that are in no function.  A PUBLIC symbol
 * ends at the next symbol, or at the end of its section if the section ends first.  Returns 0 or
 * -ENOMEM. */
int vg_sym_linker_symbols_use(struct vg_sym_reader *reader);

#endif
