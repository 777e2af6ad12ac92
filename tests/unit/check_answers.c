/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/breakpad/breakpad.h"
#include "tests/unit/suites.h"

/*
 * What is read for some addresses only must be what a table of everything says of them: both on
 * .sym files that a random generator made, with functions that nest and fold, inlines in either
 * grammar, publics between and inside, and records in any order.
 */
enum { CODE_BYTES = 4096, ROUNDS = 400 };

static char path[] = "/tmp/check_answers.XXXXXX";
static struct vg_err err;
static uint64_t state;
static bool begins[CODE_BYTES];         /* where a function begins already */

static unsigned draw(unsigned limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % limit;
}

static void setup(void)
{
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
}

static void text_put(const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

/* Calls nested to some depth, each in the range of its parent or a part of it. */
static void inlines_put(FILE *file, unsigned begin, unsigned end, unsigned depth, bool old)
{
	while (begin + 4 < end && draw(3) > 0) {
		unsigned from = begin + draw(end - begin - 2), to = from + 1 + draw(end - from - 1);

		fprintf(file, "INLINE %u %u ", depth, 1 + draw(50));
		if (!old)
			fprintf(file, draw(9) == 0 ? "-1 " : "%u ", draw(6));
		fprintf(file, "%u %x %x", draw(8), from, to - from);
		if (draw(4) == 0 && to + 2 < end)
			fprintf(file, " %x 1", to + 1);
		fprintf(file, "\n");
		if (depth < 5)
			inlines_put(file, from, to, depth + 1, old);
		begin = to;
	}
}

static void function_put(FILE *file, bool old)
{
	unsigned begin = draw(CODE_BYTES), size = draw(3) == 0 ? draw(600) : draw(40);

	while (begins[begin])
		begin = draw(CODE_BYTES);
	begins[begin] = true;
	fprintf(file, "FUNC %s%x %x 0 f%u\n", draw(5) == 0 ? "m " : "", begin, size, draw(30));
	if (draw(6) == 0)       /* folded with another */
		fprintf(file, "FUNC %x %x 0 g%u\n", begin, size, draw(30));
	if (size > 8 && draw(2))
		inlines_put(file, begin, begin + size, 0, old);
	for (unsigned at = begin; at < begin + size;) {
		unsigned length = 1 + draw(9);

		if (at + length > begin + size)
			length = begin + size - at;
		if (draw(8) > 0)
			fprintf(file, "%x %x %u %u\n", at, length, draw(99), draw(7));
		at += length;
	}
}

static void sym_make(void)
{
	FILE *file = fopen(path, "w");
	bool old = draw(2), late = draw(4) == 0;

	ck_assert_ptr_nonnull(file);
	memset(begins, 0, sizeof begins);
	fprintf(file, "MODULE Linux x86_64 000000000000000000000000000000000 x\n");
	if (draw(2))
		fprintf(file, "INFO SECTION 0 800\nINFO SECTION 900 500\n");
	for (int pass = 0; pass < 2; pass++) {
		if (pass == late) {
			for (unsigned i = 0; i < 5; i++)
				fprintf(file, "FILE %u file%u.c\n", i, i);
			for (unsigned i = 0; i < 7; i++)
				fprintf(file, old ? "INLINE_ORIGIN %u %u inlined %u\n" :
					"INLINE_ORIGIN %u %u%u inlined\n", i, draw(5), i);
		} else {
			for (unsigned i = 0; i < 12; i++)
				function_put(file, old);
			for (unsigned i = 0; i < 8; i++)
				fprintf(file, "PUBLIC %x 0 p%u\n", draw(CODE_BYTES), i);
		}
	}
	ck_assert_int_eq(fclose(file), 0);
}

static void one_compare(const struct vg_symbols *table, const struct vg_answers *answers,
			uint64_t address, size_t i)
{
	struct vg_symbol_frame expected[VG_ANSWER_FRAMES_MAX];
	struct vg_answer_frame got[VG_ANSWER_FRAMES_MAX];
	size_t count = vg_symbols_lookup(table, address, expected, VG_ANSWER_FRAMES_MAX);

	ck_assert_uint_eq(vg_answers_at(answers, i, got), count);
	for (size_t at = 0; at < count; at++) {
		const struct vg_answer_function *function = &answers->functions.items[got[at].function];

		ck_assert_str_eq(vg_intern_text(&answers->strings, function->name),
				 expected[at].function);
		ck_assert_uint_eq(got[at].line, expected[at].line);
		ck_assert_int_eq(function->file == VG_ANSWER_NONE, expected[at].file == NULL);
		if (expected[at].file != NULL)
			ck_assert_str_eq(vg_intern_text(&answers->strings, function->file),
					 expected[at].file);
	}
}

static void wanted_compare(const struct vg_symbols *table, const uint64_t *wanted, size_t count)
{
	struct vg_answers answers = { 0 }, of_table = { 0 };

	ck_assert_int_eq(vg_breakpad_answer(&answers, path, wanted, count, &err), 0);
	ck_assert_int_eq(vg_answers_from_table(&of_table, table, wanted, count), 0);
	for (size_t i = 0; i < count; i++) {
		one_compare(table, &answers, wanted[i], i);
		one_compare(table, &of_table, wanted[i], i);
	}
	vg_answers_free(&answers);
	vg_answers_free(&of_table);
}

START_TEST(says_what_the_table_says)
{
	static uint64_t wanted[CODE_BYTES + 1024];
	struct vg_symbols table = { 0 };
	uint64_t named = 0;

	state = 1;
	for (int round = 0; round < ROUNDS; round++) {
		unsigned one_in = 1 + draw(60);
		size_t count = 0;

		sym_make();
		ck_assert_int_eq(vg_breakpad_read(&table, path, NULL, 0, &err), 0);
		for (unsigned at = 0; at < sizeof wanted / sizeof *wanted; at++) {
			if (draw(one_in) == 0)
				wanted[count++] = at;
		}
		named += table.functions.count;
		wanted_compare(&table, wanted, count);
		vg_symbols_free(&table);
	}
	ck_assert_uint_gt(named, ROUNDS);
}
END_TEST

START_TEST(deep_inlines_keep_the_innermost_and_the_function)
{
	struct vg_answer_frame frames[VG_ANSWER_FRAMES_MAX];
	struct vg_answers answers = { 0 };
	const uint64_t wanted[] = { 0x10 };
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fprintf(file, "MODULE Linux x86_64 0 x\nINLINE_ORIGIN 0 inlined\nFUNC 10 10 0 function\n");
	for (int depth = 0; depth < 1000; depth++)
		fprintf(file, "INLINE %d %d -1 0 10 10\n", depth, depth + 1);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(vg_breakpad_answer(&answers, path, wanted, 1, &err), 0);
	ck_assert_uint_eq(vg_answers_at(&answers, 0, frames), VG_ANSWER_FRAMES_MAX);
	ck_assert_uint_eq(frames[1].line, 1000);
	ck_assert_uint_eq(frames[VG_ANSWER_FRAMES_MAX - 1].line, 1);
	ck_assert_str_eq(vg_intern_text(&answers.strings, answers.functions.items[
			 frames[VG_ANSWER_FRAMES_MAX - 1].function].name), "function");
	vg_answers_free(&answers);
}
END_TEST

/* Each FUNC of a small file answers for a million addresses: work and memory without end. */
START_TEST(refuses_functions_without_end)
{
	enum { WANTED = 100000, FUNCTIONS = 40 };
	uint64_t *wanted = calloc(WANTED, sizeof *wanted);
	struct vg_answers answers = { 0 };
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	for (unsigned i = 0; i < WANTED; i++)
		wanted[i] = 1000 + i;
	fprintf(file, "MODULE Linux x86_64 0 x\n");
	for (unsigned i = 0; i < FUNCTIONS; i++)
		fprintf(file, "FUNC %x ffffffff 0 f\n", i);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(vg_breakpad_answer(&answers, path, wanted, WANTED, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	ck_assert_uint_eq(answers.count, 0);
	free(wanted);
}
END_TEST

START_TEST(numbers_may_be_sparse)
{
	const uint64_t wanted[] = { 0x10, 0x14 };
	struct vg_symbols table = { 0 };

	text_put("MODULE Linux x86_64 0 x\nFILE 18446744073709551615 last.c\nFILE 5000 five.c\n"
		 "FUNC 10 8 0 f\nINLINE 0 1 5000 4294967297 10 4\n10 4 1 18446744073709551615\n"
		 "14 4 2 5000\nINLINE_ORIGIN 4294967297 far\n");
	ck_assert_int_eq(vg_breakpad_read(&table, path, NULL, 0, &err), 0);
	ck_assert_uint_eq(table.bad_records, 0);
	wanted_compare(&table, wanted, 2);
	vg_symbols_free(&table);
}
END_TEST

Suite *answers_suite(void)
{
	Suite *suite = suite_create("answers");
	TCase *tests = tcase_create("answers");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, says_what_the_table_says);
	tcase_add_test(tests, deep_inlines_keep_the_innermost_and_the_function);
	tcase_add_test(tests, refuses_functions_without_end);
	tcase_add_test(tests, numbers_may_be_sparse);
	suite_add_tcase(suite, tests);
	return suite;
}
