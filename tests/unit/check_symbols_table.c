/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <stdio.h>

#include "symbols/table/covered_ranges.h"
#include "symbols/table/demangle.h"
#include "symbols/table/table.h"


static struct vg_symbols table;

static uint32_t name(const char *text)
{
	uint32_t id;

	ck_assert_int_ge(vg_intern_string(&table.strings, text, &id), 0);
	return id;
}

static uint32_t file(const char *path)
{
	uint32_t index;

	ck_assert_int_eq(vg_symbols_add_file(&table, path, &index), 0);
	return index;
}

static struct vg_symbol_function *function(const char *text, uint64_t address, uint64_t size_bytes)
{
	struct vg_symbol_function item = {
		.address = address, .size_bytes = size_bytes, .name = name(text),
		.first_line = (uint32_t)table.lines.count,
		.first_inline = (uint32_t)table.inlines.count,
	};

	ck_assert_int_eq(vg_array_push(&table.functions, &item), 0);
	return &table.functions.items[table.functions.count - 1];
}

/* Adds a line to the function that was added last. */
static void line(uint64_t address, uint32_t size_bytes, uint32_t number, uint32_t file_index)
{
	struct vg_symbol_row item = { address, size_bytes, number, file_index };

	ck_assert_int_eq(vg_array_push(&table.lines, &item), 0);
	table.functions.items[table.functions.count - 1].line_count++;
}

static void call(const char *text, uint32_t depth, uint32_t call_line, uint32_t call_file,
		 uint64_t address, uint64_t size_bytes)
{
	struct vg_symbol_range range = { address, size_bytes };
	struct vg_symbol_inline item = { depth, call_line, call_file, name(text),
					 (uint32_t)table.ranges.count, 1 };

	ck_assert_int_eq(vg_array_push(&table.ranges, &range), 0);
	ck_assert_int_eq(vg_array_push(&table.inlines, &item), 0);
	table.functions.items[table.functions.count - 1].inline_count++;
}

static void public_symbol(const char *text, uint64_t address)
{
	struct vg_linker_symbol item = { .address = address, .name = name(text) };

	ck_assert_int_eq(vg_array_push(&table.linker_symbols, &item), 0);
}

static void section(uint64_t address, uint64_t size_bytes)
{
	struct vg_symbol_range item = { address, size_bytes };

	ck_assert_int_eq(vg_array_push(&table.sections, &item), 0);
}

static const char *function_at(uint64_t address)
{
	struct vg_symbol_frame frames[8];
	size_t count = vg_symbols_lookup(&table, address, frames, 8);

	return count > 0 ? frames[count - 1].function : "";
}

static void free_table(void)
{
	vg_symbols_free(&table);
}

/* A symbol may extend beyond the last address. The ranges cover all addresses up to the last, and none before the
 * symbols. */
START_TEST(cover_up_to_the_last_address)
{
	const struct vg_linker_symbol linker_symbols[] = {
		{ .address = UINT64_MAX - 15, .size_bytes = 8 },
		{ .address = UINT64_MAX - 11, .size_bytes = UINT64_MAX },
	};
	struct vg_covered_ranges covered_ranges = { 0 };

	for (size_t i = 0; i < 2; i++)
		ck_assert_int_eq(vg_array_push(&table.linker_symbols, &linker_symbols[i]), 0);
	ck_assert_int_eq(vg_covered_ranges_collect(&covered_ranges, &table, true), 0);
	for (uint64_t back = 0; back < 16; back++)
		ck_assert(vg_covered_ranges_have(&covered_ranges, UINT64_MAX - back));
	ck_assert(!vg_covered_ranges_have(&covered_ranges, UINT64_MAX - 16));
	vg_array_free(&covered_ranges);
}
END_TEST

START_TEST(empty_table)
{
	struct vg_symbol_frame frame;

	ck_assert_int_eq(vg_symbols_finish(&table), 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0, &frame, 1), 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, UINT64_MAX, &frame, 1), 0);
	vg_symbols_free(NULL);
}
END_TEST

