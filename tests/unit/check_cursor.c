/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <errno.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "profile/cursor.h"


/* Copies the bytes to the end of an allocation, so that AddressSanitizer detects a read beyond them. */
static unsigned char *copy;
static struct vg_cursor cursor_over(const void *bytes, size_t length)
{
	free(copy);
	copy = malloc(length > 0 ? length : 1);
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, length);
	return (struct vg_cursor){ copy, copy + length };
}

#define CURSOR_OVER(bytes) cursor_over(bytes, sizeof(bytes) - 1)

/* msgpack-c writes the numbers, the cursor reads them. */
START_TEST(integers_of_every_size)
{
	static const int64_t values[] = {
		0, 1, 127, 128, 255, 256, 65535, 65536, UINT32_MAX, (int64_t)UINT32_MAX + 1, INT64_MAX,
		-1, -32, -33, -128, -129, -32768, -32769, INT32_MIN, (int64_t)INT32_MIN - 1, INT64_MIN,
	};

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		msgpack_sbuffer buffer;
		msgpack_packer packer;
		struct vg_cursor cursor;
		struct vg_item item;

		msgpack_sbuffer_init(&buffer);
		msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
		msgpack_pack_int64(&packer, values[i]);
		for (size_t length = 0; length < buffer.size; length++) {
			cursor = cursor_over(buffer.data, length);
			ck_assert_int_eq(vg_cursor_next(&cursor, &item), -EBADMSG);
			ck_assert_ptr_eq(cursor.at, copy);
		}
		cursor = cursor_over(buffer.data, buffer.size);
		ck_assert_int_eq(vg_cursor_next(&cursor, &item), 0);
		ck_assert_ptr_eq(cursor.at, cursor.end);
		ck_assert_int_eq((int64_t)item.number, values[i]);
		ck_assert_int_eq(item.token, values[i] < 0 ? VG_TOKEN_INT : VG_TOKEN_UINT);
		msgpack_sbuffer_destroy(&buffer);
	}
}
END_TEST

START_TEST(signed_forms_of_positive_numbers)
{
	struct vg_cursor cursor = CURSOR_OVER("\xd0\x05\xd3\0\0\0\0\0\0\0\x07");
	uint64_t value;

	ck_assert_int_eq(vg_cursor_uint(&cursor, &value), 0);
	ck_assert_uint_eq(value, 5);
	ck_assert_int_eq(vg_cursor_uint(&cursor, &value), 0);
	ck_assert_uint_eq(value, 7);
}
END_TEST

START_TEST(reals)
{
	struct vg_cursor cursor = CURSOR_OVER("\xca\x3f\x00\x00\x00\xcb\xbf\xe0\0\0\0\0\0\0");
	struct vg_item item;

	ck_assert_int_eq(vg_cursor_next(&cursor, &item), 0);
	ck_assert_int_eq(item.token, VG_TOKEN_FLOAT);
	ck_assert_double_eq(item.real, 0.5);
	ck_assert_int_eq(vg_cursor_next(&cursor, &item), 0);
	ck_assert_double_eq(item.real, -0.5);
}
END_TEST

START_TEST(blobs)
{
	struct vg_cursor cursor = CURSOR_OVER("\xa3" "abc" "\xd9\x01" "d" "\xc4\x02\x00\x01"
					      "\xd4\x07\xff" "\xc7\x02\x08xy" "\xc0\xc2\xc3");
	static const enum vg_token tokens[] = { VG_TOKEN_EXT, VG_TOKEN_EXT, VG_TOKEN_NIL,
						VG_TOKEN_FALSE, VG_TOKEN_TRUE };
	static const size_t lengths[] = { 2, 3, 0, 0, 0 };
	const unsigned char *bytes;
	struct vg_item item;
	const char *text;
	size_t length;

	ck_assert_int_eq(vg_cursor_str(&cursor, &text, &length), 0);
	ck_assert(length == 3 && memcmp(text, "abc", 3) == 0);
	ck_assert_int_eq(vg_cursor_str(&cursor, &text, &length), 0);
	ck_assert(length == 1 && *text == 'd');
	ck_assert_int_eq(vg_cursor_bin(&cursor, &bytes, &length), 0);
	ck_assert(length == 2 && bytes[1] == 1);
	for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
		ck_assert_int_eq(vg_cursor_next(&cursor, &item), 0);
		ck_assert_int_eq(item.token, tokens[i]);
		ck_assert_uint_eq(item.length, lengths[i]);
	}
	ck_assert_ptr_eq(cursor.at, cursor.end);
}
END_TEST

