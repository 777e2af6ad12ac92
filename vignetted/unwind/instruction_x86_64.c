/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/instruction_x86_64.h"

#include <string.h>

enum { REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1, XOP_MAPS = 8 };

/* What follows the opcode. */
enum {
	NONE = 0, MODRM = 1, IMM8 = 2, IMM16 = 4, IMMZ = 8, /* 4 bytes; 2 with the 16-bit operand prefix */
	IMM32 = 16, BAD = 32,
};

struct reader {
	const unsigned char *at, *end;
	struct vg_instruction *instruction;
};

static bool number_read(struct reader *reader, unsigned int bytes, int64_t *value)
{
	uint64_t bits = 0;

	if ((size_t)(reader->end - reader->at) < bytes)
		return false;
	memcpy(&bits, reader->at, bytes);
	reader->at += bytes;
	*value = bytes == 8 ? (int64_t)bits : (int64_t)(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes);
	return true;
}

static bool is_within(uint8_t opcode, uint8_t first, uint8_t last)
{
	return opcode >= first && opcode <= last;
}

static unsigned int one_byte_form(uint8_t opcode)
{
	if (opcode < 0x40)
		return (opcode & 7) < 4 ? MODRM : (opcode & 7) == 4 ? IMM8 : (opcode & 7) == 5 ? IMMZ : BAD;
	if (is_within(opcode, 0x70, 0x7f) || is_within(opcode, 0xb0, 0xb7) || is_within(opcode, 0xe0, 0xe7))
		return IMM8;
	if (is_within(opcode, 0xb8, 0xbf))
		return IMMZ;
	if (is_within(opcode, 0x84, 0x8f) || is_within(opcode, 0xd0, 0xd3) || is_within(opcode, 0xd8, 0xdf))
		return MODRM;
	switch (opcode) {
	case 0x63: case 0xf6: case 0xf7: case 0xfe: case 0xff: return MODRM;
	case 0x68: case 0xa9: return IMMZ;
	case 0x69: case 0x81: case 0xc7: return MODRM | IMMZ;
	case 0x6b: case 0x80: case 0x83: case 0xc0: case 0xc1: case 0xc6: return MODRM | IMM8;
	case 0x6a: case 0xa8: case 0xcd: case 0xeb: return IMM8;
	case 0xc2: case 0xca: return IMM16;
	case 0xc8: return IMM16 | IMM8;
	case 0xe8: case 0xe9: return IMM32;
	case 0x60: case 0x61: case 0x62: case 0x82: case 0x9a: case 0xc4: case 0xc5: case 0xce: case 0xd4: case 0xd5:
	case 0xd6: case 0xea:
		return BAD;
	}
	return NONE;
}

static bool has_imm8(uint8_t opcode)
{
	return is_within(opcode, 0x70, 0x73) || opcode == 0xc2 || is_within(opcode, 0xc4, 0xc6);
}

static unsigned int two_byte_form(uint8_t opcode)
{
	if (is_within(opcode, 0x80, 0x8f))
		return IMM32;
	if (is_within(opcode, 0x30, 0x37) || is_within(opcode, 0xc8, 0xcf) || is_within(opcode, 0xa0, 0xa2) ||
	    is_within(opcode, 0xa8, 0xaa) || is_within(opcode, 0x05, 0x09) || opcode == 0x0b || opcode == 0x0e ||
	    opcode == 0x77)
		return NONE;
	return has_imm8(opcode) || opcode == 0x0f || opcode == 0xa4 || opcode == 0xac || opcode == 0xba ?
	       MODRM | IMM8 : MODRM;
}

static bool modrm_read(struct reader *reader)
{
	struct vg_instruction *instruction = reader->instruction;
	int64_t byte, displacement = 0;
	unsigned int displacement_bytes;
	uint8_t base;

	if (!number_read(reader, 1, &byte))
		return false;
	instruction->has_modrm = true;
	instruction->mode = (uint8_t)byte >> 6;
	instruction->reg = ((uint8_t)byte >> 3 & 7) | ((instruction->rex & REX_R) != 0 ? 8 : 0);
	base = (uint8_t)byte & 7;
	displacement_bytes = instruction->mode == 1 ? 1 : instruction->mode == 2 ? 4 : 0;
	if (instruction->mode != 3 && base == 4) {
		if (!number_read(reader, 1, &byte))
			return false;
		base = (uint8_t)byte & 7;
		instruction->has_index = ((uint8_t)byte >> 3 & 7) != 4 || (instruction->rex & REX_X) != 0;
	}
	/* No base register: the address is relative to rip, or absolute. */
	if (instruction->mode == 0 && base == 5) {
		displacement_bytes = 4;
		instruction->has_index = true;
	}
	instruction->rm = base | ((instruction->rex & REX_B) != 0 ? 8 : 0);
	if (displacement_bytes > 0 && !number_read(reader, displacement_bytes, &displacement))
		return false;
	instruction->displacement = (int32_t)displacement;
	return true;
}

