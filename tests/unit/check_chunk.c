/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/chunk.h"


static unsigned char file[8192];
static size_t length;

static void chunk_append(uint32_t sequence, const void *payload, size_t bytes)
{
	ck_assert_uint_le(length + VG_CHUNK_HEADER_BYTES + bytes, sizeof file);
	vg_chunk_header(file + length, sequence, payload, bytes);
	memcpy(file + length + VG_CHUNK_HEADER_BYTES, payload, bytes);
	length += VG_CHUNK_HEADER_BYTES + bytes;
}

static void bytes_append(const void *bytes, size_t count)
{
	memcpy(file + length, bytes, count);
	length += count;
}

static struct vg_chunks all_chunks(void)
{
	return (struct vg_chunks){ .bytes = file, .length = length };
}

static void setup(void)
{
	length = 0;
}

static void good_expect(struct vg_chunks *chunks, uint32_t sequence, uint64_t offset, bool has_gap)
{
	struct vg_damage damage;
	struct vg_chunk chunk;

	ck_assert_int_eq(vg_chunk_next(chunks, &chunk, &damage), VG_CHUNK_GOOD);
	ck_assert_uint_eq(chunk.sequence, sequence);
	ck_assert_uint_eq(chunk.offset, offset);
	ck_assert_int_eq(chunk.gap, has_gap);
}

static void damage_expect(struct vg_chunks *chunks, uint64_t offset, uint64_t bytes)
{
	struct vg_damage damage;
	struct vg_chunk chunk;

	ck_assert_int_eq(vg_chunk_next(chunks, &chunk, &damage), VG_CHUNK_DAMAGED);
	ck_assert_uint_eq(damage.offset, offset);
	ck_assert_uint_eq(damage.bytes, bytes);
	ck_assert_ptr_nonnull(damage.problem);
}

static void end_expect(struct vg_chunks *chunks)
{
	struct vg_damage damage;
	struct vg_chunk chunk;

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(vg_chunk_next(chunks, &chunk, &damage), VG_CHUNK_END);
}

START_TEST(whole_chunks)
{
	struct vg_chunks chunks;

	chunk_append(0, "a", 1);
	chunk_append(1, "", 0);
	chunk_append(2, "bc", 2);
	chunks = all_chunks();
	good_expect(&chunks, 0, 0, false);
	good_expect(&chunks, 1, 22, false);
	good_expect(&chunks, 2, 43, false);
	end_expect(&chunks);
}
END_TEST

START_TEST(missing_chunks_are_a_gap)
{
	struct vg_chunks chunks;

	chunk_append(1, "a", 1);
	chunk_append(2, "b", 1);
	chunk_append(5, "c", 1);
	chunks = all_chunks();
	good_expect(&chunks, 1, 0, true);
	good_expect(&chunks, 2, 22, false);
	good_expect(&chunks, 5, 44, true);
	end_expect(&chunks);
}
END_TEST

START_TEST(garbage_before_between_and_behind)
{
	struct vg_chunks chunks;

	bytes_append("junk", 4);
	chunk_append(0, "a", 1);
	bytes_append(VG_CHUNK_MAGIC, VG_CHUNK_MAGIC_BYTES);
	chunk_append(1, "b", 1);
	bytes_append(VG_CHUNK_MAGIC "\0\0\0\2\xce", VG_CHUNK_MAGIC_BYTES + 5);
	chunks = all_chunks();
	damage_expect(&chunks, 0, 4);
	good_expect(&chunks, 0, 4, false);
	damage_expect(&chunks, 26, 7);
	good_expect(&chunks, 1, 33, false);
	damage_expect(&chunks, 55, 12);
	end_expect(&chunks);
}
END_TEST

/* The checksum covers the sequence number. */
START_TEST(sequence_is_checked)
{
	struct vg_chunks chunks;

	chunk_append(0, "a", 1);
	file[VG_CHUNK_SEQUENCE_AT + 3] = 1;
	chunks = all_chunks();
	damage_expect(&chunks, 0, 22);
	end_expect(&chunks);
}
END_TEST

