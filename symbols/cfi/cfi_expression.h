/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_EXPRESSION_H
#define VG_SYMBOLS_CFI_EXPRESSION_H

#include "symbols/cfi/cfi_reader.h"

/*
 * A DWARF expression as a postfix one.  with_cfa: the CFA is on the stack when
 * it begins, as for registers.  Returns the length of the text, or 0 if it cannot be said.
 */
size_t vg_cfi_translate(const struct vg_cfi_reader *reader, const uint8_t *expression,
			size_t bytes, bool with_cfa, char text[VG_CFI_RULE_TEXT_MAX]);

#endif
