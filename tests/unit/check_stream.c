/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile/stream.h: a profile that is read while it is written. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "profile/stream.h"
#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"

enum { MS = 1000000, CHUNKS = 4 };
static struct fixture fixture;
static unsigned char *bytes;
static size_t length;

/* Four chunks: the demo, and three with two samples each. */
static void setup(void)
{
	fixture_demo(&fixture);
	for (uint64_t chunk = 1; chunk < CHUNKS; chunk++) {
		ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
		for (uint64_t i = 0; i < 2; i++)
			fixture_sample(&fixture, 0, 18, (4 + 2 * chunk + i) * MS, MS, MS / 2);
	}
	bytes = fixture_bytes(&fixture, &length);
}

static void teardown(void)
{
	free(bytes);
	fixture_close(&fixture);
}

START_TEST(any_pieces)
{
	for (size_t piece = 1; piece <= length; piece++) {
		struct vg_profile profile = { 0 };
		struct vg_stream stream;

		ck_assert_int_eq(vg_stream_open(&stream, &profile), 0);
		for (size_t at = 0; at < length; at += piece) {
			size_t left = length - at;

			ck_assert_int_eq(vg_stream_add(&stream, bytes + at, left < piece ? left : piece), 0);
		}
		ck_assert_uint_eq(profile.samples.count, 11);
		ck_assert_uint_eq(profile.stacks.count, 5);
		ck_assert_str_eq(vg_profile_text(&profile, profile.header.program), "demo");
		ck_assert_uint_eq(profile.samples.items[10].time_ns, 11 * MS);
		ck_assert_uint_eq(profile.samples.items[10].stack, 2);
		ck_assert_uint_eq(vg_stream_now_ns(&stream), 11 * MS);
		vg_stream_close(&stream);
		vg_profile_free(&profile);
	}
}
END_TEST

/* A wrong byte anywhere is an error, or ends the profile there: the length of a chunk is then larger. */
START_TEST(any_byte_wrong)
{
	for (size_t at = 0; at < length; at++) {
		struct vg_profile profile = { 0 };
		struct vg_stream stream;
		int rc;

		bytes[at] ^= 0x41;
		ck_assert_int_eq(vg_stream_open(&stream, &profile), 0);
		rc = vg_stream_add(&stream, bytes, length);
		ck_assert(rc == -EBADMSG || (rc == 0 && profile.samples.count < 11));
		vg_stream_close(&stream);
		vg_profile_free(&profile);
		bytes[at] ^= 0x41;
	}
}
END_TEST

static uint64_t sum_wall_ns(const struct vg_profile *profile)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < profile->samples.count; i++)
		sum_ns += profile->samples.items[i].wall_ns;
	return sum_ns;
}

START_TEST(merged_samples)
{
	struct vg_profile profile = { 0 };
	struct vg_stream stream;
	uint64_t wall_ns, samples = 0;

	ck_assert_int_eq(vg_stream_open(&stream, &profile), 0);
	ck_assert_int_eq(vg_stream_add(&stream, bytes, length), 0);
	wall_ns = sum_wall_ns(&profile);

	/* Stack 2 twice, and stack 4 at 2 ms; stack 3 at 3 ms stays. */
	ck_assert_int_eq(vg_stream_merge(&stream, 3 * MS), 0);
	ck_assert_uint_eq(stream.merged, 2);
	ck_assert_uint_eq(profile.samples.count, 10);
	ck_assert_uint_eq(profile.samples.items[0].stack, 2);
	ck_assert_uint_eq(profile.samples.items[0].count, 2);
	ck_assert_uint_eq(profile.samples.items[0].wall_ns, 2 * MS);
	ck_assert_uint_eq(profile.samples.items[1].stack, 4);
	ck_assert_uint_eq(profile.samples.items[2].time_ns, 3 * MS);
	ck_assert_int_eq(vg_stream_merge(&stream, 3 * MS), 0);
	ck_assert_uint_eq(profile.samples.count, 10);

	/* The others: stacks 3 and 0, and six more samples of stack 2. */
	ck_assert_int_eq(vg_stream_merge(&stream, 11 * MS), 0);
	ck_assert_uint_eq(stream.merged, 4);
	ck_assert_uint_eq(profile.samples.count, 5);
	ck_assert_uint_eq(profile.samples.items[0].count, 7);
	ck_assert_uint_eq(profile.samples.items[4].time_ns, 11 * MS);
	ck_assert_uint_eq(profile.threads.items[0].last_sample, 4);
	ck_assert_uint_eq(profile.threads.items[1].last_sample, VG_NONE);
	for (size_t i = 0; i < profile.samples.count; i++)
		samples += profile.samples.items[i].count;
	ck_assert_uint_eq(samples, 11);
	ck_assert_uint_eq(sum_wall_ns(&profile), wall_ns);
	vg_stream_close(&stream);
	vg_profile_free(&profile);
}
END_TEST

Suite *stream_suite(void)
{
	Suite *suite = suite_create("stream");
	TCase *cases = tcase_create("stream");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, any_pieces);
	tcase_add_test(cases, any_byte_wrong);
	tcase_add_test(cases, merged_samples);
	suite_add_tcase(suite, cases);
	return suite;
}
