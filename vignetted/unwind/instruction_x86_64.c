/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/instruction.h"

#include <string.h>

#include <Zydis/Zydis.h>

enum { RAX = 0, RCX = 1, RDX = 2, RSI = 6, RDI = 7 };    /* the processor's numbers of registers */
enum { WORD_BYTES = 8, WORD_BITS = 64 };

/* Our numbers of the processor's registers: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15. */
static const uint8_t our_numbers[VG_REGISTERS] = {
	4, 5, 2, 3, VG_REGISTER_SP, VG_REGISTER_FP, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
};

static uint32_t bit(unsigned int number)
{
	return UINT32_C(1) << our_numbers[number];
}

/* Our number of the general register that `name` is, or is a part of.  VG_REGISTER_NONE: not a general register. */
static uint8_t register_of(ZydisRegister name)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ?
	       our_numbers[whole - ZYDIS_REGISTER_RAX] : VG_REGISTER_NONE;
}

/* Our number of the 64-bit register that the operand is.  VG_REGISTER_NONE: another operand. */
static uint8_t word_register(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->size == WORD_BITS ?
	       register_of(operand->reg.value) : VG_REGISTER_NONE;
}

static bool is_word_register(const ZydisDecodedOperand *operand)
{
	return word_register(operand) != VG_REGISTER_NONE;
}

static bool is_number(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* Whether the operand is memory at a 64-bit register plus a constant, in no segment with a base of its own. */
static bool is_based(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.index == ZYDIS_REGISTER_NONE &&
	       operand->mem.base >= ZYDIS_REGISTER_RAX && operand->mem.base <= ZYDIS_REGISTER_R15 &&
	       operand->mem.segment != ZYDIS_REGISTER_FS && operand->mem.segment != ZYDIS_REGISTER_GS;
}

static void effect_add(struct vg_instruction *instruction, enum vg_effect_kind kind, uint8_t to, uint8_t from,
		       int64_t number)
{
	instruction->effects[instruction->effect_count++] = (struct vg_effect){ (uint8_t)kind, to, from, number };
}

static void push(struct vg_instruction *instruction, uint8_t from)
{
	effect_add(instruction, VG_EFFECT_STORE, VG_REGISTER_SP, from, -WORD_BYTES);
	effect_add(instruction, VG_EFFECT_SET, VG_REGISTER_SP, VG_REGISTER_SP, -WORD_BYTES);
}

static void pop(struct vg_instruction *instruction, uint8_t to)
{
	if (to != VG_REGISTER_NONE)
		effect_add(instruction, VG_EFFECT_LOAD, to, VG_REGISTER_SP, 0);
	if (to != VG_REGISTER_SP)
		effect_add(instruction, VG_EFFECT_SET, VG_REGISTER_SP, VG_REGISTER_SP, WORD_BYTES);
}

/* mov between registers, stack words and constants.  A write to the low half of a register clears the high half, so a
 * 32-bit constant is a whole value, too. */
static void move(struct vg_instruction *instruction, const ZydisDecodedOperand *to, const ZydisDecodedOperand *from)
{
	if (is_based(to))
		effect_add(instruction, VG_EFFECT_STORE, register_of(to->mem.base), word_register(from),
			   to->mem.disp.value);
	else if (to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->size >= WORD_BITS / 2 && is_number(from))
		effect_add(instruction, VG_EFFECT_CONSTANT, register_of(to->reg.value), VG_REGISTER_NONE,
			   to->size == WORD_BITS ? from->imm.value.s : (int64_t)(uint32_t)from->imm.value.u);
	else if (is_word_register(to) && is_word_register(from))
		effect_add(instruction, VG_EFFECT_SET, word_register(to), word_register(from), 0);
	else if (is_word_register(to) && is_based(from))
		effect_add(instruction, VG_EFFECT_LOAD, word_register(to), register_of(from->mem.base),
			   from->mem.disp.value);
}

/* Instructions whose effects are known.  False: another instruction, or operands of another kind. */
static bool effects_read(struct vg_instruction *instruction, const ZydisDecodedInstruction *decoded,
			 const ZydisDecodedOperand *operands)
{
	const ZydisDecodedOperand *to = operands, *from = operands + 1;

	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		if (decoded->operand_width == WORD_BITS)
			push(instruction, word_register(to));
		break;
	case ZYDIS_MNEMONIC_POP:
		if (decoded->operand_width == WORD_BITS)
			pop(instruction, word_register(to));
		break;
	case ZYDIS_MNEMONIC_PUSHFQ:
		push(instruction, VG_REGISTER_NONE);
		break;
	case ZYDIS_MNEMONIC_POPFQ:
		pop(instruction, VG_REGISTER_NONE);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		effect_add(instruction, VG_EFFECT_SET, VG_REGISTER_SP, VG_REGISTER_FP, WORD_BYTES);
		effect_add(instruction, VG_EFFECT_LOAD, VG_REGISTER_FP, VG_REGISTER_FP, 0);
		break;
	case ZYDIS_MNEMONIC_MOV:
		move(instruction, to, from);
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (is_word_register(to) && is_based(from))
			effect_add(instruction, VG_EFFECT_SET, word_register(to), register_of(from->mem.base),
				   from->mem.disp.value);
		break;
	case ZYDIS_MNEMONIC_ADD: case ZYDIS_MNEMONIC_SUB:
		if (is_word_register(to) && is_number(from))
			effect_add(instruction, VG_EFFECT_SET, word_register(to), word_register(to),
				   decoded->mnemonic == ZYDIS_MNEMONIC_ADD ? from->imm.value.s : -from->imm.value.s);
		break;
	case ZYDIS_MNEMONIC_AND:
		if (is_word_register(to) && is_number(from) && from->imm.value.s < 0)
			effect_add(instruction, VG_EFFECT_ALIGN, word_register(to), VG_REGISTER_NONE, 0);
		break;
	default:
		break;
	}
	return instruction->effect_count > 0;
}

