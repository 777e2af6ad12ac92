/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "base/build_id.h"
#include "base/sum.h"
#include "tests/unit/suites.h"

#include "vgtool/output/text.h"


START_TEST(times)
{
	static const struct { uint64_t ns; const char *text; } cases[] = {
		{ 0, "0 s" }, { 1, "1 ns" }, { 999, "999 ns" }, { 1000, "1.00 us" }, { 9996, "10.0 us" },
		{ 12345, "12.3 us" }, { 999499, "999 us" }, { 999500, "1.00 ms" }, { 4500000, "4.50 ms" },
		{ 123456789, "123 ms" }, { 999500000, "1.00 s" }, { 1234567890, "1.23 s" },
		{ 599900000000, "600 s" }, { 600000000000, "10 min 00 s" },
		{ 3599000000000, "59 min 59 s" }, { 3600000000000, "1 h 00 min" },
		{ UINT64_MAX, "5124095 h 34 min" },
	};
	struct vg_text buffer;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_str_eq(vg_text_ns(&buffer, cases[i].ns), cases[i].text);
}
END_TEST

START_TEST(sizes)
{
	struct vg_text buffer;

	ck_assert_str_eq(vg_text_bytes(&buffer, 0), "0 bytes");
	ck_assert_str_eq(vg_text_bytes(&buffer, 1), "1 byte");
	ck_assert_str_eq(vg_text_bytes(&buffer, 1023), "1023 bytes");
	ck_assert_str_eq(vg_text_bytes(&buffer, 1536), "1.50 KiB");
	ck_assert_str_eq(vg_text_bytes(&buffer, 1048575), "1.00 MiB");
	ck_assert_str_eq(vg_text_bytes(&buffer, UINT64_MAX), "16.0 EiB");
}
END_TEST

START_TEST(shares)
{
	struct vg_text buffer;

	ck_assert_str_eq(vg_text_percent(&buffer, 1, 3), "33.3%");
	ck_assert_str_eq(vg_text_percent(&buffer, 0, 0), "-");
	ck_assert_str_eq(vg_text_percent(&buffer, UINT64_MAX, UINT64_MAX), "100.0%");
}
END_TEST

START_TEST(hex_is_truncated_to_its_buffer)
{
	char buffer[5];

	ck_assert_str_eq(vg_build_id_hex(buffer, sizeof buffer, (const unsigned char *)"\x01\xff\x03", 3), "01ff");
	ck_assert_str_eq(vg_build_id_hex(buffer, sizeof buffer, (const unsigned char *)"", 0), "");
}
END_TEST

START_TEST(plurals)
{
	ck_assert_str_eq(vg_text_plural(0), "s");
	ck_assert_str_eq(vg_text_plural(1), "");
	ck_assert_str_eq(vg_text_plural(2), "s");
}
END_TEST

START_TEST(sums_saturate)
{
	ck_assert_uint_eq(vg_sum(1, 2), 3);
	ck_assert_uint_eq(vg_sum(UINT64_MAX - 1, 2), UINT64_MAX);
}
END_TEST

Suite *text_suite(void)
{
	Suite *suite = suite_create("text");
	TCase *cases = tcase_create("text");

	tcase_add_test(cases, times);
	tcase_add_test(cases, sizes);
	tcase_add_test(cases, shares);
	tcase_add_test(cases, hex_is_truncated_to_its_buffer);
	tcase_add_test(cases, plurals);
	tcase_add_test(cases, sums_saturate);
	suite_add_tcase(suite, cases);
	return suite;
}
