/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/breakpad/breakpad.h"


#define GENERATOR "INFO GENERATOR vignette " PACKAGE_VERSION "\n"
#define MODULE "MODULE Linux x86_64 43EFCA139DE1A581BD3B972DF35EA43C0 a program\n"

static char path[64];
static struct vg_symbols table;
static struct vg_err err;

static void text_put(const char *text, size_t length)
{
	FILE *stream = fopen(path, "w");

	ck_assert_ptr_nonnull(stream);
	ck_assert_uint_eq(fwrite(text, 1, length, stream), length);
	ck_assert_int_eq(fclose(stream), 0);
}

static int text_read(const char *text)
{
	text_put(text, strlen(text));
	return vg_breakpad_read(&table, path, NULL, 0, &err);
}

/* Returns what vg_breakpad_write() writes. The caller frees it. */
static char *text_written(void)
{
	char *text;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	ck_assert_int_eq(vg_breakpad_write(&table, stream, &err), 0);
	fclose(stream);
	return text;
}

static void setup(void)
{
	int fd;

	strcpy(path, "/tmp/check_breakpad.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	vg_symbols_free(&table);
	unlink(path);
}

static const char sample_text[] =
	MODULE
	"INFO CODE_ID 13CAEF43E19D81A5BD3B972DF35EA43C3B61F2B3\n"
	GENERATOR
	"INFO SECTION 1000 1000\n"
	"FILE 0 /src/a b.c\n"
	"FILE 1 /src/c.h\n"
	"INLINE_ORIGIN 0 inner(int, char const*)\n"
	"INLINE_ORIGIN 1 middle\n"
	"FUNC 1000 40 0 outer function\n"
	"INLINE 0 7 0 1 1010 10 1030 4\n"
	"INLINE 1 3 1 0 1010 8\n"
	"INLINE 0 9 -1 1 1038 8\n"
	"1000 10 5 0\n"
	"1010 8 100 1\n"
	"1018 28 6 0\n"
	"FUNC m 1040 10 8 folded\n"
	"PUBLIC 1080 0 _start\n"
	"PUBLIC m 10c0 4 _fini\n";

START_TEST(written_text_equals_read_text)
{
	char *written;

	ck_assert_int_eq(text_read(sample_text), 0);
	ck_assert_uint_eq(table.bad_records, 0);
	ck_assert_str_eq(table.module_name, "a program");
	ck_assert_str_eq(table.arch, "x86_64");
	ck_assert_str_eq(table.debug_id, "43EFCA139DE1A581BD3B972DF35EA43C0");
	ck_assert_uint_eq(table.build_id_bytes, 20);
	written = text_written();
	ck_assert_str_eq(written, sample_text);
	free(written);
}
END_TEST

/* A record of a call with many ranges is longer than any buffer for one range. */
START_TEST(inlined_call_with_many_ranges)
{
	static const char text[] =
		MODULE
		GENERATOR
		"INFO SECTION ffffffff81000000 fffff\n"
		"FILE 0 /src/a.c\n"
		"INLINE_ORIGIN 0 inner\n"
		"FUNC ffffffff81005000 ff000 0 outer\n"
		"INLINE 0 7 0 0 ffffffff81005100 1fff0 ffffffff81026100 1fff0 ffffffff81047100 1fff0 ffffffff81068100 1fff0"
		" ffffffff81089100 1fff0\n"
		"ffffffff81005000 ff000 5 0\n";
	char *written;

	ck_assert_int_eq(text_read(text), 0);
	ck_assert_uint_eq(table.bad_records, 0);
	written = text_written();
	ck_assert_str_eq(written, text);
	free(written);
}
END_TEST

START_TEST(addresses_of_the_read_file)
{
	struct vg_symbol_frame frames[4];

	ck_assert_int_eq(text_read(sample_text), 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x1011, frames, 4), 3);
	ck_assert_str_eq(frames[0].function, "inner(int, char const*)");
	ck_assert_str_eq(frames[0].file, "/src/c.h");
	ck_assert_uint_eq(frames[0].line, 100);
	ck_assert_str_eq(frames[1].file, "/src/c.h");
	ck_assert_uint_eq(frames[1].line, 3);
	ck_assert_str_eq(frames[2].function, "outer function");
	ck_assert_str_eq(frames[2].file, "/src/a b.c");
	ck_assert_uint_eq(frames[2].line, 7);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x1039, frames, 4), 2);
	ck_assert_ptr_null(frames[1].file);
	ck_assert_uint_eq(frames[1].line, 9);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x10ff, frames, 4), 1);
	ck_assert_str_eq(frames[0].function, "_fini");
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x2000, frames, 4), 0);
	ck_assert(table.functions.items[1].is_multiple);
	ck_assert_uint_eq(table.functions.items[1].parameter_bytes, 8);
}
END_TEST