START_TEST(function_covers_its_bytes_only)
{
	function("second", 0x200, 0x10);
	function("first", 0x100, 0x10);
	function("last", UINT64_MAX - 0xf, 0x10);
	ck_assert_int_eq(vg_symbols_finish(&table), 0);
	ck_assert_str_eq(function_at(0xff), "");
	ck_assert_str_eq(function_at(0x100), "first");
	ck_assert_str_eq(function_at(0x10f), "first");
	ck_assert_str_eq(function_at(0x110), "");
	ck_assert_str_eq(function_at(0x20f), "second");
	ck_assert_str_eq(function_at(UINT64_MAX), "last");
}
END_TEST

START_TEST(overlapping_functions_nest)
{
	function("whole", 0x100, 0x100);
	function("part", 0x120, 0x10);
	function("inner", 0x124, 0x4);
	function("part b", 0x140, 0x10);
	ck_assert_int_eq(vg_symbols_finish(&table), 0);
	ck_assert_str_eq(function_at(0x110), "whole");
	ck_assert_str_eq(function_at(0x121), "part");
	ck_assert_str_eq(function_at(0x127), "inner");
	ck_assert_str_eq(function_at(0x128), "part");
	ck_assert_str_eq(function_at(0x130), "whole");
	ck_assert_str_eq(function_at(0x14f), "part b");
	ck_assert_str_eq(function_at(0x1ff), "whole");
	ck_assert_str_eq(function_at(0x200), "");
}
END_TEST

START_TEST(folded_functions_have_the_first_name)
{
	function("b", 0x100, 0x10);
	function("a", 0x100, 0x10);
	function("b", 0x100, 0x10);
	ck_assert_int_eq(vg_symbols_finish(&table), 0);
	ck_assert_uint_eq(table.functions.count, 1);
	ck_assert_str_eq(function_at(0x108), "a");
	ck_assert(table.functions.items[0].is_multiple);
}
END_TEST

START_TEST(inlines_are_in_the_order_of_calls)
{
	uint32_t one = file("one.c"), two = file("two.h");
	struct vg_symbol_frame frames[8];

	function("outer", 0x100, 0x100);
	line(0x100, 0x20, 10, one);
	line(0x120, 0x8, 77, two);
	line(0x128, 0x8, 0, VG_SYMBOLS_NONE);
	call("middle", 0, 12, one, 0x110, 0x40);
	call("inner", 1, 30, two, 0x120, 0x10);
	call("sibling", 0, 15, VG_SYMBOLS_NONE, 0x160, 0x10);
	ck_assert_int_eq(vg_symbols_finish(&table), 0);

	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x121, frames, 8), 3);
	ck_assert_str_eq(frames[0].function, "inner");
	ck_assert_str_eq(frames[0].file, "two.h");
	ck_assert_uint_eq(frames[0].line, 77);
	ck_assert(frames[0].is_inline);
	ck_assert_str_eq(frames[1].function, "middle");
	ck_assert_str_eq(frames[1].file, "two.h");
	ck_assert_uint_eq(frames[1].line, 30);
	ck_assert(frames[1].is_inline);
	ck_assert_str_eq(frames[2].function, "outer");
	ck_assert_str_eq(frames[2].file, "one.c");
	ck_assert_uint_eq(frames[2].line, 12);
	ck_assert(!frames[2].is_inline);

	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x128, frames, 8), 3);
	ck_assert_ptr_null(frames[0].file);
	ck_assert_uint_eq(frames[0].line, 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x165, frames, 8), 2);
	ck_assert_str_eq(frames[0].function, "sibling");
	ck_assert_ptr_null(frames[0].file);
	ck_assert_ptr_null(frames[1].file);
	ck_assert_uint_eq(frames[1].line, 15);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x108, frames, 8), 1);
	ck_assert_uint_eq(frames[0].line, 10);
}
END_TEST

START_TEST(too_many_inlines_keep_the_function)
{
	struct vg_symbol_frame frames[4];

	function("outer", 0x100, 0x100);
	for (uint32_t depth = 0; depth < 10; depth++)
		call(depth == 9 ? "innermost" : "between", depth, depth + 1, VG_SYMBOLS_NONE, 0x100, 0x10);
	ck_assert_int_eq(vg_symbols_finish(&table), 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x104, frames, 3), 3);
	ck_assert_str_eq(frames[0].function, "innermost");
	ck_assert_str_eq(frames[1].function, "between");
	ck_assert_str_eq(frames[2].function, "outer");
	ck_assert_uint_eq(frames[2].line, 1);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x104, frames, 1), 1);
	ck_assert_str_eq(frames[0].function, "outer");
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x104, frames, 0), 0);
}
END_TEST