/* The registers that the instruction writes.  It is none of those that effects_read() knows. */
static void lost_read(struct vg_instruction *instruction, const ZydisDecodedInstruction *decoded,
		      const ZydisDecodedOperand *operands)
{
	for (uint8_t i = 0; i < decoded->operand_count; i++) {
		const ZydisDecodedOperand *operand = operands + i;
		uint8_t number;

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0)
			continue;
		number = register_of(operand->reg.value);
		if (number != VG_REGISTER_NONE)
			instruction->lost |= UINT32_C(1) << number;
	}
}

/* cmp of the stack pointer with another register, or the other way around. */
static uint8_t compared_read(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands)
{
	uint8_t a, b;

	if (decoded->mnemonic != ZYDIS_MNEMONIC_CMP)
		return VG_REGISTER_NONE;
	a = word_register(operands);
	b = word_register(operands + 1);
	return a == VG_REGISTER_SP ? b : b == VG_REGISTER_SP ? a : VG_REGISTER_NONE;
}

static void jump_read(struct vg_instruction *instruction, const ZydisDecodedInstruction *decoded)
{
	instruction->distance = decoded->raw.imm[0].value.s;
	if (decoded->raw.imm[0].size != 0) {
		instruction->flow = VG_FLOW_JUMP;
	} else if (decoded->raw.modrm.mod == 3) {
		instruction->flow = VG_FLOW_JUMP_REGISTER;
		instruction->jump_register = our_numbers[decoded->raw.modrm.rm | (unsigned int)decoded->raw.rex.B << 3];
	} else {
		instruction->flow = VG_FLOW_JUMP_MEMORY;
	}
}