START_TEST(old_inline_grammar)
{
	struct vg_symbol_frame frames[4];

	ck_assert_int_eq(text_read(MODULE
				   "FILE 0 own.c\nFILE 1 middle.h\nFILE 2 inner.h\n"
				   "INLINE_ORIGIN 0 1 middle\nINLINE_ORIGIN 1 2 inner function\n"
				   "INLINE_ORIGIN 2 -1 artificial\n"
				   "FUNC 1000 40 0 outer\n"
				   "INLINE 0 7 0 1010 10 1030 4\n"
				   "INLINE 1 3 1 1010 8\n"
				   "INLINE 0 8 2 1038 8\n"
				   "1000 40 5 0\n"), 0);
	ck_assert_uint_eq(table.bad_records, 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x1010, frames, 4), 3);
	ck_assert_str_eq(frames[0].function, "inner function");
	ck_assert_str_eq(frames[1].function, "middle");
	ck_assert_str_eq(frames[1].file, "middle.h");
	ck_assert_uint_eq(frames[1].line, 3);
	ck_assert_str_eq(frames[2].file, "own.c");
	ck_assert_uint_eq(frames[2].line, 7);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x1038, frames, 4), 2);
	ck_assert_str_eq(frames[0].function, "artificial");
}
END_TEST

/* A further call at the same depth has the same parent. The parent must be found without a search: a search took
 * minutes for a large file. */
START_TEST(parents_in_the_old_inline_grammar)
{
	enum { CALLS = 300000 };
	static const char head[] = MODULE
		"FILE 0 own.c\nFILE 1 middle.h\nFILE 2 inner.h\n"
		"INLINE_ORIGIN 0 1 middle\nINLINE_ORIGIN 1 2 inner\n"
		"FUNC 1000 40 0 outer\n1000 40 5 0\n"
		"INLINE 0 7 0 1010 20\nINLINE 1 3 1 1010 8\n";
	static const char line[] = "INLINE 1 4 1 1018 8\n";
	struct vg_symbol_frame frames[4];
	char *text = malloc(sizeof head + CALLS * (sizeof line - 1));
	char *end = stpcpy(text, head);

	for (int i = 0; i < CALLS; i++)
		end = stpcpy(end, line);
	text_put(text, (size_t)(end - text));
	free(text);
	ck_assert_int_eq(vg_breakpad_read(&table, path, NULL, 0, &err), 0);
	ck_assert_uint_eq(table.inlines.count, CALLS + 2);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x1018, frames, 4), 3);
	ck_assert_str_eq(frames[1].file, "middle.h");
	ck_assert_uint_eq(frames[1].line, 4);
	ck_assert_str_eq(frames[2].file, "own.c");
}
END_TEST

