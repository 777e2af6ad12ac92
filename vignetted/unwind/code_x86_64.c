/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/code.h"

#include <string.h>

/* Intel's manual, volume 2: SYSCALL, CALL. */

bool vg_code_after_syscall(struct vg_memory *memory, uint64_t address)
{
	unsigned char bytes[2];

	return vg_memory_read_cached(memory, address - sizeof bytes, bytes, sizeof bytes) == 0 &&
	       bytes[0] == 0x0f && bytes[1] == 0x05;
}

/* mov $number,%eax; syscall: how C libraries make nearly all their calls.  Behind a REX prefix (4x) the
 * same is another register's. */
int64_t vg_code_syscall(struct vg_memory *memory, uint64_t address)
{
	unsigned char bytes[8];
	int32_t number;

	if (vg_memory_read_cached(memory, address - sizeof bytes, bytes, sizeof bytes) != 0 ||
	    (bytes[0] & 0xf0) == 0x40 || bytes[1] != 0xb8 || bytes[6] != 0x0f || bytes[7] != 0x05)
		return -1;
	memcpy(&number, bytes + 2, sizeof number);
	return number;
}

/* ff /2 with its ModRM byte at bytes[0], `length` bytes before the return address. */
static bool is_indirect(const unsigned char *bytes, unsigned int length)
{
	static const unsigned char displacement_bytes[4] = { 0, 1, 4, 0 };
	unsigned char modrm = bytes[1], mode = modrm >> 6, memory = modrm & 7;
	unsigned int want = 2u + displacement_bytes[mode];

	if (bytes[0] != 0xff || (modrm & 0x38) != 0x10)
		return false;
	if (mode != 3 && memory == 4)
		want++;                  /* a SIB byte */
	if (mode == 0 && memory == 5)
		want += 4;               /* relative to the instruction pointer */
	return want == length;
}

bool vg_code_after_call(struct vg_memory *memory, uint64_t address)
{
	unsigned char bytes[7];

	if (vg_memory_read_cached(memory, address - sizeof bytes, bytes, sizeof bytes) != 0)
		return false;
	if (bytes[2] == 0xe8)
		return true;
	for (unsigned int length = 2; length <= sizeof bytes; length++) {
		if (is_indirect(bytes + sizeof bytes - length, length))
			return true;
	}
	return false;
}

/* endbr64, with which what may be jumped to begins: its length, if it is there. */
static size_t endbr_bytes(const unsigned char *code)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return memcmp(code, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
}

/* A stub of the linker's: jmp *distance(%rip), behind endbr64 and bnd where there are such. */
static bool is_stub(struct vg_memory *memory, uint64_t address)
{
	unsigned char code[7], *at = code;

	if (vg_memory_read_cached(memory, address, code, sizeof code) != 0)
		return false;
	at += endbr_bytes(at);
	at += *at == 0xf2;
	return at[0] == 0xff && at[1] == 0x25;
}

uint64_t vg_code_called(struct vg_memory *memory, uint64_t address)
{
	unsigned char call[5];
	int32_t distance;
	uint64_t to;

	if (vg_memory_read_cached(memory, address - sizeof call, call, sizeof call) != 0 || call[0] != 0xe8)
		return 0;
	memcpy(&distance, call + 1, sizeof distance);
	to = address + (uint64_t)(int64_t)distance;
	return is_stub(memory, to) ? 0 : to;
}

enum { RSP = 4, RBP = 5, INSTRUCTION_BYTES = 6, SCAN_BYTES = 512, FUNCTION_MAX_BYTES = 1 << 16, NEAR_BYTES = 4096 };

/* Opcodes with a ModRM byte that write the register or memory of its r/m field, or its register. */
static bool writes_rm(unsigned char opcode)
{
	return opcode == 0x89 || opcode == 0x87 || (opcode < 0x38 && (opcode & 7) == 1);
}

