/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/number.h"
#include "tests/unit/suites.h"

START_TEST(integers)
{
	static const char *const bad[] = { "", " 5", "+5", "-1", "5 ", "5x", "0x10", "1e3", "1.5", "101", "0",
		"18446744073709551616" };
	uint64_t value = 0;

	ck_assert(vg_number_parse("1", 1, 100, &value) && value == 1);
	ck_assert(vg_number_parse("0100", 1, 100, &value) && value == 100);
	ck_assert(vg_number_parse("18446744073709551615", 0, UINT64_MAX, &value) && value == UINT64_MAX);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!vg_number_parse(bad[i], 1, 100, &value), "%s", bad[i]);
}
END_TEST

START_TEST(percents)
{
	static const char *const bad[] = { "", ".", "%", " 1", "+1", "-1", "1%%", "1 %", "nan", "inf", "1x" };
	double percent = 0;

	ck_assert(vg_number_percent("0.5", &percent) && percent == 0.5);
	ck_assert(vg_number_percent(".5%", &percent) && percent == 0.5);
	ck_assert(vg_number_percent("250", &percent) && percent == 250);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!vg_number_percent(bad[i], &percent), "%s", bad[i]);
}
END_TEST

/* 0 means no limit. A very small limit must not become 0. */
START_TEST(parts_per_million)
{
	uint32_t ppm = 7;

	ck_assert(vg_number_ppm("0", &ppm) && ppm == 0);
	ck_assert(vg_number_ppm("0.0001", &ppm) && ppm == 1);
	ck_assert(vg_number_ppm("100", &ppm) && ppm == 1000000);
	ck_assert(!vg_number_ppm("0.00001", &ppm));
	ck_assert(!vg_number_ppm("100.0001", &ppm));
}
END_TEST

Suite *number_suite(void)
{
	Suite *suite = suite_create("number");
	TCase *cases = tcase_create("number");

	tcase_add_test(cases, integers);
	tcase_add_test(cases, percents);
	tcase_add_test(cases, parts_per_million);
	suite_add_tcase(suite, cases);
	return suite;
}
