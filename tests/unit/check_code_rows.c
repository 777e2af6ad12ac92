/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows that are computed from instructions, for assembly functions whose frames are known. */
#include "tests/unit/suites.h"

#include <unistd.h>

#include "vignetted/unwind/code_rows.h"

#ifdef __x86_64__
static struct vg_memory memory;

static void setup(void)
{
	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	memory.words_left = 1 << 20;
}

static void teardown(void)
{
	vg_memory_free(&memory);
}

/* Each label is an address whose row is looked up. `asm_returns` has two paths; the first one does not return.
 * `asm_dies` never returns: the code after it is another function. `asm_framed` changes the stack pointer by an unknown
 * number. `asm_go` saves the frame pointer as Go does. `asm_switches` continues on another stack. */
__asm__(".text\n"
	"asm_returns: push %rbp\n push %rbx\n sub $24, %rsp\n"
	"asm_returns_here: test %edi, %edi\n jz 1f\n call asm_dies\n"
	"1: add $24, %rsp\n pop %rbx\n"
	"asm_returns_late: pop %rbp\n ret\n"
	"asm_dies: push %rbp\n sub $16, %rsp\n call asm_dies\n"
	"asm_dies_here:\n"
	"asm_other: push %rbx\n xor %eax, %eax\n pop %rbx\n ret\n"
	"asm_framed: push %rbp\n mov %rsp, %rbp\n push %rbx\n push %rbx\n sub %rdi, %rsp\n"
	"asm_framed_here: call asm_other\n lea -16(%rbp), %rsp\n pop %rbx\n pop %rbx\n pop %rbp\n ret\n"
	"asm_leaves: push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n"
	"asm_leaves_here: leave\n ret\n"
	"asm_go: sub $40, %rsp\n mov %rbp, 32(%rsp)\n lea 32(%rsp), %rbp\n call asm_other\n"
	"asm_go_here: mov 32(%rsp), %rbp\n add $40, %rsp\n ret\n"
	"asm_tail: push %rbx\n"
	"asm_tail_here: pop %rbx\n jmp asm_other\n"
	".balign 16, 0xcc\n asm_switches: mov (%rdi), %rsp\n call asm_dies\n"
	"asm_switches_here: int3\n");
extern const char asm_returns[], asm_returns_here[], asm_returns_late[], asm_dies[], asm_dies_here[], asm_framed_here[],
	asm_leaves_here[], asm_go[], asm_go_here[], asm_tail_here[], asm_switches_here[], asm_other[];

static bool is_row(const struct vg_row *row, enum vg_row_base cfa_base, int32_t cfa_offset, enum vg_row_base fp_base,
		   int32_t fp_offset)
{
	/* The saved frame pointer's offset may be relative to the CFA or to the stack pointer. */
	int32_t fp_saved_at = row->fp_base == VG_FROM_CFA ? row->fp_offset + row->cfa_offset : row->fp_offset;

	return row->kind == VG_ROW_PLAIN && row->cfa_base == cfa_base && row->cfa_offset == cfa_offset &&
	       row->ra_base == VG_FROM_CFA && row->ra_offset == -8 &&
	       (fp_base == VG_FROM_SAME ? row->fp_base == VG_FROM_SAME :
		row->fp_base != VG_FROM_SAME && fp_saved_at == fp_offset);
}

static const struct {
	const char *at;
	enum vg_row_base cfa_base;
	int32_t cfa_offset;
	enum vg_row_base fp_base;    /* VG_FROM_SAME, or the frame pointer is saved at fp_offset from cfa_base */
	int32_t fp_offset;
} return_cases[] = {
	{ asm_returns, VG_FROM_SP, 8, VG_FROM_SAME, 0 },
	{ asm_returns_here, VG_FROM_SP, 48, VG_FROM_SP, 32 },
	{ asm_returns_late, VG_FROM_SP, 16, VG_FROM_SP, 0 },
	{ asm_framed_here, VG_FROM_FP, 16, VG_FROM_FP, 0 },
	{ asm_leaves_here, VG_FROM_FP, 16, VG_FROM_FP, 0 },
	{ asm_go_here, VG_FROM_SP, 48, VG_FROM_SP, 32 },
	{ asm_tail_here, VG_FROM_SP, 16, VG_FROM_SAME, 0 },
};

START_TEST(rows_from_returns)
{
	struct vg_row rows[VG_CODE_ROWS_MAX];
	size_t count = vg_code_rows(&memory, (uint64_t)return_cases[_i].at, rows);
	bool found = false;

	for (size_t i = 0; i < count; i++)
		found |= is_row(&rows[i], return_cases[_i].cfa_base, return_cases[_i].cfa_offset,
				return_cases[_i].fp_base, return_cases[_i].fp_offset);
	ck_assert_msg(found, "case %d", _i);
}
END_TEST

START_TEST(rows_from_function_starts)
{
	struct vg_row rows[VG_CODE_ROWS_MAX];
	bool replaced;
	size_t count = vg_code_rows_backward(&memory, (uint64_t)asm_dies_here, rows, &replaced);

	ck_assert_uint_ge(count, 1);
	ck_assert(is_row(&rows[0], VG_FROM_SP, 32, VG_FROM_SP, 16));
	ck_assert(!replaced);
	vg_code_rows_backward(&memory, (uint64_t)asm_switches_here, rows, &replaced);
	ck_assert(replaced);
}
END_TEST

START_TEST(rows_are_verified)
{
	struct vg_row row = { .kind = VG_ROW_PLAIN, .cfa_base = VG_FROM_SP, .cfa_offset = 48, .ra_base = VG_FROM_CFA,
			      .ra_offset = -8 };

	ck_assert_int_eq(vg_code_rows_verify(&memory, (uint64_t)asm_returns, (uint64_t)asm_returns_here, &row),
			 VG_CODE_RIGHT);
	ck_assert_int_eq(vg_code_rows_verify(&memory, (uint64_t)asm_go, (uint64_t)asm_go_here, &row), VG_CODE_RIGHT);
	/* asm_other does not lead to asm_returns_here. */
	ck_assert_int_eq(vg_code_rows_verify(&memory, (uint64_t)asm_other, (uint64_t)asm_returns_here, &row),
			 VG_CODE_WRONG);
	row.cfa_offset = 32;
	ck_assert_int_eq(vg_code_rows_verify(&memory, (uint64_t)asm_returns, (uint64_t)asm_returns_here, &row),
			 VG_CODE_WRONG);
}
END_TEST

START_TEST(words_are_bounded)
{
	struct vg_row rows[VG_CODE_ROWS_MAX];
	bool replaced;

	memory.words_left = 0;
	ck_assert_uint_eq(vg_code_rows(&memory, (uint64_t)asm_returns, rows), 0);
	ck_assert_uint_eq(vg_code_rows_backward(&memory, (uint64_t)asm_returns, rows, &replaced), 0);
}
END_TEST
#endif

Suite *code_rows_suite(void)
{
	Suite *suite = suite_create("code_rows");
#ifdef __x86_64__
	TCase *tests = tcase_create("code_rows");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, rows_from_returns, 0, sizeof return_cases / sizeof *return_cases);
	tcase_add_test(tests, rows_from_function_starts);
	tcase_add_test(tests, rows_are_verified);
	tcase_add_test(tests, words_are_bounded);
	suite_add_tcase(suite, tests);
#endif
	return suite;
}
