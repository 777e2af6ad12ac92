/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_INSTRUCTION_X86_64_H
#define VG_VIGNETTED_INSTRUCTION_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VG_INSTRUCTION_MAX_BYTES = 15 };

/* Opcodes of the 0x0f map have 0x0f00 added.  All opcodes of other maps (vector instructions) are VG_OPCODE_OTHER. */
enum { VG_OPCODE_MAP_0F = 0x0f00, VG_OPCODE_OTHER = 0xffff };

/* The parts of an x86-64 instruction that determine its effect on the stack (Intel SDM, volume 2, chapter 2 and
 * appendix A). */
struct vg_instruction {
	uint8_t length;
	uint16_t opcode;
	uint8_t rex;                 /* 0: none */
	bool operand_16_bit;         /* it has the 16-bit operand prefix */
	bool has_modrm;
	uint8_t mode, reg, rm;       /* of the ModRM byte, extended by REX; with a SIB byte, rm is its base register */
	bool has_index;              /* the address has an index register or no base register */
	int32_t displacement;
	int64_t immediate;           /* sign-extended; of jumps and calls: the distance */
};

/* Decodes one instruction.  False: it is not valid in 64-bit code, or needs more than `count` bytes. */
bool vg_instruction_read(struct vg_instruction *instruction, const unsigned char *bytes, size_t count);

#endif