START_TEST(only_some_addresses_are_kept)
{
	static const uint64_t addresses[] = { 0x10, 0x1012, 0x3000 };
	struct vg_symbol_frame frames[4];

	text_put(sample_text, sizeof sample_text - 1);
	ck_assert_int_eq(vg_breakpad_read(&table, path, addresses, 3, &err), 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x1012, frames, 4), 3);
	ck_assert_str_eq(frames[0].file, "/src/c.h");
	ck_assert_uint_eq(table.functions.count, 2);
	vg_symbols_free(&table);
	/* One address is before the function, and one right after it. */
	static const uint64_t others[] = { 0xfff, 0x1040 };
	ck_assert_int_eq(vg_breakpad_read(&table, path, others, 2, &err), 0);
	ck_assert_uint_eq(table.lines.count, 0);
	ck_assert_uint_eq(table.inlines.count, 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x1040, frames, 4), 1);
	ck_assert_str_eq(frames[0].function, "folded");
	vg_symbols_free(&table);
	ck_assert_int_eq(vg_breakpad_read(&table, path, others, 0, &err), 0);
	ck_assert_uint_eq(table.lines.count, 0);
}
END_TEST

START_TEST(bad_records_are_counted_and_the_rest_kept)
{
	struct vg_symbol_frame frame;

	ck_assert_int_eq(text_read(MODULE
				   "FILE x nothing\n"              /* 2: bad */
				   "FILE 0 a.c\n"
				   "STACK CFI INIT 1000 10 .cfa: $rsp 8 +\n"
				   "INFO URL nowhere\n"
				   "FUTURE record 1 2 3\n"
				   "\n"
				   "1000 10 5 0\n"                 /* 8: before the first FUNC */
				   "FUNC 1000 10 0 good\n"
				   "1000 8 5 0 7\n"                /* 10: too many fields */
				   "1000 8 5\n"                    /* 11: too few fields */
				   "1008 100000000000000000 5 0\n" /* 12: the size is too large */
				   "1008 8 6 0\n"
				   "FUNC 2000 nonsense 0 bad\n"    /* 14: bad, and so is its line 15 */
				   "2000 8 6 0\n"
				   "PUBLIC ffffffffffffffff1 0 x\n" /* 16 */
				   "INLINE 0 1 0 0 1000 10\n"      /* 17: not in a function */
				   "PUBLIC 3000 0 public"), 0);
	ck_assert_uint_eq(table.bad_records, 9);
	ck_assert_uint_eq(table.first_bad_line, 2);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x1009, &frame, 1), 1);
	ck_assert_str_eq(frame.file, "a.c");
	ck_assert_uint_eq(frame.line, 6);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x1000, &frame, 1), 1);
	ck_assert_str_eq(frame.function, "good");
	ck_assert_uint_eq(frame.line, 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x3000, &frame, 1), 1);
	ck_assert_str_eq(frame.function, "public");
}
END_TEST

START_TEST(records_may_come_in_any_order)
{
	struct vg_symbol_frame frames[2];

	ck_assert_int_eq(text_read(MODULE
				   "PUBLIC 5000 0 late\r\n"
				   "FUNC 2000 10 0 b\r\n2008 8 2 4294967296\r\n2000 8 1 9\r\n"
				   "FUNC 1000 10 0 a\r\nINLINE 0 4 9 70000 1000 4\r\n"
				   "FILE 9 nine.c\r\nINLINE_ORIGIN 70000 inlined\r\n"), 0);
	ck_assert_uint_eq(table.bad_records, 0);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x2000, frames, 2), 1);
	ck_assert_str_eq(frames[0].file, "nine.c");
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x2008, frames, 2), 1);
	ck_assert_ptr_null(frames[0].file);
	ck_assert_uint_eq(frames[0].line, 2);
	ck_assert_uint_eq(vg_symbols_lookup(&table, 0x1000, frames, 2), 2);
	ck_assert_str_eq(frames[0].function, "inlined");
	ck_assert_str_eq(frames[1].file, "nine.c");
}
END_TEST

START_TEST(bad_files_are_refused)
{
	ck_assert_int_eq(text_read(""), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	ck_assert_int_eq(text_read("FUNC 1000 10 0 a\n"), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "line 1"));
	ck_assert_int_eq(text_read("MODULE Linux x86_64 notanid name\n"), -EBADMSG);
	ck_assert_int_eq(text_read("MODULE Linux\n"), -EBADMSG);
	ck_assert_int_eq(text_read("\n\n"), -EBADMSG);
	ck_assert_int_eq(vg_breakpad_read(&table, "/nowhere/at/all", NULL, 0, &err), -ENOENT);
	ck_assert_int_eq(vg_breakpad_read(&table, "/tmp", NULL, 0, &err), -EISDIR);
	ck_assert_int_eq(vg_breakpad_read(&table, "/nowhere/at/all", NULL, 0, NULL), -ENOENT);
	ck_assert_ptr_null(table.module_name);
}
END_TEST

