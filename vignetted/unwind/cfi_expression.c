/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/cfi_expression.h"

enum { OP_CONST1U = 0x08, OP_CONST8S = 0x0f, OP_PICK = 0x15, OP_DIV = 0x1b, OP_PLUS_UCONST = 0x23, OP_BRA = 0x28,
       OP_LIT0 = 0x30, OP_LIT31 = 0x4f, OP_BREG0 = 0x70, OP_BREG31 = 0x8f, OP_DEREF_SIZE = 0x94, OP_NOP = 0x96 };

/* Operations on the expression's stack: DW_OP_deref, dup, drop, over, swap, rot, abs to xor, eq to ne. */
static bool has_no_operand(uint64_t operation)
{
	return operation == 0x06 || operation == 0x12 || operation == 0x13 || operation == 0x14 || operation == 0x16 ||
	       operation == 0x17 || (operation >= 0x19 && operation <= 0x27) ||
	       (operation >= 0x29 && operation <= 0x2e) ||
	       (operation >= OP_LIT0 && operation <= OP_LIT31) || operation == OP_NOP;
}

static bool operation_read(struct vg_bytes *block)
{
	uint64_t operation, value;
	int64_t offset;

	if (!vg_bytes_fixed(block, 1, &operation) || operation == OP_DIV || operation == OP_BRA)
		return false;
	if (operation >= OP_BREG0 && operation <= OP_BREG31)
		return vg_bytes_sleb(block, &offset);
	if (operation == OP_PLUS_UCONST)
		return vg_bytes_uleb(block, &value);
	/* DW_OP_const1u to const8s: pairs of unsigned and signed, with 1, 2, 4 and 8 bytes. */
	if (operation >= OP_CONST1U && operation <= OP_CONST8S)
		return vg_bytes_fixed(block, (size_t)1 << (operation - OP_CONST1U) / 2, &value);
	if (operation == OP_PICK || operation == OP_DEREF_SIZE)
		return vg_bytes_fixed(block, 1, &value);
	return has_no_operand(operation);
}

bool vg_cfi_expression_is_safe(struct vg_bytes block)
{
	while (block.at < block.end) {
		if (!operation_read(&block))
			return false;
	}
	return true;
}
