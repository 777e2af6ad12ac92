/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/code.h"

#include <string.h>

#include "vignetted/unwind/instruction.h"

/* Encodings: Intel SDM, volume 2. */

bool vg_code_after_syscall(struct vg_memory *memory, uint64_t address)
{
	unsigned char bytes[2];

	return vg_memory_read_cached(memory, address - sizeof bytes, bytes, sizeof bytes) == 0 &&
	       bytes[0] == 0x0f && bytes[1] == 0x05;
}

/* mov $number,%eax; syscall.  C libraries make nearly all system calls like this.  A mov with a REX prefix (4x) loads
 * another register. */
int64_t vg_code_syscall_number(struct vg_memory *memory, uint64_t address)
{
	unsigned char bytes[8];
	int32_t number;

	if (vg_memory_read_cached(memory, address - sizeof bytes, bytes, sizeof bytes) != 0 ||
	    (bytes[0] & 0xf0) == 0x40 || bytes[1] != 0xb8 || bytes[6] != 0x0f || bytes[7] != 0x05)
		return -1;
	memcpy(&number, bytes + 2, sizeof number);
	return number;
}

/* Whether these bytes are an indirect call (ff /2) of this length. */
static bool is_indirect(const unsigned char *bytes, unsigned int length)
{
	static const unsigned char displacement_bytes[4] = { 0, 1, 4, 0 };
	unsigned char modrm = bytes[1], mode = modrm >> 6, memory = modrm & 7;
	unsigned int want = 2u + displacement_bytes[mode];

	if (bytes[0] != 0xff || (modrm & 0x38) != 0x10 || (memory == 4 && mode != 3 && length < 3))
		return false;
	if (mode != 3 && memory == 4)
		want++;              /* a SIB byte */
	if (mode == 0 && (memory == 5 || (memory == 4 && (bytes[2] & 7) == 5)))
		want += 4;           /* no base register: relative to the instruction pointer, or absolute */
	return want == length;
}

enum { CALL_BYTES = 7 };

/* Whether these bytes end with a call. */
static bool ends_with_call(const unsigned char bytes[CALL_BYTES])
{
	if (bytes[2] == 0xe8)
		return true;
	for (unsigned int length = 2; length <= CALL_BYTES; length++) {
		if (is_indirect(bytes + CALL_BYTES - length, length))
			return true;
	}
	return false;
}

bool vg_code_after_call(struct vg_memory *memory, uint64_t address, bool is_jit)
{
	unsigned char bytes[CALL_BYTES];

	return vg_code_read(memory, address - sizeof bytes, is_jit, bytes, sizeof bytes) == 0 && ends_with_call(bytes);
}

