/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Terminal control characters in untrusted text are escaped before they are printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "base/utf8.h"
#include "tests/unit/suites.h"

static char *printed;
static size_t printed_bytes;
static FILE *stream;

static void setup(void)
{
	stream = open_memstream(&printed, &printed_bytes);
	ck_assert_ptr_nonnull(stream);
}

static void teardown(void)
{
	fclose(stream);
	free(printed);
}

static const char *output(void)
{
	fflush(stream);
	return printed;
}

/* a text, how vg_print() prints it, and what vg_utf8_make_printable() makes of it: one byte for one byte */
static const struct {
	const char *text, *escaped, *printable;
} cases[] = {
	{ "", "", "" },
	{ "plain ~", "plain ~", "plain ~" },
	{ "\033[2J", "\\x1b[2J", "?[2J" },
	{ "a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd", "a?b?c?d" },
	{ "\001\037\177", "\\x01\\x1f\\x7f", "???" },
	/* C1 control characters: in UTF-8, and as single bytes, which are invalid UTF-8 */
	{ "\302\200\302\237", "\\u0080\\u009f", "????" },
	{ "\200\233\237", "\\x80\\x9b\\x9f", "???" },
	/* marks for the direction of writing, and line separators */
	{ "\342\200\250\342\200\252\342\200\256", "\\u2028\\u202a\\u202e", "?????????" },
	{ "\342\201\246\342\201\251", "\\u2066\\u2069", "??????" },
	{ "\330\234\342\200\216\342\200\217", "\\u061c\\u200e\\u200f", "????????" },
	/* characters without a width */
	{ "\302\255\341\240\216\342\200\213\342\201\240\357\273\277\357\277\271",
	  "\\u00ad\\u180e\\u200b\\u2060\\ufeff\\ufff9", "?????????????????" },
	/* the code points before and after these ranges, and other valid characters */
	{ "\302\240\342\200\212\342\200\247\342\200\257\342\201\237\342\201\260",
	  "\302\240\342\200\212\342\200\247\342\200\257\342\201\237\342\201\260",
	  "\302\240\342\200\212\342\200\247\342\200\257\342\201\237\342\201\260" },
	{ "\303\244\333\233\346\227\245\360\237\230\200", "\303\244\333\233\346\227\245\360\237\230\200",
	  "\303\244\333\233\346\227\245\360\237\230\200" },
	/* truncated, overlong, a surrogate */
	{ "x\303", "x\\xc3", "x?" },
	{ "\342\200", "\\xe2\\x80", "??" },
	{ "\300\233", "\\xc0\\x9b", "??" },
	{ "\355\240\200", "\\xed\\xa0\\x80", "???" },
	{ "\302\033", "\\xc2\\x1b", "??" },
};

START_TEST(text_is_escaped)
{
	vg_print_bytes(stream, cases[_i].text, strlen(cases[_i].text));
	ck_assert_str_eq(output(), cases[_i].escaped);
	vg_print(stream, "<%s>\n", cases[_i].text);
	ck_assert(strncmp(output() + strlen(cases[_i].escaped), "<", 1) == 0);
	ck_assert_mem_eq(output() + 2 * strlen(cases[_i].escaped) + 1, ">\n", 3);
}
END_TEST

START_TEST(text_is_made_printable)
{
	char text[64];

	strcpy(text, cases[_i].text);
	vg_utf8_make_printable(text, strlen(text));
	ck_assert_str_eq(text, cases[_i].printable);
	ck_assert_uint_eq(vg_utf8_printable(text, strlen(text)), strlen(text));
}
END_TEST

START_TEST(nul_is_escaped)
{
	vg_print_bytes(stream, "a\0b", 3);
	ck_assert_str_eq(output(), "a\\x00b");
}
END_TEST

/* A newline is printed as such only if it is the end of the format. */
START_TEST(newline_ends_the_format)
{
	vg_print(stream, "%s", "a\n");
	vg_print(stream, "%s\n", "b\n");
	vg_print(stream, "c\nd\n");
	vg_print(stream, "%s", "");
	ck_assert_str_eq(output(), "a\\x0ab\\x0a\nc\\x0ad\n");
}
END_TEST

START_TEST(lines_keep_their_newlines)
{
	static const char text[] = "one\ntwo\033\n\nthree";

	vg_print_lines(stream, text, sizeof text - 1);
	ck_assert_str_eq(output(), "one\ntwo\\x1b\n\nthree");
}
END_TEST

/* The text is longer than the buffer of vg_vprint(). */
START_TEST(long_text_is_printed_whole)
{
	static char text[5000];

	memset(text, 'x', sizeof text - 2);
	text[sizeof text - 2] = '\033';
	vg_print(stream, "%s\n", text);
	ck_assert_uint_eq(strlen(output()), sizeof text - 2 + 5);
	ck_assert_str_eq(output() + sizeof text - 2, "\\x1b\n");
}
END_TEST

Suite *print_suite(void)
{
	Suite *suite = suite_create("print");
	TCase *tests = tcase_create("print");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, text_is_escaped, 0, sizeof cases / sizeof *cases);
	tcase_add_loop_test(tests, text_is_made_printable, 0, sizeof cases / sizeof *cases);
	tcase_add_test(tests, nul_is_escaped);
	tcase_add_test(tests, newline_ends_the_format);
	tcase_add_test(tests, lines_keep_their_newlines);
	tcase_add_test(tests, long_text_is_printed_whole);
	suite_add_tcase(suite, tests);
	return suite;
}
