/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The frame size of a function in a waiting thread: learned sizes, and code that keeps the frame at one size. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/suites.h"
#include "vignetted/unwind/code.h"
#include "vignetted/unwind/rows.h"

START_TEST(known_sizes)
{
	static const struct {
		uint64_t sizes[4];
		int count;
		bool known;
	} cases[] = {
		{ { 0 }, 0, false },
		{ { 64 }, 1, false },
		{ { 64, 64 }, 2, true },
		{ { 64, 64, 64, 64 }, 4, true },
		{ { 0, 0, 0 }, 3, true },
		{ { 64, 72, 64, 64 }, 4, false },
		{ { 64, 64, 64, 72 }, 4, false },
		{ { 60, 60, 60 }, 3, false },
		{ { 1 << 20, 1 << 20 }, 2, true },
		{ { (1 << 20) + 8, (1 << 20) + 8 }, 2, false },
		{ { -64, -64 }, 2, false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct vg_frame_size size = { 0 };

		for (int k = 0; k < cases[i].count; k++)
			vg_frame_size_note(&size, 0x7ff000, 0x7ff000 + cases[i].sizes[k]);
		ck_assert_msg((size.seen == VG_FRAME_KNOWN) == cases[i].known, "case %zu", i);
		if (cases[i].known)
			ck_assert_uint_eq(size.bytes, cases[i].sizes[0]);
	}
}
END_TEST

START_TEST(proven_sizes)
{
	struct vg_frame_size size = { 0 };

	for (int i = 0; i < 2; i++)
		vg_frame_size_note(&size, 0x7ff000, 0x7ff040);
	size.proven = true;
	vg_frame_size_note(&size, 0x7ff000, 0x7ff040);
	ck_assert(size.proven && size.seen == VG_FRAME_KNOWN);
	ck_assert_uint_eq(size.bytes, 64);
	vg_frame_size_note(&size, 0x7ff000, 0x7ff048);
	ck_assert(size.seen != VG_FRAME_KNOWN);
}
END_TEST

#ifdef __x86_64__
/* instructions, and whether they leave the size of the frame as it is */
static const struct code {
	const char *text;
	unsigned char bytes[8];
	bool is_constant;
} codes[] = {
	{ "push %rbp; mov %rsp,%rbp", { 0x55, 0x48, 0x89, 0xe5 }, true },
	{ "sub $32,%rsp", { 0x48, 0x83, 0xec, 0x20 }, true },
	{ "sub $4096,%rsp", { 0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00 }, true },
	{ "add $32,%rsp", { 0x48, 0x83, 0xc4, 0x20 }, true },
	{ "lea -40(%rbp),%rsp", { 0x48, 0x8d, 0x65, 0xd8 }, true },
	{ "lea -400(%rbp),%rsp", { 0x48, 0x8d, 0xa5, 0x70, 0xfe, 0xff, 0xff }, true },
	{ "lea 8(%rsp),%rsp", { 0x48, 0x8d, 0x64, 0x24, 0x08 }, true },
	{ "mov %rbp,%rsp", { 0x48, 0x89, 0xec }, true },
	{ "leave; ret", { 0xc9, 0xc3 }, true },
	{ "cmp %rax,%rsp", { 0x48, 0x39, 0xc4 }, true },
	{ "mov %rsp,%r12", { 0x49, 0x89, 0xe4 }, true },
	{ "mov %r12,8(%rsp)", { 0x4c, 0x89, 0x64, 0x24, 0x08 }, true },
	{ "sub %rax,%rsp", { 0x48, 0x29, 0xc4 }, false },
	{ "sub %r8,%rsp", { 0x4c, 0x29, 0xc4 }, false },
	{ "sub %rax,%rsp, in its other encoding", { 0x48, 0x2b, 0xe0 }, false },
	{ "mov %rcx,%rsp", { 0x48, 0x89, 0xcc }, false },
	{ "mov %r13,%rsp", { 0x4c, 0x89, 0xec }, false },
	{ "mov -56(%rbp),%rsp", { 0x48, 0x8b, 0x65, 0xc8 }, false },
	{ "lea (%rsp,%rax,8),%rsp", { 0x48, 0x8d, 0x24, 0xc4 }, false },
	{ "lea 8(%r10),%rsp", { 0x49, 0x8d, 0x62, 0x08 }, false },
	{ "and $-64,%rsp", { 0x48, 0x83, 0xe4, 0xc0 }, false },
	{ "xchg %rax,%rsp", { 0x48, 0x94 }, false },
};

/* nop_counts: how many bytes of nop precede the instruction. vg_code_frame_is_constant() reads 512 bytes at a time, so
 * with some of these counts the end of a read is inside the instruction. */
START_TEST(constant_frames)
{
	static const size_t nop_counts[] = { 0, 505, 508, 511, 512, 600 };
	const struct code *code = &codes[_i];
	struct vg_code_jump_targets elsewhere;
	struct vg_memory memory;

	for (size_t i = 0; i < sizeof nop_counts / sizeof *nop_counts; i++) {
		size_t bytes = nop_counts[i] + sizeof code->bytes;
		unsigned char *function = malloc(bytes);

		memset(function, 0x90, bytes);
		memcpy(function + nop_counts[i], code->bytes, sizeof code->bytes);
		ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
		ck_assert_msg(vg_code_frame_is_constant(&memory, (uint64_t)function, bytes, &elsewhere) ==
			      code->is_constant, "%s, behind %zu bytes", code->text, nop_counts[i]);
		vg_memory_free(&memory);
		free(function);
	}
}
END_TEST

START_TEST(unreadable_code)
{
	struct vg_code_jump_targets elsewhere;
	struct vg_memory memory;

	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	ck_assert(!vg_code_frame_is_constant(&memory, 8, 64, &elsewhere));
	ck_assert(!vg_code_frame_is_constant(&memory, (uint64_t)codes, UINT64_C(1) << 40, &elsewhere));
	ck_assert(!vg_code_begins_frame(&memory, 8));
	vg_memory_free(&memory);
}
END_TEST

/* endbr64; push %rbp; je to 4 bytes further, je to 64 KiB further, je to a little more, jne backward */
START_TEST(jumps_out_of_the_function)
{
	static const unsigned char function[] = {
		0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x0f, 0x84, 0x04, 0x00, 0x00, 0x00, 0x0f, 0x84, 0x00, 0x00, 0x01,
		0x00, 0x0f, 0x84, 0x80, 0x00, 0x01, 0x00, 0x0f, 0x85, 0x00, 0x00, 0xfe, 0xff, 0xc9, 0xc3,
	};
	struct vg_code_jump_targets elsewhere;
	struct vg_memory memory;

	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	ck_assert(vg_code_begins_frame(&memory, (uint64_t)function));
	ck_assert(vg_code_begins_frame(&memory, (uint64_t)function + 4));
	ck_assert(!vg_code_begins_frame(&memory, (uint64_t)function + 5));
	ck_assert(vg_code_frame_is_constant(&memory, (uint64_t)function, sizeof function, &elsewhere));
	ck_assert_uint_eq(elsewhere.count, 2);
	ck_assert_uint_eq(elsewhere.at[0], (uint64_t)function + 17 + 0x10000);
	ck_assert_uint_eq(elsewhere.at[1], (uint64_t)function + 29 - 0x20000);
	vg_memory_free(&memory);
}
END_TEST
#endif

Suite *frame_size_suite(void)
{
	Suite *suite = suite_create("frame_size");
	TCase *tests = tcase_create("frame_size");

	tcase_add_test(tests, known_sizes);
	tcase_add_test(tests, proven_sizes);
#ifdef __x86_64__
	tcase_add_loop_test(tests, constant_frames, 0, sizeof codes / sizeof *codes);
	tcase_add_test(tests, unreadable_code);
	tcase_add_test(tests, jumps_out_of_the_function);
#endif
	suite_add_tcase(suite, tests);
	return suite;
}
