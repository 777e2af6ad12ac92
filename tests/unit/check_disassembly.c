/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is kept of the output of objdump, which may be hostile. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "tests/unit/suites.h"
#include "vgtool/analysis/disassembly.h"

static struct vg_disassembly code;
static struct vg_err err;

static void teardown(void)
{
	vg_disassembly_free(&code);
}

/* Reads the text as objdump's output for the addresses 0x1000 to 0x10ff. */
static int text_read(const char *text)
{
	int ends[2], rc;

	vg_disassembly_free(&code);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(vg_write_all(ends[1], text, strlen(text)), 0);
	close(ends[1]);
	rc = vg_disassembly_read(&code, ends[0], 0x1000, 0x1100, 3000000, &err);
	close(ends[0]);
	return rc;
}

START_TEST(instructions)
{
	ck_assert_int_eq(text_read("\nprogram:     file format elf64-x86-64\n\n\n0000000000001000 <f>:\n"
				   "    1000:\tpush   %rbp\n    1001:\tmov    0x10(%rip),%eax        # 1018 <x>\n"
				   "    1007:      \tstp\tx29, x30, [sp]  \n"), 0);
	ck_assert_uint_eq(code.instructions.count, 3);
	ck_assert_str_eq(vg_disassembly_text(&code, 0), "push   %rbp");
	ck_assert_str_eq(vg_disassembly_text(&code, 1), "mov    0x10(%rip),%eax        # 1018 <x>");
	ck_assert_str_eq(vg_disassembly_text(&code, 2), "stp x29, x30, [sp]");
	ck_assert_uint_eq(vg_disassembly_find(&code, 0xfff), UINT32_MAX);
	ck_assert_uint_eq(vg_disassembly_find(&code, 0x1000), 0);
	ck_assert_uint_eq(vg_disassembly_find(&code, 0x1001), 1);
	ck_assert_uint_eq(vg_disassembly_find(&code, 0x1006), 1);
	ck_assert_uint_eq(vg_disassembly_find(&code, 0x1007 + VG_INSTRUCTION_BYTES_MAX - 1), 2);
	ck_assert_uint_eq(vg_disassembly_find(&code, 0x1007 + VG_INSTRUCTION_BYTES_MAX), UINT32_MAX);
}
END_TEST

START_TEST(lines_that_are_ignored)
{
	static const char *const lines[] = {
		"", "\n\n", "1000:", "1000:\t\n", "1000 nop\n", "1000: nop\n", ":\tnop\n", "fff:\tnop\n",
		"1100:\tnop\n", "-1000:\tnop\n", "ffffffffffffffffff1000:\tnop\n", "1000:\tthe line does not end",
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		ck_assert_msg(text_read(lines[i]) == -ENODATA, "kept: %s", lines[i]);
		ck_assert_ptr_nonnull(strstr(err.text, "objdump printed no instruction"));
	}
	ck_assert_int_eq(text_read("1005:\tb\n1004:\tnot ascending\n1005:\ttwice\n1006:\tc\n"), 0);
	ck_assert_uint_eq(code.instructions.count, 2);
	ck_assert_str_eq(vg_disassembly_text(&code, 1), "c");
}
END_TEST

/* A writer that is silent, and one that does not end. */
START_TEST(output_without_end)
{
	static char lines[4096];
	int ends[2], rc;
	pid_t child;

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(vg_write_all(ends[1], "1000:\tnop\n", 10), 0);
	ck_assert_int_eq(vg_disassembly_read(&code, ends[0], 0x1000, 0x1100, 50, &err), -ETIMEDOUT);
	vg_disassembly_free(&code);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		memset(lines, 'x', sizeof lines);
		while (vg_write_all(ends[1], lines, sizeof lines) == 0)
			;
		_exit(0);
	}
	close(ends[1]);
	rc = vg_disassembly_read(&code, ends[0], 0x1000, 0x1100, 3000000, &err);
	close(ends[0]);
	ck_assert_int_eq(rc, -EFBIG);
	ck_assert_str_eq(err.text, "objdump printed more than 64 MiB");
	ck_assert_uint_eq(code.instructions.count, 0);
}
END_TEST

Suite *disassembly_suite(void)
{
	Suite *suite = suite_create("disassembly");
	TCase *cases = tcase_create("disassembly");

	tcase_add_checked_fixture(cases, NULL, teardown);
	tcase_add_test(cases, instructions);
	tcase_add_test(cases, lines_that_are_ignored);
	tcase_add_test(cases, output_without_end);
	suite_add_tcase(suite, cases);
	return suite;
}