START_TEST(impossible_length)
{
	struct vg_chunks chunks;

	chunk_append(0, "a", 1);
	file[VG_CHUNK_LENGTH_AT] = 0x7f;
	chunk_append(1, "b", 1);
	chunks = all_chunks();
	damage_expect(&chunks, 0, 22);
	good_expect(&chunks, 1, 22, true);
}
END_TEST

/* A chunk within a payload, such as a profile in a thread's name, is not a chunk of the file. */
START_TEST(chunk_inside_a_payload)
{
	unsigned char inner[VG_CHUNK_HEADER_BYTES + 1] = { [VG_CHUNK_HEADER_BYTES] = 'x' };
	struct vg_chunks chunks;

	vg_chunk_header(inner, 9, inner + VG_CHUNK_HEADER_BYTES, 1);
	chunk_append(0, inner, sizeof inner);
	chunks = all_chunks();
	good_expect(&chunks, 0, 0, false);
	end_expect(&chunks);
}
END_TEST

/* Each header claims everything up to the end of the file. The time must grow linearly with the file, not with its
 * square. */
START_TEST(nested_headers_are_bounded)
{
	size_t bytes = 4 << 20;
	unsigned char *nested = calloc(1, bytes);
	struct vg_chunks chunks = { .bytes = nested, .length = bytes };
	struct vg_damage damage;
	struct vg_chunk chunk;

	ck_assert_ptr_nonnull(nested);
	for (size_t at = 0; at + VG_CHUNK_HEADER_BYTES <= bytes; at += VG_CHUNK_HEADER_BYTES) {
		vg_chunk_header(nested + at, 0, "", 0);
		nested[at + VG_CHUNK_LENGTH_AT + 1] = 0x0f;
	}
	ck_assert_int_eq(vg_chunk_next(&chunks, &chunk, &damage), VG_CHUNK_DAMAGED);
	ck_assert_uint_eq(damage.bytes, bytes);
	ck_assert_uint_le(chunks.checked_bytes, 64 * bytes + (66u << 20));
	free(nested);
}
END_TEST

START_TEST(records)
{
	/* [1, 5], [99, nil, [1]], then an item that is not a record */
	static const unsigned char payload[] = { 0x92, 1, 5, 0x93, 99, 0xc0, 0x91, 1, 0x90 };
	struct vg_cursor cursor = { payload, payload + sizeof payload };
	struct vg_record_view record;
	uint64_t value;

	ck_assert_int_eq(vg_record_next(&cursor, &record), 1);
	ck_assert(record.kind == 1 && record.fields == 1 && record.length == 3);
	ck_assert_int_eq(vg_cursor_uint(&record.cursor, &value), 0);
	ck_assert_uint_eq(value, 5);
	ck_assert_int_eq(vg_cursor_uint(&record.cursor, &value), -EBADMSG);
	ck_assert_int_eq(vg_record_next(&cursor, &record), 1);
	ck_assert(record.kind == 99 && record.fields == 2 && record.length == 5);
	ck_assert_int_eq(vg_record_next(&cursor, &record), -EBADMSG);
	ck_assert_ptr_eq(cursor.at, payload + 8);
	cursor.at = cursor.end;
	ck_assert_int_eq(vg_record_next(&cursor, &record), 0);
}
END_TEST

Suite *chunk_suite(void)
{
	Suite *suite = suite_create("chunk");
	TCase *cases = tcase_create("chunk");

	tcase_add_checked_fixture(cases, setup, NULL);
	tcase_add_test(cases, whole_chunks);
	tcase_add_test(cases, missing_chunks_are_a_gap);
	tcase_add_test(cases, garbage_before_between_and_behind);
	tcase_add_test(cases, sequence_is_checked);
	tcase_add_test(cases, impossible_length);
	tcase_add_test(cases, chunk_inside_a_payload);
	tcase_add_test(cases, nested_headers_are_bounded);
	tcase_add_test(cases, records);
	suite_add_tcase(suite, cases);
	return suite;
}
