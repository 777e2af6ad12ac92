/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/code_path_x86_64.h"

enum { RSP = 4, RBP = 5, WORD_BYTES = 8, FRAME_MAX_BYTES = 1 << 20 };

/* False: the frame would be larger than 1 MiB. */
static bool sp_move(struct vg_code_path *path, int64_t bytes)
{
	path->sp_offset += bytes;
	return path->sp_offset > -FRAME_MAX_BYTES && path->sp_offset < FRAME_MAX_BYTES;
}

/* Loads the frame pointer from the stack word at stack pointer + distance.  The word is the caller's frame pointer only
 * if it was there when the path began.  If the word is below the first stack pointer (code_path_x86_64.h), the path
 * itself wrote it, and fp_saved becomes false. */
static void fp_restore(struct vg_code_path *path, int64_t distance)
{
	path->fp_base = path->sp_base;
	path->fp_saved_offset = path->sp_offset + distance;
	path->fp_saved = path->sp_base == VG_PATH_FROM_FP ||
			 (path->sp_base == VG_PATH_FROM_SP && path->fp_saved_offset >= 0);
	path->fp_pushed = path->fp_set = false;
}

/* The stack pointer becomes frame pointer + distance.  False: the frame pointer already has the caller's value. */
static bool sp_from_fp(struct vg_code_path *path, int64_t distance)
{
	if (path->fp_saved)
		return false;
	path->sp_base = VG_PATH_FROM_FP;
	path->sp_offset = 0;
	return sp_move(path, distance);
}

static bool pop(struct vg_code_path *path, uint8_t number)
{
	if (number == RSP)
		return false;
	if (number == RBP)
		fp_restore(path, 0);
	return sp_move(path, WORD_BYTES);
}

static bool push(struct vg_code_path *path, uint8_t number)
{
	if (!sp_move(path, -WORD_BYTES))
		return false;
	if (number == RBP && path->sp_base == VG_PATH_FROM_SP && !path->fp_pushed && !path->fp_set) {
		path->fp_pushed = true;
		path->fp_pushed_offset = path->sp_offset;
	}
	return true;
}

/* mov of the frame pointer to the stack: some compilers save it like this. */
static void fp_store(struct vg_code_path *path, const struct vg_instruction *instruction)
{
	if (path->sp_base == VG_PATH_FROM_SP && instruction->rm == RSP && !instruction->has_index && !path->fp_pushed &&
	    !path->fp_set) {
		path->fp_pushed = true;
		path->fp_pushed_offset = path->sp_offset + instruction->displacement;
	}
}

static void fp_from_sp(struct vg_code_path *path, int64_t distance)
{
	path->fp_set = path->sp_base == VG_PATH_FROM_SP;
	path->fp_offset = path->sp_offset + distance;
}

/* An instruction with opcode 81 or 83 on the stack pointer: arithmetic with a constant. */
static bool sp_compute(struct vg_code_path *path, const struct vg_instruction *instruction)
{
	switch (instruction->reg & 7) {
	case 0: return sp_move(path, instruction->immediate); /* add */
	case 5: return sp_move(path, -instruction->immediate); /* sub */
	case 7: return true;         /* cmp */
	}
	path->sp_base = VG_PATH_UNKNOWN; /* others; `and` aligns the stack */
	return true;
}

/* The stack pointer gets a value that cannot be followed.  If a frame pointer is set up, this is an allocation of
 * variable length.  Else the code switches stacks. */
static void stack_replace(struct vg_code_path *path)
{
	path->sp_base = VG_PATH_UNKNOWN;
	path->stack_replaced = !path->fp_set;
}

/* mov and lea to stack pointer or frame pointer.  False: sp_from_fp() or sp_move() returned false. */
static bool load(struct vg_code_path *path, const struct vg_instruction *instruction, uint8_t to)
{
	bool from_register = instruction->opcode == 0x8b && instruction->mode == 3;
	bool is_lea = instruction->opcode == 0x8d && !instruction->has_index;

	if (to == RBP && instruction->rm == RSP && !instruction->has_index) {
		if (is_lea || from_register)
			fp_from_sp(path, instruction->displacement);
		else
			fp_restore(path, instruction->displacement);
	}
	if (to != RSP)
		return true;
	if (from_register && instruction->rm == RBP)
		return sp_from_fp(path, 0);
	if (is_lea && instruction->rm == RBP)
		return sp_from_fp(path, instruction->displacement);
	if (is_lea && instruction->rm == RSP)
		return sp_move(path, instruction->displacement);
	stack_replace(path);
	return true;
}

/* Whether the instruction sets the stack pointer in a way that load() and vg_code_path_apply() do not follow. */
static bool writes_sp(const struct vg_instruction *instruction)
{
	uint16_t opcode = instruction->opcode;

	if (opcode == 0x94 && (instruction->rex & 1) == 0)
		return true;         /* xchg %rax,%rsp */
	if (opcode == 0x87 || (opcode < 0x38 && (opcode & 7) == 1))
		return (instruction->mode == 3 && instruction->rm == RSP) ||
		       (opcode == 0x87 && instruction->reg == RSP);
	return ((opcode < 0x38 && (opcode & 7) == 3) || opcode == 0x63) && instruction->reg == RSP;
}

bool vg_code_path_apply(struct vg_code_path *path, const struct vg_instruction *instruction)
{
	uint16_t opcode = instruction->opcode;
	uint8_t low = (uint8_t)((opcode & 7) | ((instruction->rex & 1) != 0 ? 8 : 0));

	if (opcode >= 0x50 && opcode <= 0x57)
		return !instruction->operand_16_bit && push(path, low);
	if (opcode >= 0x58 && opcode <= 0x5f)
		return !instruction->operand_16_bit && pop(path, low);
	if (writes_sp(instruction))
		path->sp_base = VG_PATH_UNKNOWN;
	switch (opcode) {
	case 0x68: case 0x6a: case 0x9c: return sp_move(path, -WORD_BYTES);
	case 0x9d: return sp_move(path, WORD_BYTES);
	case 0x8f: return instruction->mode != 3 && sp_move(path, WORD_BYTES);
	case 0x81: case 0x83:
		return instruction->mode != 3 || instruction->rm != RSP || sp_compute(path, instruction);
	case 0x8b: case 0x8d: return load(path, instruction, instruction->reg);
	case 0x89:
		if (instruction->mode == 3 && instruction->rm == RBP && instruction->reg == RSP)
			fp_from_sp(path, 0);
		if (instruction->mode != 3 && instruction->reg == RBP)
			fp_store(path, instruction);
		if (instruction->mode != 3 || instruction->rm != RSP)
			return true;
		if (instruction->reg == RBP)
			return sp_from_fp(path, 0);
		stack_replace(path);
		return true;
	case 0xc9:
		return sp_from_fp(path, 0) && pop(path, RBP);
	case 0xff:
		return (instruction->reg & 7) != 6 || sp_move(path, -WORD_BYTES);
	case 0xc8:                               /* enter */
	case 0xca: case 0xcb: case 0xcf:         /* far returns */
	case 0xcc: case 0xcd: case 0xf1: case 0xf4: /* traps, and hlt */
	case VG_OPCODE_MAP_0F | 0x0b: case VG_OPCODE_MAP_0F | 0xb9: case VG_OPCODE_MAP_0F | 0xff: /* ud2, ud1, ud0 */
		return false;
	}
	return true;
}
