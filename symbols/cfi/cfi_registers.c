/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/cfi/cfi_registers.h"

#define FOUR(prefix, a, b, c, d) prefix #a, prefix #b, prefix #c, prefix #d
#define EIGHT(prefix) FOUR(prefix, 0, 1, 2, 3), FOUR(prefix, 4, 5, 6, 7)
#define SIXTEEN(prefix) EIGHT(prefix), FOUR(prefix, 8, 9, 10, 11), FOUR(prefix, 12, 13, 14, 15)
#define THIRTY_TWO(prefix) SIXTEEN(prefix), \
	FOUR(prefix, 16, 17, 18, 19), FOUR(prefix, 20, 21, 22, 23), \
	FOUR(prefix, 24, 25, 26, 27), FOUR(prefix, 28, 29, 30, 31)

/* The indices are the register numbers in the DWARF supplement of each ABI.  The names are those
 * that Breakpad's stack walkers use. */

static const char *const i386[] = {
	"$eax", "$ecx", "$edx", "$ebx", "$esp", "$ebp", "$esi", "$edi", "$eip", "$eflags",
	[11] = EIGHT("$st"), [21] = EIGHT("$xmm"), [29] = EIGHT("$mm"),
	[37] = "$fcw", "$fsw", "$mxcsr", "$es", "$cs", "$ss", "$ds", "$fs", "$gs",
	[48] = "$tr", "$ldtr",
};

static const char *const x86_64[] = {
	"$rax", "$rdx", "$rcx", "$rbx", "$rsi", "$rdi", "$rbp", "$rsp",
	"$r8", "$r9", "$r10", "$r11", "$r12", "$r13", "$r14", "$r15", "$rip",
	SIXTEEN("$xmm"), EIGHT("$st"), EIGHT("$mm"),
	"$rflags", "$es", "$cs", "$ss", "$ds", "$fs", "$gs",
	[58] = "$fs.base", "$gs.base", [62] = "$tr", "$ldtr", "$mxcsr", "$fcw", "$fsw",
};

static const char *const arm[] = {
	EIGHT("r"), "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc",
	EIGHT("f"), "fps", "cpsr", [64] = THIRTY_TWO("s"), [96] = EIGHT("f"),
};

static const char *const arm64[] = {
	SIXTEEN("x"), FOUR("x", 16, 17, 18, 19), FOUR("x", 20, 21, 22, 23),
	FOUR("x", 24, 25, 26, 27), "x28", "x29", "x30", "sp", [64] = THIRTY_TWO("v"),
};

static const char *const mips[] = {
	"$zero", "$at", "$v0", "$v1", FOUR("$a", 0, 1, 2, 3), EIGHT("$t"), EIGHT("$s"),
	"$t8", "$t9", "$k0", "$k1", "$gp", "$sp", "$fp", "$ra",
};

static const char *const riscv[] = {
	"pc", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", EIGHT("a"),
	FOUR("s", 2, 3, 4, 5), FOUR("s", 6, 7, 8, 9), "s10", "s11", FOUR("t", 3, 4, 5, 6),
	THIRTY_TWO("f"), [96] = THIRTY_TWO("v"),
};

#define NAMES(table) (struct vg_cfi_register_table){ (table), sizeof (table) / sizeof *(table) }

struct vg_cfi_register_table vg_cfi_register_names(unsigned machine)
{
	switch (machine) {
	case EM_386:
		return NAMES(i386);
	case EM_X86_64:
		return NAMES(x86_64);
	case EM_ARM:
		return NAMES(arm);
	case EM_AARCH64:
		return NAMES(arm64);
	case EM_MIPS:
		return NAMES(mips);
	case EM_RISCV:
		return NAMES(riscv);
	}
	return (struct vg_cfi_register_table){ NULL, 0 };
}

const char *vg_cfi_register_name(const struct vg_cfi_reader *reader, uint64_t reg)
{
	return reg < reader->names.count ? reader->names.names[reg] : NULL;
}
