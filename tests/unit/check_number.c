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
	uint64_t ppm = 7;

	ck_assert(vg_number_ppm("0", &ppm) && ppm == 0);
	ck_assert(vg_number_ppm("0.0001", &ppm) && ppm == 1);
	ck_assert(vg_number_ppm("100", &ppm) && ppm == 1000000);
	ck_assert(!vg_number_ppm("0.00001", &ppm));
	ck_assert(!vg_number_ppm("100.0001", &ppm));
}
END_TEST

START_TEST(times)
{
	static const struct { const char *text; uint64_t ns; } good[] = {
		{ "10", 10000000000 }, { "0.5", 500000000 }, { "0.5s", 500000000 }, { "500ms", 500000000 },
		{ "1500us", 1500000 },
		{ ".25", 250000000 }, { "1m", 60000000000 }, { "2h", 7200000000000 }, { "2H", 7200000000000 },
		{ "30d", 2592000000000000 },
		{ "1073741824", 1073741824000000000 },
	};
	static const char *const bad[] = { "", "s", ".", "-1", "+1", " 1", "1 s", "1w", "1us", "1e3", "0x10", "1.2.3",
		"inf", "nan", "0", "0.0001", "1073741825", "99999999999999999999999" };
	uint64_t ns = 0;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		ck_assert_msg(vg_number_time(good[i].text, 1000000, 1073741824000000000, &ns), "%s", good[i].text);
		ck_assert_uint_eq(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!vg_number_time(bad[i], 1000000, 1073741824000000000, &ns), "%s", bad[i]);
}
END_TEST

START_TEST(sizes)
{
	static const struct { const char *text; uint64_t bytes; } good[] = {
		{ "65536", 65536 }, { "64K", 65536 }, { "64k", 65536 }, { "64M", 67108864 }, { "1.5G", 1610612736 },
		{ "1T", 1099511627776 }, { "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = { "", "K", "63K", "64KB", "64 K", "-64K", "0x10000", "1e6",
		"18446744073709551616", "99999999T" };
	uint64_t bytes = 0;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		ck_assert_msg(vg_number_size(good[i].text, 65536, UINT64_MAX, &bytes), "%s", good[i].text);
		ck_assert_uint_eq(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!vg_number_size(bad[i], 65536, UINT64_MAX, &bytes), "%s", bad[i]);
}
END_TEST

Suite *number_suite(void)
{
	Suite *suite = suite_create("number");
	TCase *cases = tcase_create("number");

	tcase_add_test(cases, integers);
	tcase_add_test(cases, percents);
	tcase_add_test(cases, parts_per_million);
	tcase_add_test(cases, times);
	tcase_add_test(cases, sizes);
	suite_add_tcase(suite, cases);
	return suite;
}
