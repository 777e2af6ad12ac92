/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <string.h>

#include "base/build_id.h"
#include "symbols/table/debug_id.h"


START_TEST(build_id_fields_are_swapped)
{
	static const unsigned char id[20] = {
		0x13, 0xca, 0xef, 0x43, 0xe1, 0x9d, 0x81, 0xa5, 0xbd, 0x3b,
		0x97, 0x2d, 0xf3, 0x5e, 0xa4, 0x3c, 0x3b, 0x61, 0xf2, 0xb3
	};
	char text[VG_DEBUG_ID_CHARS + 1];

	vg_debug_id_text(id, sizeof id, text);
	ck_assert_str_eq(text, "43EFCA139DE1A581BD3B972DF35EA43C0");
	ck_assert_uint_eq(strlen(text), VG_DEBUG_ID_CHARS);
}
END_TEST

START_TEST(short_build_id_is_padded_with_zeros)
{
	static const unsigned char id[3] = { 0xab, 0xcd, 0xef };
	char text[VG_DEBUG_ID_CHARS + 1];

	vg_debug_id_text(id, sizeof id, text);
	ck_assert_str_eq(text, "00EFCDAB0000000000000000000000000");
	vg_debug_id_text(NULL, 0, text);
	ck_assert_str_eq(text, "000000000000000000000000000000000");
}
END_TEST

START_TEST(text_id_combines_blocks)
{
	unsigned char section[5000], id[16];

	memset(section, 0, sizeof section);
	section[0] = 1;
	section[16] = 2;        /* the same byte of the next block */
	section[4095] = 4;      /* the last byte that is hashed */
	section[4096] = 8;
	vg_text_id(section, sizeof section, id);
	ck_assert_uint_eq(id[0], 3);
	ck_assert_uint_eq(id[15], 4);
	for (int i = 1; i < 15; i++)
		ck_assert_uint_eq(id[i], 0);
	/* The last block may be incomplete. */
	vg_text_id(section, 17, id);
	ck_assert_uint_eq(id[0], 3);
	ck_assert_uint_eq(id[15], 0);
	vg_text_id(NULL, 0, id);
	ck_assert_uint_eq(id[0], 0);
}
END_TEST

START_TEST(hex_of_either_case_is_parsed)
{
	unsigned char bytes[4];
	size_t count = 99;
	char text[9];

	ck_assert(vg_hex_parse("0aFf10", 6, bytes, sizeof bytes, &count));
	ck_assert_uint_eq(count, 3);
	ck_assert_int_eq(memcmp(bytes, "\x0a\xff\x10", 3), 0);
	vg_hex_text(bytes, count, text);
	ck_assert_str_eq(text, "0AFF10");
	ck_assert(!vg_hex_parse("0aF", 3, bytes, sizeof bytes, &count));
	ck_assert(!vg_hex_parse("0g", 2, bytes, sizeof bytes, &count));
	ck_assert(!vg_hex_parse("0011223344", 10, bytes, sizeof bytes, &count));
	ck_assert(vg_hex_parse("", 0, bytes, sizeof bytes, &count));
	ck_assert_uint_eq(count, 0);
}
END_TEST

Suite *debug_id_suite(void)
{
	Suite *suite = suite_create("debug_id");
	TCase *tests = tcase_create("debug_id");

	tcase_add_test(tests, build_id_fields_are_swapped);
	tcase_add_test(tests, short_build_id_is_padded_with_zeros);
	tcase_add_test(tests, text_id_combines_blocks);
	tcase_add_test(tests, hex_of_either_case_is_parsed);
	suite_add_tcase(suite, tests);
	return suite;
}
