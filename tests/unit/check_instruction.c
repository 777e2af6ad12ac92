/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What instructions do to registers and stack, by their bytes (Intel SDM, volume 2). */
#include "tests/unit/suites.h"

#include <string.h>

#include "vignetted/unwind/instruction.h"

#ifdef __x86_64__
/* Our numbers of registers: rax and rsp, and rcx and rbp have exchanged theirs. */
enum { SP = VG_REGISTER_SP, FP = VG_REGISTER_FP, RBX = 3, RAX = 4, RCX = 5, R10 = 10, R11 = 11, NONE = VG_REGISTER_NONE };

static const struct {
	const char *bytes;
	struct vg_instruction want;
} cases[] = {
	{ "\x55", { 1, .effect_count = 2, .effects = { { VG_EFFECT_STORE, SP, FP, -8 }, { VG_EFFECT_SET, SP, SP, -8 } } } },
	{ "\x41\x5a", { 2, .effect_count = 2,
			.effects = { { VG_EFFECT_LOAD, R10, SP, 0 }, { VG_EFFECT_SET, SP, SP, 8 } } } },
	{ "\x5c", { 1, .effect_count = 1, .effects = { { VG_EFFECT_LOAD, SP, SP, 0 } } } }, /* pop %rsp */
	{ "\x8f\x45\x20", { 3, .effect_count = 1, .effects = { { VG_EFFECT_SET, SP, SP, 8 } } } }, /* pop 0x20(%rbp) */
	{ "\x6a\xff", { 2, .effect_count = 2,
			.effects = { { VG_EFFECT_STORE, SP, NONE, -8 }, { VG_EFFECT_SET, SP, SP, -8 } } } },
	{ "\x9c", { 1, .effect_count = 2,
		    .effects = { { VG_EFFECT_STORE, SP, NONE, -8 }, { VG_EFFECT_SET, SP, SP, -8 } } } }, /* pushfq */
	{ "\x9d", { 1, .effect_count = 1, .effects = { { VG_EFFECT_SET, SP, SP, 8 } } } }, /* popfq */
	{ "\x66\x55", { 2, .lost = 1u << SP } },                          /* push %bp */
	{ "\xc6\xf8\xff", { 3, .flow = VG_FLOW_NEXT } },                               /* xabort $-1 */
	{ "\xc9", { 1, .effect_count = 2, .effects = { { VG_EFFECT_SET, SP, FP, 8 }, { VG_EFFECT_LOAD, FP, FP, 0 } } } },
	{ "\x48\x89\xe5", { 3, .effect_count = 1, .effects = { { VG_EFFECT_SET, FP, SP, 0 } } } },
	{ "\x48\x89\x6c\x24\x20", { 5, .effect_count = 1, .effects = { { VG_EFFECT_STORE, SP, FP, 0x20 } } } },
	{ "\x48\x8b\x6c\x24\x20", { 5, .effect_count = 1, .effects = { { VG_EFFECT_LOAD, FP, SP, 0x20 } } } },
	{ "\x48\x8d\x65\xd8", { 4, .effect_count = 1, .effects = { { VG_EFFECT_SET, SP, FP, -0x28 } } } },
	{ "\x48\x83\xec\x18", { 4, .effect_count = 1, .effects = { { VG_EFFECT_SET, SP, SP, -0x18 } } } },
	{ "\x48\x81\xc4\x00\x10\x00\x00", { 7, .effect_count = 1, .effects = { { VG_EFFECT_SET, SP, SP, 0x1000 } } } },
	{ "\x48\x83\xe4\xe0", { 4, .effect_count = 1, .effects = { { VG_EFFECT_ALIGN, SP, NONE, 0 } } } },
	{ "\xb8\xff\xff\xff\xff", { 5, .effect_count = 1,
				    .effects = { { VG_EFFECT_CONSTANT, RAX, NONE, UINT32_MAX } } } },
	{ "\x48\xc7\xc0\xff\xff\xff\xff", { 7, .effect_count = 1,
					    .effects = { { VG_EFFECT_CONSTANT, RAX, NONE, -1 } } } },
	/* sub %rax, %rsp; mov (%rsp,%rax), %rsp; movzx %al, %ebp; xchg %rbx, %rsp */
	{ "\x48\x29\xc4", { 3, .lost = 1u << SP } },
	{ "\x48\x8b\x24\x04", { 4, .lost = 1u << SP } },
	{ "\x0f\xb6\xe8", { 3, .lost = 1u << FP } },
	{ "\x48\x87\xdc", { 3, .lost = 1u << SP | 1u << RBX } },
	{ "\x4c\x39\xdc", { 3, .compared = R11 } },                       /* cmp %r11, %rsp */
	{ "\x48\x85\xed", { 3, .lost = 0 } },                             /* test %rbp, %rbp */
	{ "\x0f\x84\x10\x00\x00\x00", { 6, .flow = VG_FLOW_BRANCH, .distance = 0x10 } },
	{ "\xeb\xfe", { 2, .flow = VG_FLOW_JUMP, .distance = -2 } },
	{ "\x41\xff\xe3", { 3, .flow = VG_FLOW_JUMP_REGISTER, .jump_register = R11 } },
	{ "\xff\x25\x00\x00\x00\x00", { 6, .flow = VG_FLOW_JUMP_MEMORY } },
	{ "\xf3\xc3", { 2, .flow = VG_FLOW_RETURN } },
	{ "\xc2\x08\x00", { 3, .flow = VG_FLOW_RETURN } },
	{ "\x0f\x0b", { 2, .flow = VG_FLOW_TRAP } },
	{ "\xf4", { 1, .flow = VG_FLOW_TRAP } },
	{ "\0\0", { 2, .flow = VG_FLOW_TRAP } },
	{ "\x66\x0f\x1f\x44\x00\x00", { 6, .is_padding = true } },
};