/* Whether the code is mov $15,%rax or mov $15,%eax (15 is rt_sigreturn(2)), then syscall. */
static bool is_sigreturn_code(struct vg_memory *memory, uint64_t address)
{
	static const unsigned char wide[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	static const unsigned char narrow[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };
	unsigned char code[sizeof wide];

	return (vg_memory_read_cached(memory, address, code, sizeof wide) == 0 &&
		memcmp(code, wide, sizeof wide) == 0) ||
	       (vg_memory_read_cached(memory, address, code, sizeof narrow) == 0 &&
		memcmp(code, narrow, sizeof narrow) == 0);
}

bool vg_code_is_sigreturn(struct vg_memory *memory, uint64_t address)
{
	return is_sigreturn_code(memory, address) ||
	       (vg_code_after_syscall(memory, address) &&
		(is_sigreturn_code(memory, address - 9) || is_sigreturn_code(memory, address - 7)));
}

bool vg_code_is_stack_bottom(struct vg_memory *memory, uint64_t address)
{
	unsigned char code[2];

	return vg_memory_read_cached(memory, address - 1, code, sizeof code) == 0 && code[0] == 0x90 && code[1] == 0xe8;
}

/* The length of the endbr64 at the beginning of a function, or 0. */
static size_t endbr_bytes(const unsigned char *code)
{
	enum { ENDBR_BYTES = 4 };

	return vg_instruction_begins_function(code, ENDBR_BYTES) ? ENDBR_BYTES : 0;
}

/* Whether a PLT stub begins at the address: jmp *distance(%rip), after an optional endbr64 and bnd prefix. */
static bool is_plt_stub(struct vg_memory *memory, uint64_t address, bool is_jit)
{
	unsigned char code[7], *at = code;

	if (vg_code_read(memory, address, is_jit, code, sizeof code) != 0)
		return false;
	at += endbr_bytes(at);
	at += *at == 0xf2;
	return at[0] == 0xff && at[1] == 0x25;
}

uint64_t vg_code_call_target(struct vg_memory *memory, uint64_t address, bool is_jit)
{
	unsigned char call[5];
	int32_t distance;
	uint64_t to;

	if (vg_code_read(memory, address - sizeof call, is_jit, call, sizeof call) != 0 || call[0] != 0xe8)
		return 0;
	memcpy(&distance, call + 1, sizeof distance);
	to = address + (uint64_t)(int64_t)distance;
	return is_plt_stub(memory, to, is_jit) ? 0 : to;
}

enum { RSP = 4, RBP = 5, INSTRUCTION_BYTES = 6, SCAN_BYTES = 512, FUNCTION_MAX_BYTES = 1 << 16, NEAR_BYTES = 4096 };

/* Whether an opcode with a ModRM byte writes its r/m operand. */
static bool writes_rm(unsigned char opcode)
{
	return opcode == 0x89 || opcode == 0x87 || (opcode < 0x38 && (opcode & 7) == 1);
}

/* Whether an opcode with a ModRM byte writes its register operand. */
static bool writes_reg(unsigned char opcode)
{
	return opcode == 0x8b || opcode == 0x8d || opcode == 0x87 || opcode == 0x63 ||
	       (opcode < 0x38 && (opcode & 7) == 3);
}

/* Whether the code is a lea of %rsp or %rbp plus a constant. */
static bool is_lea_by_constant(const unsigned char *code)
{
	unsigned char mode = code[2] >> 6, base = code[2] & 7;

	return code[0] == 0x48 && code[1] == 0x8d && (mode == 1 || mode == 2) &&
	       (base == RBP || (base == RSP && code[3] == 0x24));
}

/* Whether an instruction with a 64-bit REX prefix begins at `code` and writes %rsp.  Instructions that set %rsp to %rsp
 * or %rbp plus a constant do not count. */
static bool writes_sp(const unsigned char *code)
{
	unsigned char rex = code[0], opcode = code[1], modrm = code[2];
	unsigned char mode = modrm >> 6, reg = modrm >> 3 & 7, rm = modrm & 7;

	if ((rex & 0xf8) != 0x48)
		return false;
	if (writes_rm(opcode) && mode == 3 && rm == RSP && (rex & 1) == 0)
		return !(opcode == 0x89 && reg == RBP && rex == 0x48);
	if (writes_reg(opcode) && reg == RSP && (rex & 4) == 0)
		return !(opcode == 0x8b && mode == 3 && rm == RBP && rex == 0x48) && !is_lea_by_constant(code);
	/* Of the arithmetic with a constant, `add` (/0), `sub` (/5) and `cmp` (/7) do not count.  `and` (/4), which
	 * aligns the stack, counts. */
	if ((opcode == 0x81 || opcode == 0x83) && mode == 3 && rm == RSP && (rex & 1) == 0)
		return reg != 0 && reg != 5 && reg != 7;
	return rex == 0x48 && opcode == 0x94; /* xchg %rax,%rsp */
}

/* Notes the target of a conditional jump out of the function.  False: no room for another target. */
static bool jump_target_add(const unsigned char *code, uint64_t at, uint64_t first, uint64_t bytes,
			    struct vg_code_jump_targets *targets)
{
	int32_t distance;
	uint64_t to;

	if (code[0] != 0x0f || (code[1] & 0xf0) != 0x80)
		return true;
	memcpy(&distance, code + 2, sizeof distance);
	to = at + 2 + sizeof distance + (uint64_t)(int64_t)distance;
	if (to - first < bytes)
		return true;
	for (size_t i = 0; i < targets->count; i++) {
		if (to - targets->at[i] + NEAR_BYTES < 2 * NEAR_BYTES)
			return true;
	}
	if (targets->count == sizeof targets->at / sizeof *targets->at)
		return false;
	targets->at[targets->count++] = to;
	return true;
}

bool vg_code_begins_frame(struct vg_memory *memory, uint64_t address)
{
	unsigned char code[5];

	return vg_memory_read_cached(memory, address, code, sizeof code) == 0 &&
	       code[endbr_bytes(code)] == 0x55; /* push %rbp */
}

/* Checks every byte as if an instruction began there.  A wrong match inside an instruction only costs a stop of the
 * thread. */
bool vg_code_frame_is_constant(struct vg_memory *memory, uint64_t first, uint64_t bytes,
			       struct vg_code_jump_targets *targets)
{
	unsigned char code[SCAN_BYTES + INSTRUCTION_BYTES];

	targets->count = 0;
	if (bytes > FUNCTION_MAX_BYTES)
		return false;
	for (uint64_t at = 0; at < bytes; at += SCAN_BYTES) {
		size_t length = bytes - at < sizeof code ? (size_t)(bytes - at) : sizeof code;

		memset(code, 0, sizeof code);
		if (vg_memory_read_cached(memory, first + at, code, length) != 0)
			return false;
		for (size_t i = 0; i < SCAN_BYTES; i++) {
			if (writes_sp(code + i) ||
			    !jump_target_add(code + i, first + at + i, first, bytes, targets))
				return false;
		}
	}
	return true;
}
