/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/breakpad/breakpad.h"
#include "tests/unit/suites.h"

/* vg_breakpad_symbolize() reads a .sym file for some addresses only. Its answers must be those of a table of the whole
 * file. The files are random: functions overlap and are folded, inlines have either grammar, linker symbols are between
 * and inside functions, and the records are in any order. */
enum { CODE_BYTES = 4096, ROUNDS = 400 };

static char path[] = "/tmp/check_symbolization.XXXXXX";
static struct vg_err err;
static uint64_t state;
static bool begins[CODE_BYTES];         /* set where a function begins */

static unsigned random_below(unsigned limit)
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

/* Writes inlined calls, each in a part of its parent's range, up to six deep. */
static void inlines_put(FILE *file, unsigned begin, unsigned end, unsigned depth, bool old_grammar)
{
	while (begin + 4 < end && random_below(3) > 0) {
		unsigned from = begin + random_below(end - begin - 2), to = from + 1 + random_below(end - from - 1);

		fprintf(file, "INLINE %u %u ", depth, 1 + random_below(50));
		if (!old_grammar)
			fprintf(file, random_below(9) == 0 ? "-1 " : "%u ", random_below(6));
		fprintf(file, "%u %x %x", random_below(8), from, to - from);
		if (random_below(4) == 0 && to + 2 < end)
			fprintf(file, " %x 1", to + 1);
		fprintf(file, "\n");
		if (depth < 5)
			inlines_put(file, from, to, depth + 1, old_grammar);
		begin = to;
	}
}

static void function_put(FILE *file, bool old_grammar)
{
	unsigned begin = random_below(CODE_BYTES), size = random_below(3) == 0 ? random_below(600) : random_below(40);

	while (begins[begin])
		begin = random_below(CODE_BYTES);
	begins[begin] = true;
	fprintf(file, "FUNC %s%x %x 0 f%u\n", random_below(5) == 0 ? "m " : "", begin, size, random_below(30));
	if (random_below(6) == 0)       /* folded with another one */
		fprintf(file, "FUNC %x %x 0 g%u\n", begin, size, random_below(30));
	if (size > 8 && random_below(2))
		inlines_put(file, begin, begin + size, 0, old_grammar);
	for (unsigned at = begin; at < begin + size;) {
		unsigned length = 1 + random_below(9);

		if (at + length > begin + size)
			length = begin + size - at;
		if (random_below(8) > 0)
			fprintf(file, "%x %x %u %u\n", at, length, random_below(99), random_below(7));
		at += length;
	}
}

static void sym_make(void)
{
	FILE *file = fopen(path, "w");
	bool old_grammar = random_below(2), files_last = random_below(4) == 0;

	ck_assert_ptr_nonnull(file);
	memset(begins, 0, sizeof begins);
	fprintf(file, "MODULE Linux x86_64 000000000000000000000000000000000 x\n");
	if (random_below(2))
		fprintf(file, "INFO SECTION 0 800\nINFO SECTION 900 500\n");
	for (int pass = 0; pass < 2; pass++) {
		if (pass == files_last) {
			for (unsigned i = 0; i < 5; i++)
				fprintf(file, "FILE %u file%u.c\n", i, i);
			for (unsigned i = 0; i < 7; i++)
				fprintf(file, old_grammar ? "INLINE_ORIGIN %u %u inlined %u\n" :
					"INLINE_ORIGIN %u %u%u inlined\n", i, random_below(5), i);
		} else {
			for (unsigned i = 0; i < 12; i++)
				function_put(file, old_grammar);
			for (unsigned i = 0; i < 8; i++)
				fprintf(file, "PUBLIC %x 0 p%u\n", random_below(CODE_BYTES), i);
		}
	}
	ck_assert_int_eq(fclose(file), 0);
}

static void expect_text(const char *text, const char *expected)
{
	if (strcmp(text, expected) != 0)
		ck_assert_str_eq(text, expected);
}

static void compare_address(const struct vg_symbols *table, const struct vg_symbolization *symbolization,
			    uint64_t address, size_t i)
{
	struct vg_symbol_frame expected[VG_SYMBOLIZED_FRAMES_MAX];
	struct vg_symbolized_frame symbolized[VG_SYMBOLIZED_FRAMES_MAX];
	size_t count = vg_symbols_lookup(table, address, expected, VG_SYMBOLIZED_FRAMES_MAX);

	often_assert_eq(vg_symbolization_frames(symbolization, i, symbolized), count);
	for (size_t at = 0; at < count; at++) {
		const struct vg_symbolized_function *function =
			&symbolization->functions.items[symbolized[at].function];

		expect_text(vg_intern_text(&symbolization->strings, function->name), expected[at].function);
		often_assert_eq(symbolized[at].line, expected[at].line);
		often_assert((function->file == VG_SYMBOLIZED_NONE) == (expected[at].file == NULL));
		if (expected[at].file != NULL)
			expect_text(vg_intern_text(&symbolization->strings, function->file), expected[at].file);
	}
}

