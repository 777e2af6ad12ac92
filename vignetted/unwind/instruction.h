/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_INSTRUCTION_H
#define VG_VIGNETTED_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one instruction does to the registers and to the stack.  instruction_<machine>.c decodes instructions into this
 * form, which is the same for all machines.  doc/design/unwinding.md says what another machine needs. */

enum { VG_INSTRUCTION_MAX_BYTES = 15 };

/* Each machine numbers its registers as it wants, except the stack pointer and the frame pointer. */
enum { VG_REGISTER_SP = 0, VG_REGISTER_FP = 1, VG_REGISTERS = 16, VG_REGISTER_NONE = 255 };

/* Where execution goes next. */
enum vg_flow {
	VG_FLOW_NEXT,                /* to the next instruction */
	VG_FLOW_CALL,                /* to the next instruction, when the called function has returned */
	VG_FLOW_BRANCH,              /* to the next instruction, or `distance` bytes after the end of this one */
	VG_FLOW_JUMP,                /* `distance` bytes after the end of this instruction */
	VG_FLOW_JUMP_REGISTER,       /* to the address in `jump_register` */
	VG_FLOW_JUMP_MEMORY,         /* to an address in memory */
	VG_FLOW_RETURN,              /* to the return address on top of the stack */
	VG_FLOW_TRAP,                /* no further */
};

enum vg_effect_kind {
	VG_EFFECT_SET,               /* to = from + number */
	VG_EFFECT_CONSTANT,          /* to = number */
	VG_EFFECT_LOAD,              /* to = the word at from + number */
	VG_EFFECT_STORE,             /* the word at to + number = from; VG_REGISTER_NONE: an unknown value */
	VG_EFFECT_ALIGN,             /* `to` decreases to a multiple of some number */
};

struct vg_effect {
	uint8_t kind;                /* enum vg_effect_kind */
	uint8_t to, from;            /* registers */
	int64_t number;
};

/* No instruction has more effects. */
enum { VG_EFFECTS_MAX = 3 };

struct vg_instruction {
	uint8_t length;              /* bytes */
	uint8_t flow;                /* enum vg_flow */
	uint8_t jump_register;
	uint8_t compared;            /* the register that the instruction compares with the stack pointer, or
					VG_REGISTER_NONE */
	bool is_padding;             /* it does nothing, as between functions */
	uint8_t effect_count;
	uint32_t lost;               /* a bit for each register that gets an unknown value */
	int64_t distance;
	struct vg_effect effects[VG_EFFECTS_MAX]; /* in this order, and before `lost` */
};

/* Decodes one instruction.  False: it is not valid, or needs more than `count` bytes. */
bool vg_instruction_read(struct vg_instruction *instruction, const unsigned char *bytes, size_t count);

/* Whether the instruction at `bytes` is one with which functions mostly begin.  Targets of indirect jumps have it,
 * too. */
bool vg_instruction_begins_function(const unsigned char *bytes, size_t count);

/* Whether a function may begin at `code`: before it is a return, a jump, a call, a trap or padding.  Reads the
 * VG_BEFORE_BYTES bytes before `code`. */
enum { VG_BEFORE_BYTES = 5 };
bool vg_instruction_is_possible_beginning(const unsigned char *code, uint64_t address);

/* Whether a function is likely to begin at `code`: it is aligned, and a return or padding is before it.  Aligned loops
 * look the same. */
bool vg_instruction_is_likely_beginning(const unsigned char *code, uint64_t address);

#endif
