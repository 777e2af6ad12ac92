/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_EXPRESSION_H
#define VG_SYMBOLS_CFI_EXPRESSION_H

#include "symbols/cfi/cfi_reader.h"

/*
 * Translates a DWARF expression to Breakpad's postfix language.  If push_cfa is set, the CFA is on
 * the stack when the expression begins: the rules of registers need this.  Returns the length of
 * the text, or 0 if the language cannot express the expression.
 */
size_t vg_cfi_expression_text(const struct vg_cfi_reader *reader, const uint8_t *expression,
			      size_t bytes, bool push_cfa, char text[VG_CFI_RULE_TEXT_MAX]);

#endif