static void compare_addresses(const struct vg_symbols *table, const uint64_t *addresses, size_t count)
{
	struct vg_symbolization symbolization = { 0 }, from_table = { 0 };

	ck_assert_int_eq(vg_breakpad_symbolize(&symbolization, path, addresses, count, &err), 0);
	ck_assert_int_eq(vg_symbolization_from_table(&from_table, table, addresses, count), 0);
	for (size_t i = 0; i < count; i++) {
		compare_address(table, &symbolization, addresses[i], i);
		compare_address(table, &from_table, addresses[i], i);
	}
	vg_symbolization_free(&symbolization);
	vg_symbolization_free(&from_table);
}

START_TEST(answers_equal_those_of_the_table)
{
	static uint64_t addresses[CODE_BYTES + 1024];
	struct vg_symbols table = { 0 };
	uint64_t functions_count = 0;

	state = 1;
	for (int round = 0; round < ROUNDS; round++) {
		unsigned one_in = 1 + random_below(60);
		size_t count = 0;

		sym_make();
		ck_assert_int_eq(vg_breakpad_read(&table, path, NULL, 0, &err), 0);
		for (unsigned at = 0; at < sizeof addresses / sizeof *addresses; at++) {
			if (random_below(one_in) == 0)
				addresses[count++] = at;
		}
		functions_count += table.functions.count;
		compare_addresses(&table, addresses, count);
		vg_symbols_free(&table);
	}
	ck_assert_uint_gt(functions_count, ROUNDS);
}
END_TEST

START_TEST(deep_inlines)
{
	struct vg_symbolized_frame frames[VG_SYMBOLIZED_FRAMES_MAX];
	struct vg_symbolization symbolization = { 0 };
	const uint64_t addresses[] = { 0x10 };
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fprintf(file, "MODULE Linux x86_64 0 x\nINLINE_ORIGIN 0 inlined\nFUNC 10 10 0 function\n");
	for (int depth = 0; depth < 1000; depth++)
		fprintf(file, "INLINE %d %d -1 0 10 10\n", depth, depth + 1);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(vg_breakpad_symbolize(&symbolization, path, addresses, 1, &err), 0);
	ck_assert_uint_eq(vg_symbolization_frames(&symbolization, 0, frames), VG_SYMBOLIZED_FRAMES_MAX);
	ck_assert_uint_eq(frames[1].line, 1000);
	ck_assert_uint_eq(frames[VG_SYMBOLIZED_FRAMES_MAX - 1].line, 1);
	ck_assert_str_eq(vg_intern_text(&symbolization.strings, symbolization.functions.items[
			 frames[VG_SYMBOLIZED_FRAMES_MAX - 1].function].name), "function");
	vg_symbolization_free(&symbolization);
}
END_TEST

/* In a small file, each FUNC covers all of the addresses. Such a file is refused, because it could take unbounded time
 * and memory. */
START_TEST(covering_functions_are_refused)
{
	enum { ADDRESSES = 100000, FUNCTIONS = 40 };
	uint64_t *addresses = calloc(ADDRESSES, sizeof *addresses);
	struct vg_symbolization symbolization = { 0 };
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	for (unsigned i = 0; i < ADDRESSES; i++)
		addresses[i] = 1000 + i;
	fprintf(file, "MODULE Linux x86_64 0 x\n");
	for (unsigned i = 0; i < FUNCTIONS; i++)
		fprintf(file, "FUNC %x ffffffff 0 f\n", i);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(vg_breakpad_symbolize(&symbolization, path, addresses, ADDRESSES, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	ck_assert_uint_eq(symbolization.count, 0);
	free(addresses);
}
END_TEST

START_TEST(sparse_numbers)
{
	const uint64_t addresses[] = { 0x10, 0x14 };
	struct vg_symbols table = { 0 };

	text_put("MODULE Linux x86_64 0 x\nFILE 18446744073709551615 last.c\nFILE 5000 five.c\n"
		 "FUNC 10 8 0 f\nINLINE 0 1 5000 4294967297 10 4\n10 4 1 18446744073709551615\n"
		 "14 4 2 5000\nINLINE_ORIGIN 4294967297 far\n");
	ck_assert_int_eq(vg_breakpad_read(&table, path, NULL, 0, &err), 0);
	ck_assert_uint_eq(table.bad_records, 0);
	compare_addresses(&table, addresses, 2);
	vg_symbols_free(&table);
}
END_TEST

Suite *symbolization_suite(void)
{
	Suite *suite = suite_create("symbolization");
	TCase *tests = tcase_create("symbolization");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, answers_equal_those_of_the_table);
	tcase_add_test(tests, deep_inlines);
	tcase_add_test(tests, covering_functions_are_refused);
	tcase_add_test(tests, sparse_numbers);
	suite_add_tcase(suite, tests);
	return suite;
}
