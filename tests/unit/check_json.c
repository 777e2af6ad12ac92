/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <math.h>
#include <stdlib.h>

#include "vgtool/output/json.h"


static struct vg_json json;
static char *text;
static size_t text_bytes;

static void text_open(void)
{
	FILE *file = open_memstream(&text, &text_bytes);

	ck_assert_ptr_nonnull(file);
	vg_json_open(&json, file);
}

static void text_expect(const char *expected)
{
	ck_assert_int_eq(fclose(json.file), 0);
	ck_assert_str_eq(text, expected);
	free(text);
}

START_TEST(values_and_commas)
{
	text_open();
	vg_json_object_begin(&json);
	vg_json_key_string(&json, "a", "x");
	vg_json_key(&json, "b");
	vg_json_array_begin(&json);
	vg_json_uint(&json, UINT64_MAX);
	vg_json_int(&json, INT64_MIN);
	vg_json_int(&json, 0);
	vg_json_array_begin(&json);
	vg_json_array_end(&json);
	vg_json_bool(&json, true);
	vg_json_bool(&json, false);
	vg_json_string(&json, NULL);
	vg_json_array_end(&json);
	vg_json_key(&json, "c");
	vg_json_object_begin(&json);
	vg_json_object_end(&json);
	vg_json_object_end(&json);
	vg_json_line(&json);
	vg_json_array_begin(&json);
	vg_json_line(&json);
	vg_json_uint(&json, 10);
	vg_json_line(&json);
	vg_json_uint(&json, 11);
	vg_json_line(&json);
	vg_json_array_end(&json);
	text_expect("{\"a\":\"x\",\"b\":[18446744073709551615,-9223372036854775808,0,[],true,false,"
		    "null],\"c\":{}}\n[\n10,\n11]");
}
END_TEST

START_TEST(strings_are_escaped)
{
	text_open();
	vg_json_string_bytes(&json, "\"\\\n\x01\x7f\xc2\x9b\xc3\xa4\0z", 11);
	text_expect("\"\\\"\\\\\\n\\u0001\\u007f\\u009b\xc3\xa4\\u0000z\"");
}
END_TEST

START_TEST(invalid_utf8_is_replaced)
{
	text_open();
	vg_json_string(&json, "a\xff\xc2");
	text_expect("\"a\xef\xbf\xbd\xef\xbf\xbd\"");
	text_open();
	vg_json_string(&json, "\xed\xa0\x80");
	text_expect("\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}
END_TEST

START_TEST(reals)
{
	text_open();
	vg_json_array_begin(&json);
	vg_json_real(&json, 0.5);
	vg_json_real(&json, NAN);
	vg_json_real(&json, -INFINITY);
	vg_json_array_end(&json);
	text_expect("[0.5,null,null]");
}
END_TEST

START_TEST(microseconds)
{
	text_open();
	vg_json_array_begin(&json);
	vg_json_us(&json, 0);
	vg_json_us(&json, 1);
	vg_json_us(&json, 1230);
	vg_json_us(&json, 5000);
	vg_json_us(&json, UINT64_MAX);
	vg_json_array_end(&json);
	text_expect("[0,0.001,1.230,5,18446744073709551.615]");
}
END_TEST

START_TEST(milliseconds)
{
	text_open();
	vg_json_array_begin(&json);
	vg_json_ms(&json, 0);
	vg_json_ms(&json, 1);
	vg_json_ms(&json, -1234500);
	vg_json_ms(&json, 5000000);
	vg_json_ms(&json, INT64_MIN);
	vg_json_array_end(&json);
	text_expect("[0,0.000001,-1.2345,5,-9223372036854.775808]");
}
END_TEST

START_TEST(hex_of_bytes)
{
	text_open();
	vg_json_hex(&json, (const unsigned char *)"\x00\xab\x7f", 3);
	text_expect("\"00ab7f\"");
}
END_TEST

/* A value that is nested too deep becomes null. The values after it are written as usual. */
START_TEST(nesting_is_bounded)
{
	char expected[2 * VG_JSON_DEPTH_MAX + 32], *at = expected;

	text_open();
	for (int i = 0; i < VG_JSON_DEPTH_MAX + 3; i++)
		vg_json_array_begin(&json);
	vg_json_object_begin(&json);
	vg_json_key_uint(&json, "lost", 1);
	vg_json_object_end(&json);
	for (int i = 0; i < VG_JSON_DEPTH_MAX + 3; i++)
		vg_json_array_end(&json);
	vg_json_uint(&json, 1);
	for (int i = 0; i < VG_JSON_DEPTH_MAX; i++)
		*at++ = '[';
	at = stpcpy(at, "null");
	for (int i = 0; i < VG_JSON_DEPTH_MAX; i++)
		*at++ = ']';
	stpcpy(at, "1");
	text_expect(expected);
}
END_TEST

Suite *json_suite(void)
{
	Suite *suite = suite_create("json");
	TCase *cases = tcase_create("json");

	tcase_add_test(cases, values_and_commas);
	tcase_add_test(cases, strings_are_escaped);
	tcase_add_test(cases, invalid_utf8_is_replaced);
	tcase_add_test(cases, reals);
	tcase_add_test(cases, microseconds);
	tcase_add_test(cases, milliseconds);
	tcase_add_test(cases, hex_of_bytes);
	tcase_add_test(cases, nesting_is_bounded);
	suite_add_tcase(suite, cases);
	return suite;
}