START_TEST(parent_not_in_its_range)
{
	struct vg_symbol_frame frames[4];

	function("outer", 0x100, 0x100);
	call("parent", 0, 5, VG_SYMBOLS_NONE, 0x110, 0x8);
	call("child", 1, 6, VG_SYMBOLS_NONE, 0x120, 0x8);
	ck_assert_int_eq(vg_symbols_finish(&table), 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x121, frames, 4), 3);
	ck_assert_str_eq(frames[1].function, "parent");
	ck_assert_uint_eq(frames[2].line, 5);
}
END_TEST

START_TEST(linker_symbols_end_at_the_next_symbol_or_section)
{
	section(0x1000, 0x100);
	section(0x2000, 0x100);
	function("function", 0x1040, 0x10);
	public_symbol("b", 0x1020);
	public_symbol("a", 0x1000);
	public_symbol("last", 0x1080);
	public_symbol("at function", 0x1040);
	public_symbol("nowhere", 0x9000);
	ck_assert_int_eq(vg_symbols_finish(&table), 0);
	ck_assert_str_eq(function_at(0x0fff), "");
	ck_assert_str_eq(function_at(0x1010), "a");
	ck_assert_str_eq(function_at(0x103f), "b");
	ck_assert_str_eq(function_at(0x1040), "function");
	ck_assert_str_eq(function_at(0x1050), "");
	ck_assert_str_eq(function_at(0x10ff), "last");
	ck_assert_str_eq(function_at(0x1100), "");
	ck_assert_str_eq(function_at(0x9001), "nowhere");
}
END_TEST

START_TEST(lines_are_sorted)
{
	uint32_t one = file("one.c");
	struct vg_symbol_frame frame;

	ck_assert_uint_eq(file("one.c"), one);
	function("f", 0x100, 0x100);
	line(0x120, 0x10, 2, one);
	line(0x110, 0x10, 1, one);
	ck_assert_int_eq(vg_symbols_finish(&table), 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x11f, &frame, 1), 1);
	ck_assert_uint_eq(frame.line, 1);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x10f, &frame, 1), 1);
	ck_assert_uint_eq(frame.line, 0);
	ck_assert_ptr_null(frame.file);
}
END_TEST

START_TEST(indices_out_of_range_are_refused)
{
	function("f", 0x100, 0x100)->line_count = 1;
	ck_assert_int_eq(vg_symbols_finish(&table), -EINVAL);
	table.functions.items[0].line_count = 0;
	table.functions.items[0].name = 1000;
	ck_assert_int_eq(vg_symbols_finish(&table), -EINVAL);
}
END_TEST