/* Whether the instruction changes where execution goes.  Sets the flow if so. */
static bool flow_read(struct vg_instruction *instruction, const ZydisDecodedInstruction *decoded)
{
	switch (decoded->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		instruction->flow = VG_FLOW_BRANCH;
		instruction->distance = decoded->raw.imm[0].value.s;
		return true;
	case ZYDIS_CATEGORY_UNCOND_BR:
		/* Outside a transaction xabort does nothing. */
		if (decoded->mnemonic != ZYDIS_MNEMONIC_XABORT)
			jump_read(instruction, decoded);
		return true;
	case ZYDIS_CATEGORY_CALL:
		instruction->flow = VG_FLOW_CALL;
		/* What a called function may change: System V ABI, AMD64 supplement, 3.2.1. */
		instruction->lost = bit(RAX) | bit(RCX) | bit(RDX) | bit(RSI) | bit(RDI) | bit(8) | bit(9) | bit(10) |
				    bit(11);
		return true;
	case ZYDIS_CATEGORY_RET:             /* ret; far returns and iret are no function's */
		instruction->flow = decoded->mnemonic == ZYDIS_MNEMONIC_RET && decoded->opcode <= 0xc3 ?
				    VG_FLOW_RETURN : VG_FLOW_TRAP;
		return true;
	case ZYDIS_CATEGORY_SYSCALL:
		instruction->lost = bit(RAX) | bit(RCX) | bit(11);
		return true;
	case ZYDIS_CATEGORY_NOP: case ZYDIS_CATEGORY_WIDENOP:
		instruction->is_padding = true;
		return true;
	default:
		break;
	}
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_INT: case ZYDIS_MNEMONIC_INT1: case ZYDIS_MNEMONIC_INT3: case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_ENTER: /* no compiler writes it */
		instruction->flow = VG_FLOW_TRAP;
		return true;
	default:
		return false;
	}
}

bool vg_instruction_read(struct vg_instruction *instruction, const unsigned char *bytes, size_t count)
{
	ZydisDecoder decoder;
	ZydisDecoderContext context;
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	*instruction = (struct vg_instruction){ .jump_register = VG_REGISTER_NONE, .compared = VG_REGISTER_NONE };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, bytes, count, &decoded)))
		return false;
	instruction->length = decoded.length;
	/* Zero bytes are data between functions.  As code they are add %al,(%rax), which no compiler writes. */
	if (bytes[0] == 0 && bytes[1] == 0)
		instruction->flow = VG_FLOW_TRAP;
	if (instruction->flow == VG_FLOW_TRAP || flow_read(instruction, &decoded))
		return true;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &decoded, operands, decoded.operand_count)))
		return false;
	instruction->compared = compared_read(&decoded, operands);
	if (!effects_read(instruction, &decoded, operands))
		lost_read(instruction, &decoded, operands);
	return true;
}

bool vg_instruction_begins_function(const unsigned char *bytes, size_t count)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return count >= sizeof endbr64 && memcmp(bytes, endbr64, sizeof endbr64) == 0;
}

enum {
	RET = 0xc3, INT3 = 0xcc, NOP = 0x90, HLT = 0xf4, JMP_8 = 0xeb, JMP_32 = 0xe9, CALL_32 = 0xe8,
	JMP_REGISTER = 0xff, UD2_FIRST = 0x0f, UD2_SECOND = 0x0b, FUNCTION_ALIGN = 16,
};

bool vg_instruction_is_possible_beginning(const unsigned char *code, uint64_t address)
{
	return code[-1] == RET || code[-1] == INT3 || code[-1] == NOP || code[-1] == HLT || code[-2] == JMP_8 ||
	       (code[-2] == UD2_FIRST && code[-1] == UD2_SECOND) ||
	       (code[-2] == JMP_REGISTER && (code[-1] & 0xf8) == 0xe0) || code[-5] == JMP_32 || code[-5] == CALL_32 ||
	       (address % FUNCTION_ALIGN == 0 && code[-1] == 0);
}

bool vg_instruction_is_likely_beginning(const unsigned char *code, uint64_t address)
{
	return address % FUNCTION_ALIGN == 0 &&
	       (code[-1] == RET || code[-1] == INT3 || code[-1] == NOP || code[-1] == 0);
}