START_TEST(names_cannot_contain_records)
{
	uint32_t id;
	char *text;

	ck_assert_int_eq(text_read(MODULE "FUNC 1000 10 0 a\n"), 0);
	ck_assert_int_ge(vg_intern_string(&table.strings, "evil\nFUNC 0 1000 0 main", &id), 0);
	table.functions.items[0].name = id;
	text = text_written();
	ck_assert_str_eq(text, MODULE GENERATOR "FUNC 1000 10 0 evil?FUNC 0 1000 0 main\n");
	free(text);
}
END_TEST

START_TEST(missing_file_record)
{
	static const char *const bad[] = { "INFO MISSING ", "INFO MISSING ab", "INFO MISSING ab ",
					   "INFO MISSING xy file", "INFO MISSING abc file" };
	static const char named[] = MODULE GENERATOR "INFO MISSING AB01 ../.dwz/a b.debug\n"
				    "FUNC 1000 10 0 a\n";
	struct vg_missing_file missing_file = { 0 };
	char *written, text[200];

	ck_assert_int_eq(text_read(named), 0);
	ck_assert_uint_eq(table.bad_records, 0);
	ck_assert_str_eq(table.missing_file.path, "../.dwz/a b.debug");
	ck_assert_uint_eq(table.missing_file.id_bytes, 2);
	written = text_written();
	ck_assert_str_eq(written, named);
	free(written);
	ck_assert_int_eq(vg_breakpad_find_missing_file(&missing_file, path, &err), 0);
	ck_assert_str_eq(missing_file.path, "../.dwz/a b.debug");
	vg_missing_file_free(&missing_file);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		vg_symbols_free(&table);
		snprintf(text, sizeof text, MODULE "%s\nFUNC 1000 10 0 a\nINFO MISSING ab late\n", bad[i]);
		ck_assert_int_eq(text_read(text), 0);
		ck_assert_uint_eq(table.bad_records, 1);
		ck_assert_int_eq(vg_breakpad_find_missing_file(&missing_file, path, &err), 0);
		ck_assert_ptr_null(missing_file.path);
	}
	vg_symbols_free(&table);
	text_put(MODULE "INFO MISSING ab file\r\n", sizeof MODULE "INFO MISSING ab file\r\n" - 1);
	ck_assert_int_eq(vg_breakpad_find_missing_file(&missing_file, path, &err), 0);
	ck_assert_str_eq(missing_file.path, "file");
	vg_missing_file_free(&missing_file);
	/* The file ends within the record. AddressSanitizer detects a read beyond the end. */
	text_put(MODULE "INFO MISSING ab f", sizeof MODULE "INFO MISSING ab f" - 1);
	ck_assert_int_eq(vg_breakpad_find_missing_file(&missing_file, path, &err), 0);
	vg_missing_file_free(&missing_file);
}
END_TEST

START_TEST(long_ids_of_missing_files_are_truncated)
{
	unsigned char id[VG_BUILD_ID_MAX_BYTES + 100];
	char record[sizeof MODULE GENERATOR + 300], *text;

	memset(id, 0xab, sizeof id);
	ck_assert_int_eq(text_read(MODULE), 0);
	ck_assert_int_eq(vg_missing_file_set(&table.missing_file, "file", id, sizeof id), 0);
	text = text_written();
	snprintf(record, sizeof record, MODULE GENERATOR "INFO MISSING %0*d file\n", 2 * VG_BUILD_ID_MAX_BYTES, 0);
	for (char *at = strstr(record, "00"); *at == '0'; at += 2)
		memcpy(at, "AB", 2);
	ck_assert_str_eq(text, record);
	free(text);
}
END_TEST