static bool rest_read(struct reader *reader, unsigned int form)
{
	struct vg_instruction *instruction = reader->instruction;
	int64_t ignored;

	if ((form & BAD) != 0 || ((form & MODRM) != 0 && !modrm_read(reader)))
		return false;
	if ((instruction->opcode == 0xf6 || instruction->opcode == 0xf7) && (instruction->reg & 7) < 2)
		form |= instruction->opcode == 0xf6 ? IMM8 : IMMZ;
	if ((form & IMM16) != 0)
		return number_read(reader, 2, &instruction->immediate) &&
		       ((form & IMM8) == 0 || number_read(reader, 1, &ignored));
	if ((form & IMM8) != 0)
		return number_read(reader, 1, &instruction->immediate);
	if ((form & IMM32) != 0)
		return number_read(reader, 4, &instruction->immediate);
	if ((form & IMMZ) == 0)
		return true;
	if (is_within((uint8_t)instruction->opcode, 0xb8, 0xbf) && instruction->opcode < 0x100 &&
	    (instruction->rex & REX_W) != 0)
		return number_read(reader, 8, &instruction->immediate);
	return number_read(reader, instruction->operand_16_bit && (instruction->rex & REX_W) == 0 ? 2 : 4,
			   &instruction->immediate);
}

/* VEX (c4, c5), EVEX (62) and AMD's XOP (8f).  Only the opcode map matters here, not the rest of the prefix. */
static bool vector_read(struct reader *reader, uint8_t prefix)
{
	unsigned int prefix_bytes = prefix == 0xc5 ? 1 : prefix == 0x62 ? 3 : 2, map = 1;
	uint8_t opcode;

	if ((size_t)(reader->end - reader->at) < prefix_bytes + 1)
		return false;
	if (prefix != 0xc5)
		map = reader->at[0] & (prefix == 0x62 ? 7 : 0x1f);
	opcode = reader->at[prefix_bytes];
	reader->at += prefix_bytes + 1;
	reader->instruction->opcode = VG_OPCODE_OTHER;
	if (map == 1 && opcode == 0x77)
		return rest_read(reader, NONE);
	if (map == XOP_MAPS + 2)
		return rest_read(reader, MODRM | IMM32);
	return rest_read(reader, map == 3 || map == XOP_MAPS || (map == 1 && has_imm8(opcode)) ? MODRM | IMM8 : MODRM);
}

static bool two_bytes_read(struct reader *reader)
{
	struct vg_instruction *instruction = reader->instruction;
	uint8_t opcode;

	if (reader->at == reader->end)
		return false;
	opcode = *reader->at++;
	instruction->opcode = VG_OPCODE_MAP_0F | opcode;
	/* mov with control and debug registers: the ModRM byte always names registers, whatever its mode. */
	if (is_within(opcode, 0x20, 0x23))
		return reader->at++ != reader->end;
	if (opcode != 0x38 && opcode != 0x3a)
		return rest_read(reader, two_byte_form(opcode));
	if (reader->at++ == reader->end)
		return false;
	instruction->opcode = VG_OPCODE_OTHER;
	return rest_read(reader, opcode == 0x3a ? MODRM | IMM8 : MODRM);
}

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: case 0x66: case 0x67: case 0xf0: case 0xf2:
	case 0xf3:
		return true;
	}
	return false;
}

static bool opcode_read(struct reader *reader)
{
	struct vg_instruction *instruction = reader->instruction;
	bool wide_address = true;
	int64_t ignored;

	for (; reader->at < reader->end && is_prefix(*reader->at); reader->at++) {
		instruction->operand_16_bit |= *reader->at == 0x66;
		wide_address &= *reader->at != 0x67;
	}
	if (reader->at < reader->end && (*reader->at & 0xf0) == 0x40)
		instruction->rex = *reader->at++;
	if (reader->at == reader->end)
		return false;
	instruction->opcode = *reader->at++;
	if (instruction->opcode == 0x0f)
		return two_bytes_read(reader);
	/* 8f is also pop to memory.  XOP's map numbers are values that the ModRM byte of pop cannot have. */
	if (instruction->opcode == 0xc4 || instruction->opcode == 0xc5 || instruction->opcode == 0x62 ||
	    (instruction->opcode == 0x8f && reader->at < reader->end && (*reader->at & 0x1f) >= XOP_MAPS))
		return vector_read(reader, (uint8_t)instruction->opcode);
	/* mov between %rax and an absolute address */
	if (is_within((uint8_t)instruction->opcode, 0xa0, 0xa3))
		return number_read(reader, wide_address ? 8 : 4, &ignored);
	return rest_read(reader, one_byte_form((uint8_t)instruction->opcode));
}

bool vg_instruction_read(struct vg_instruction *instruction, const unsigned char *bytes, size_t count)
{
	struct reader reader = {
		bytes, bytes + (count < VG_INSTRUCTION_MAX_BYTES ? count : VG_INSTRUCTION_MAX_BYTES), instruction,
	};

	*instruction = (struct vg_instruction){ 0 };
	if (!opcode_read(&reader))
		return false;
	instruction->length = (uint8_t)(reader.at - bytes);
	return true;
}