static bool writes_reg(unsigned char opcode)
{
	return opcode == 0x8b || opcode == 0x8d || opcode == 0x87 || opcode == 0x63 ||
	       (opcode < 0x38 && (opcode & 7) == 3);
}

/* lea with a constant to %rsp or %rbp. */
static bool is_lea_by_constant(const unsigned char *code)
{
	unsigned char mode = code[2] >> 6, base = code[2] & 7;

	return code[0] == 0x48 && code[1] == 0x8d && (mode == 1 || mode == 2) &&
	       (base == RBP || (base == RSP && code[3] == 0x24));
}

/* Whether an instruction that begins there, with a REX prefix of 64-bit operands, gives %rsp a value that is
 * not a constant away from its own or from %rbp. */
static bool takes_stack(const unsigned char *code)
{
	unsigned char rex = code[0], opcode = code[1], modrm = code[2];
	unsigned char mode = modrm >> 6, reg = modrm >> 3 & 7, rm = modrm & 7;

	if ((rex & 0xf8) != 0x48)
		return false;
	if (writes_rm(opcode) && mode == 3 && rm == RSP && (rex & 1) == 0)
		return !(opcode == 0x89 && reg == RBP && rex == 0x48);
	if (writes_reg(opcode) && reg == RSP && (rex & 4) == 0)
		return !(opcode == 0x8b && mode == 3 && rm == RBP && rex == 0x48) && !is_lea_by_constant(code);
	/* add (/0), sub (/5) and cmp (/7) with a constant leave it one; and (/4) aligns it */
	if ((opcode == 0x81 || opcode == 0x83) && mode == 3 && rm == RSP && (rex & 1) == 0)
		return reg != 0 && reg != 5 && reg != 7;
	return rex == 0x48 && opcode == 0x94;    /* xchg %rax,%rsp */
}

/* jcc to outside.  False: there is no more room. */
static bool jump_note(const unsigned char *code, uint64_t at, uint64_t first, uint64_t bytes,
		      struct vg_code_elsewhere *elsewhere)
{
	int32_t distance;
	uint64_t to;

	if (code[0] != 0x0f || (code[1] & 0xf0) != 0x80)
		return true;
	memcpy(&distance, code + 2, sizeof distance);
	to = at + 2 + sizeof distance + (uint64_t)(int64_t)distance;
	if (to - first < bytes)
		return true;
	for (size_t i = 0; i < elsewhere->count; i++) {
		if (to - elsewhere->at[i] + NEAR_BYTES < 2 * NEAR_BYTES)
			return true;
	}
	if (elsewhere->count == sizeof elsewhere->at / sizeof *elsewhere->at)
		return false;
	elsewhere->at[elsewhere->count++] = to;
	return true;
}

bool vg_code_begins_frame(struct vg_memory *memory, uint64_t address)
{
	unsigned char code[5];

	return vg_memory_read_cached(memory, address, code, sizeof code) == 0 &&
	       code[endbr_bytes(code)] == 0x55;      /* push %rbp */
}

/* Looks for such instructions at each byte: what is in the middle of another costs no more than a stop. */
bool vg_code_keeps_frame(struct vg_memory *memory, uint64_t first, uint64_t bytes,
			 struct vg_code_elsewhere *elsewhere)
{
	unsigned char code[SCAN_BYTES + INSTRUCTION_BYTES];

	elsewhere->count = 0;
	if (bytes > FUNCTION_MAX_BYTES)
		return false;
	for (uint64_t at = 0; at < bytes; at += SCAN_BYTES) {
		size_t length = bytes - at < sizeof code ? (size_t)(bytes - at) : sizeof code;

		memset(code, 0, sizeof code);
		if (vg_memory_read_cached(memory, first + at, code, length) != 0)
			return false;
		for (size_t i = 0; i < SCAN_BYTES; i++) {
			if (takes_stack(code + i) ||
			    !jump_note(code + i, first + at + i, first, bytes, elsewhere))
				return false;
		}
	}
	return true;
}