START_TEST(cfi_records_are_written_and_skipped)
{
	static const char *const rules[] = { ".cfa: $rsp 8 + .ra: .cfa -8 + ^", ".cfa: $rsp 16 +" };
	struct vg_symbol_cfi_range unwind = { 0x1000, 0x40, 0, 2 };
	struct vg_symbol_cfi_row row = { 0, 0 };
	char *text;

	ck_assert_int_eq(text_read(MODULE "FUNC 1000 40 0 a\n"), 0);
	for (int i = 0; i < 2; i++) {
		row.offset_bytes = i == 0 ? 0 : 0x1f;
		ck_assert_int_ge(vg_intern_string(&table.strings, rules[i], &row.rules), 0);
		ck_assert_int_eq(vg_array_push(&table.cfi_rows, &row), 0);
	}
	ck_assert_int_eq(vg_array_push(&table.cfi_ranges, &unwind), 0);
	text = text_written();
	ck_assert_str_eq(text, MODULE GENERATOR "FUNC 1000 40 0 a\n"
			 "STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
			 "STACK CFI 101f .cfa: $rsp 16 +\n");
	vg_symbols_free(&table);
	ck_assert_int_eq(text_read(text), 0);
	ck_assert_uint_eq(table.bad_records, 0);
	ck_assert_uint_eq(table.functions.count, 1);
	free(text);
}
END_TEST

/* A binary has a long name once, and many functions with it. */
START_TEST(names_have_a_limit)
{
	enum { CUT = 65536 };
	char *name = malloc(CUT + 101), *text;
	uint32_t id;

	ck_assert_ptr_nonnull(name);
	memset(name, 'n', CUT + 100);
	name[CUT + 100] = '\0';
	ck_assert_int_eq(text_read(MODULE GENERATOR "FUNC 1000 40 0 a\n"), 0);
	ck_assert_int_ge(vg_intern_string(&table.strings, name, &id), 0);
	table.functions.items[0].name = id;
	text = text_written();
	ck_assert_uint_eq(strlen(text), strlen(MODULE GENERATOR "FUNC 1000 40 0 \n") + CUT);
	free(text);
	for (uint64_t i = 1; i <= (UINT64_C(4) << 30) / CUT; i++) {
		struct vg_symbol_function function = table.functions.items[0];

		function.address += i * 64;
		often_assert_eq(vg_array_push(&table.functions, &function), 0);
	}
	ck_assert_int_eq(vg_breakpad_write(&table, stderr, &err), -EFBIG);
	free(name);
}
END_TEST

START_TEST(full_disk_is_an_error)
{
	FILE *full = fopen("/dev/full", "w");

	ck_assert_ptr_nonnull(full);
	ck_assert_int_eq(text_read(sample_text), 0);
	ck_assert_int_eq(vg_breakpad_write(&table, full, &err), -ENOSPC);
	fclose(full);
}
END_TEST

Suite *breakpad_suite(void)
{
	Suite *suite = suite_create("breakpad");
	TCase *tests = tcase_create("breakpad");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, written_text_equals_read_text);
	tcase_add_test(tests, inlined_call_with_many_ranges);
	tcase_add_test(tests, addresses_of_the_read_file);
	tcase_add_test(tests, old_inline_grammar);
	tcase_add_test(tests, parents_in_the_old_inline_grammar);
	tcase_add_test(tests, only_some_addresses_are_kept);
	tcase_add_test(tests, bad_records_are_counted_and_the_rest_kept);
	tcase_add_test(tests, records_may_come_in_any_order);
	tcase_add_test(tests, bad_files_are_refused);
	tcase_add_test(tests, names_cannot_contain_records);
	tcase_add_test(tests, missing_file_record);
	tcase_add_test(tests, long_ids_of_missing_files_are_truncated);
	tcase_add_test(tests, cfi_records_are_written_and_skipped);
	tcase_add_test(tests, names_have_a_limit);
	tcase_add_test(tests, full_disk_is_an_error);
	suite_add_tcase(suite, tests);
	return suite;
}