START_TEST(demangling_is_bounded)
{
	struct vg_demangler demangler = { 0 };
	char name_text[9000], bomb[1000] = "_Z1f";

	ck_assert_str_eq(vg_demangle(&demangler, "_ZN3foo3barEi"), "foo::bar(int)");
	ck_assert_str_eq(vg_demangle(&demangler, "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
			 "core::fmt::Write::write_fmt");
	ck_assert_str_eq(vg_demangle(&demangler, "_RNvC6_123foo3bar"), "123foo::bar");
	ck_assert_str_eq(vg_demangle(&demangler, "i"), "i");
	ck_assert_str_eq(vg_demangle(&demangler, "main"), "main");
	ck_assert_str_eq(vg_demangle(&demangler, "_Znonsense"), "_Znonsense");
	ck_assert_str_eq(vg_demangle(&demangler, "_Dmain"), "D main");
	ck_assert_str_eq(vg_demangle(&demangler, "_D4demo4fillFZv"), "_D4demo4fillFZv");
	ck_assert_str_eq(vg_demangle_ada(&demangler, "shapes__inner__Oadd"), "shapes.inner.\"+\"");
	ck_assert_str_eq(vg_demangle_ada(&demangler, "Shapes"), "Shapes");
	/* Each argument contains the one before twice: the name would have 2 to the 36th parts. */
	strcat(bomb, "1AIiiE");
	for (int i = 0; i < 36; i++) {
		char last = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i], part[32];

		snprintf(part, sizeof part, "S_IS%c_S%c_E", last, last);
		strcat(bomb, part);
		if (i == 5)
			ck_assert_uint_gt(strlen(vg_demangle(&demangler, bomb)), 500);
	}
	ck_assert_str_eq(vg_demangle(&demangler, bomb), bomb);
	/* The same in a pack expansion, where the parts are searched and not printed. */
	ck_assert_str_eq(vg_demangle(&demangler, "_Z1fIJidEEvDpT_"), "void f<int, double>(int, double)");
	for (int levels = 5; levels <= 35; levels += 30) {
		strcpy(bomb, "_Z1fDpSt4pairI");
		for (int i = 1; i < levels; i++)
			strcat(bomb, "S_I");
		strcat(bomb, "iiE");
		for (int i = 0; i < levels - 1; i++) {
			const char part[] = { 'S', "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i], '_', 'E', '\0' };

			strcat(bomb, part);
		}
		if (levels == 5)
			ck_assert_str_ne(vg_demangle(&demangler, bomb), bomb);
	}
	ck_assert_str_eq(vg_demangle(&demangler, bomb), bomb);
	memset(name_text, 'x', sizeof name_text);
	memcpy(name_text, "_Z8990", 6);
	name_text[sizeof name_text - 1] = '\0';
	ck_assert_ptr_eq(vg_demangle(&demangler, name_text), name_text);
	vg_demangler_free(&demangler);
	vg_demangler_free(NULL);
}
END_TEST

/* libiberty allocates seven bytes more than the name has, and does not check. */
START_TEST(ada_names_stay_in_their_buffer)
{
	static const char *const parts[] = { "a", "__", "SO", "SR", "SW", "SI", "DF", "DA", "Oor", "Oeq", "Xnb", "TKB",
					     "TK__", "___elabb", "___elabs", "___size", "__2", ".1", "_B1s", "P", "_" };
	struct vg_demangler demangler = { 0 };
	char long_name[1001] = "";

	ck_assert_str_eq(vg_demangle_ada(&demangler, "shapes__fillSO"), "shapes.fill'Output");
	ck_assert_str_eq(vg_demangle_ada(&demangler, "shapes__fillDF"), "shapes.fill.Finalize");
	ck_assert_str_eq(vg_demangle_ada(&demangler, "aSO___elabb"), "a'Output'Elab_Body");
	ck_assert_str_eq(vg_demangle_ada(&demangler, "aSO__aDF"), "aSO__aDF");
	for (int i = 0; i < 200; i++)
		strcat(long_name, "aSO__");
	ck_assert_str_eq(vg_demangle_ada(&demangler, long_name), long_name);
	srand(1);
	for (int i = 0; i < 100000; i++) {
		char text[128] = "a";

		for (int left = rand() % 12; left > 0; left--)
			strcat(text, parts[(size_t)rand() % (sizeof parts / sizeof *parts)]);
		ck_assert_uint_le(strlen(vg_demangle_ada(&demangler, text)), strlen(text) + 7);
	}
	vg_demangler_free(&demangler);
}
END_TEST

Suite *symbols_table_suite(void)
{
	Suite *suite = suite_create("symbols_table");
	TCase *tests = tcase_create("symbols_table");

	tcase_add_checked_fixture(tests, NULL, free_table);
	tcase_add_test(tests, empty_table);
	tcase_add_test(tests, cover_up_to_the_last_address);
	tcase_add_test(tests, function_covers_its_bytes_only);
	tcase_add_test(tests, overlapping_functions_nest);
	tcase_add_test(tests, folded_functions_have_the_first_name);
	tcase_add_test(tests, inlines_are_in_the_order_of_calls);
	tcase_add_test(tests, too_many_inlines_keep_the_function);
	tcase_add_test(tests, parent_not_in_its_range);
	tcase_add_test(tests, linker_symbols_end_at_the_next_symbol_or_section);
	tcase_add_test(tests, lines_are_sorted);
	tcase_add_test(tests, indices_out_of_range_are_refused);
	tcase_add_test(tests, demangling_is_bounded);
	tcase_add_test(tests, ada_names_stay_in_their_buffer);
	suite_add_tcase(suite, tests);
	return suite;
}
