/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows from instructions of unwind information that compilers and linkers write rarely. */
#include "tests/unit/suites.h"

#include "vignetted/unwind/cfi_program.h"

#ifdef __x86_64__
enum { FUNCTION = 0x401000 };

/* A CIE's instructions as compilers write them: the CFA is rsp + 8, and the return address is below it. */
static const unsigned char initial[] = { 0x0c, 7, 8, 0x80 | 16, 1 };

static struct vg_row row_at(const unsigned char *instructions, size_t bytes, uint64_t address)
{
	static const struct vg_cfi_program program = { .code_factor = 1, .data_factor = -8, .return_column = 16 };
	struct vg_row row;

	vg_cfi_program_run(&program, (struct vg_bytes){ initial, initial + sizeof initial },
			   (struct vg_bytes){ instructions, instructions + bytes }, FUNCTION, address, &row);
	return row;
}

/* An entry of the PLT for lazy binding has 16 bytes: a jump of 6 bytes, a push of 5 bytes, and another jump. The CFA is
 * 8 bytes higher from the end of the push on. The first entry, which all others jump to, has two pushes. */
START_TEST(rows_of_a_plt)
{
	static const unsigned char instructions[] = {
		0x0e, 16, 0x40 | 6, 0x0e, 24, 0x40 | 10,
		/* breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus */
		0x0f, 11, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
	};

	for (uint64_t at = 0; at < 64; at++) {
		struct vg_row row = row_at(instructions, sizeof instructions, FUNCTION + at);
		int32_t offset = at < 6 ? 16 : at < 16 ? 24 : at % 16 < 11 ? 8 : 16;

		ck_assert_uint_eq(row.kind, VG_ROW_PLAIN);
		ck_assert_uint_eq(row.cfa_base, VG_FROM_SP);
		ck_assert_int_eq(row.cfa_offset, offset);
		ck_assert_uint_eq(row.ra_base, VG_FROM_CFA);
		ck_assert_int_eq(row.ra_offset, -8);
	}
}
END_TEST

/* Each of these programs moves the location by 4 bytes at the end. The row is the one before that. */
static const struct {
	unsigned char instructions[16];
	size_t bytes;
	struct vg_row row;
} rules[] = {
	/* The instructions with signed factored operands: def_cfa_sf, def_cfa_offset_sf, offset_extended_sf. */
	{ { 0x12, 6, 0x7e, 0x44 }, 4, { .cfa_base = VG_FROM_FP, .cfa_offset = 16 } },
	{ { 0x13, 0x7b, 0x44 }, 3, { .cfa_base = VG_FROM_SP, .cfa_offset = 40 } },
	{ { 0x11, 6, 0x7f, 0x44 }, 4, { .cfa_base = VG_FROM_SP, .cfa_offset = 8, .fp_base = VG_FROM_CFA, .fp_offset = 8 } },
	/* offset_extended, and then restore_extended: the CIE has no rule for the frame pointer. */
	{ { 0x05, 6, 3, 0x44 }, 4,
	  { .cfa_base = VG_FROM_SP, .cfa_offset = 8, .fp_base = VG_FROM_CFA, .fp_offset = -24 } },
	{ { 0x05, 6, 3, 0x06, 6, 0x44 }, 6, { .cfa_base = VG_FROM_SP, .cfa_offset = 8 } },
	/* remember_state and restore_state keep the CFA and all rules. */
	{ { 0x0a, 0x0e, 64, 0x80 | 6, 2, 0x0b, 0x44 }, 7, { .cfa_base = VG_FROM_SP, .cfa_offset = 8 } },
	/* expression: the frame pointer is saved at rsp - 16. */
	{ { 0x10, 6, 2, 0x77, 0x70, 0x44 }, 6,
	  { .cfa_base = VG_FROM_SP, .cfa_offset = 8, .fp_base = VG_FROM_SP, .fp_offset = -16 } },
	/* def_cfa_expression: the word at rbp - 8, and that word + 24. */
	{ { 0x0f, 3, 0x76, 0x78, 0x06, 0x44 }, 6, { .cfa_base = VG_FROM_FP, .cfa_offset = -8, .cfa_deref = true } },
	{ { 0x0f, 5, 0x76, 0x78, 0x06, 0x23, 24, 0x44 }, 8,
	  { .cfa_base = VG_FROM_FP, .cfa_offset = -8, .cfa_deref = true, .cfa_addend = 24 } },
};

START_TEST(rows_of_rare_rules)
{
	struct vg_row row = row_at(rules[_i].instructions, rules[_i].bytes, FUNCTION + 3), want = rules[_i].row;

	ck_assert_uint_eq(row.kind, VG_ROW_PLAIN);
	ck_assert_uint_eq(row.cfa_base, want.cfa_base);
	ck_assert_int_eq(row.cfa_offset, want.cfa_offset);
	ck_assert_uint_eq(row.cfa_deref, want.cfa_deref);
	ck_assert_uint_eq(row.cfa_addend, want.cfa_addend);
	ck_assert_uint_eq(row.fp_base, want.fp_base);
	ck_assert_int_eq(row.fp_offset, want.fp_offset);
	ck_assert_uint_eq(row.ra_base, VG_FROM_CFA);
	ck_assert_int_eq(row.ra_offset, -8);
}
END_TEST
#endif

Suite *cfi_suite(void)
{
	Suite *suite = suite_create("cfi");
	TCase *tests = tcase_create("cfi");

#ifdef __x86_64__
	tcase_add_test(tests, rows_of_a_plt);
	tcase_add_loop_test(tests, rows_of_rare_rules, 0, sizeof rules / sizeof *rules);
#endif
	suite_add_tcase(suite, tests);
	return suite;
}