/* These lengths are larger than the number of bytes that follow. */
START_TEST(false_lengths_are_refused)
{
	static const struct { const char *bytes; size_t length; } claims[] = {
		{ "\xdd\x10\x00\x00\x00", 5 }, { "\xdf\xff\xff\xff\xff", 5 }, { "\xdb\xff\xff\xff\xff" "a", 6 },
		{ "\xc6\xff\xff\xff\xff", 5 }, { "\xc9\xff\xff\xff\xff\x01", 6 }, { "\x92\x01", 2 },
		{ "\x81\x01", 2 }, { "\xa2" "a", 2 }, { "\xc1", 1 }, { "", 0 }, { "\xdc\x00", 2 },
	};
	struct vg_item item;

	for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
		struct vg_cursor cursor = cursor_over(claims[i].bytes, claims[i].length);

		ck_assert_int_eq(vg_cursor_next(&cursor, &item), -EBADMSG);
		ck_assert_int_eq(vg_cursor_skip(&cursor), -EBADMSG);
		ck_assert_ptr_eq(cursor.at, copy);
	}
}
END_TEST

START_TEST(skip_passes_one_object)
{
	struct vg_cursor cursor = CURSOR_OVER("\x83\x01\x92\x02\xa1z\xa1k\x80\xc0\x90" "\x05");
	uint64_t value;

	ck_assert_int_eq(vg_cursor_skip(&cursor), 0);
	ck_assert_int_eq(vg_cursor_uint(&cursor, &value), 0);
	ck_assert_uint_eq(value, 5);
}
END_TEST

START_TEST(skip_has_a_depth_limit)
{
	unsigned char deep[100000];
	struct vg_cursor cursor;

	memset(deep, 0x91, sizeof deep);
	cursor = cursor_over(deep, sizeof deep);
	ck_assert_int_eq(vg_cursor_skip(&cursor), -EBADMSG);
	ck_assert_ptr_eq(cursor.at, copy);
	deep[32] = 0xc0;
	cursor = cursor_over(deep, 33);
	ck_assert_int_eq(vg_cursor_skip(&cursor), 0);
	deep[32] = 0x91;
	deep[33] = 0xc0;
	cursor = cursor_over(deep, 34);
	ck_assert_int_eq(vg_cursor_skip(&cursor), -EBADMSG);
}
END_TEST

START_TEST(wrong_type_is_refused_and_not_skipped)
{
	struct vg_cursor cursor = CURSOR_OVER("\xa1" "x");
	const unsigned char *bytes;
	uint64_t value;
	uint32_t count;
	size_t length;

	ck_assert_int_eq(vg_cursor_uint(&cursor, &value), -EBADMSG);
	ck_assert_int_eq(vg_cursor_array(&cursor, &count), -EBADMSG);
	ck_assert_int_eq(vg_cursor_map(&cursor, &count), -EBADMSG);
	ck_assert_int_eq(vg_cursor_bin(&cursor, &bytes, &length), -EBADMSG);
	ck_assert_ptr_eq(cursor.at, copy);
	cursor = CURSOR_OVER("\xff");
	ck_assert_int_eq(vg_cursor_uint(&cursor, &value), -EBADMSG);
}
END_TEST

Suite *cursor_suite(void)
{
	Suite *suite = suite_create("cursor");
	TCase *cases = tcase_create("cursor");

	tcase_add_test(cases, integers_of_every_size);
	tcase_add_test(cases, signed_forms_of_positive_numbers);
	tcase_add_test(cases, reals);
	tcase_add_test(cases, blobs);
	tcase_add_test(cases, false_lengths_are_refused);
	tcase_add_test(cases, skip_passes_one_object);
	tcase_add_test(cases, skip_has_a_depth_limit);
	tcase_add_test(cases, wrong_type_is_refused_and_not_skipped);
	suite_add_tcase(suite, cases);
	return suite;
}