START_TEST(effects)
{
	struct vg_instruction want = cases[_i].want, read;
	unsigned char bytes[VG_INSTRUCTION_MAX_BYTES] = { 0 };

	memcpy(bytes, cases[_i].bytes, want.length);
	if (want.flow != VG_FLOW_JUMP_REGISTER)
		want.jump_register = NONE;
	if (want.compared == 0)
		want.compared = NONE;
	ck_assert(vg_instruction_read(&read, bytes, sizeof bytes));
	ck_assert_uint_eq(read.length, want.length);
	ck_assert_uint_eq(read.flow, want.flow);
	ck_assert_uint_eq(read.jump_register, want.jump_register);
	ck_assert_uint_eq(read.compared, want.compared);
	ck_assert_uint_eq(read.is_padding, want.is_padding);
	ck_assert_uint_eq(read.lost, want.lost);
	if (want.flow == VG_FLOW_JUMP || want.flow == VG_FLOW_BRANCH)
		ck_assert_int_eq(read.distance, want.distance);
	ck_assert_uint_eq(read.effect_count, want.effect_count);
	for (uint8_t i = 0; i < want.effect_count; i++) {
		ck_assert_uint_eq(read.effects[i].kind, want.effects[i].kind);
		ck_assert_uint_eq(read.effects[i].to, want.effects[i].to);
		ck_assert_uint_eq(read.effects[i].from, want.effects[i].from);
		ck_assert_int_eq(read.effects[i].number, want.effects[i].number);
	}
	/* One byte too few */
	ck_assert(!vg_instruction_read(&read, bytes, want.length - 1u));
}
END_TEST

/* A called function keeps rbx, rbp, rsp and r12 to r15. */
START_TEST(calls_lose_registers)
{
	struct vg_instruction read;

	ck_assert(vg_instruction_read(&read, (const unsigned char *)"\xe8\x00\x00\x00\x00", 5));
	ck_assert_uint_eq(read.flow, VG_FLOW_CALL);
	ck_assert_uint_eq(read.lost, 0xffffu & ~(1u << SP | 1u << FP | 1u << RBX | 0xf000u));
}
END_TEST
#endif

Suite *instruction_suite(void)
{
	Suite *suite = suite_create("instruction");
#ifdef __x86_64__
	TCase *tests = tcase_create("instruction");

	tcase_add_loop_test(tests, effects, 0, sizeof cases / sizeof *cases);
	tcase_add_test(tests, calls_lose_registers);
	suite_add_tcase(suite, tests);
#endif
	return suite;
}
