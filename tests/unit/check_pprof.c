/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/merge.h"
#include "tests/unit/fixture.h"
#include "vgtool/views/pprof.h"
#include "vgtool/views/pprof_labels.h"
#include "vgtool/views/pprof_stacks.h"

enum { MS = 1000000 };
static struct fixture fixture;
static Perftools__Profiles__Profile *message;

/* Writes the profile as pprof's and reads this back, with libprotobuf-c. */
static void pprof_write(const struct vg_profile *profile, uint32_t base_processes)
{
	char *packed;
	size_t length;
	FILE *file = open_memstream(&packed, &length);

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(vg_pprof_write(profile, base_processes, "test 1", file), 0);
	ck_assert_int_eq(fclose(file), 0);
	message = perftools__profiles__profile__unpack(NULL, length, (unsigned char *)packed);
	ck_assert_ptr_nonnull(message);
	free(packed);
	ck_assert_str_eq(message->string_table[0], "");
}

static void done(void)
{
	perftools__profiles__profile__free_unpacked(message, NULL);
	fixture_close(&fixture);
}

static const char *text(int64_t index)
{
	ck_assert_int_lt(index, (int64_t)message->n_string_table);
	return message->string_table[index];
}

static const Perftools__Profiles__Location *location_of(uint64_t id)
{
	for (size_t i = 0; i < message->n_location; i++) {
		if (message->location[i]->id == id)
			return message->location[i];
	}
	ck_abort_msg("no location %" PRIu64, id);
}

static const char *function_name(uint64_t id)
{
	for (size_t i = 0; i < message->n_function; i++) {
		if (message->function[i]->id == id)
			return text(message->function[i]->name);
	}
	ck_abort_msg("no function %" PRIu64, id);
}

/* Fails unless the sample is this text: functions from the leaf frame with their lines, values and labels. */
static void expect_sample(size_t index, const char *expected)
{
	const Perftools__Profiles__Sample *sample = message->sample[index];
	char *line;
	size_t length;
	FILE *file = open_memstream(&line, &length);

	for (size_t i = 0; i < sample->n_location_id; i++) {
		const Perftools__Profiles__Location *location = location_of(sample->location_id[i]);

		fprintf(file, "%" PRIx64, location->address);
		for (size_t k = 0; k < location->n_line; k++)
			fprintf(file, ":%s:%" PRId64, function_name(location->line[k]->function_id),
				location->line[k]->line);
		fputc(' ', file);
	}
	for (size_t i = 0; i < sample->n_value; i++)
		fprintf(file, "%" PRId64 " ", sample->value[i]);
	for (size_t i = 0; i < sample->n_label; i++)
		fprintf(file, "%s=%s%" PRId64 " ", text(sample->label[i]->key), text(sample->label[i]->str),
			sample->label[i]->num);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_str_eq(line, expected);
	free(line);
}

START_TEST(demo_profile)
{
	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	pprof_write(&fixture.profile, 0);
	ck_assert_uint_eq(message->n_sample, 4);
	expect_sample(1, "500030:[libx.so]:0 400020:inner:3:work:12 400010:main:7 2 2000000 1000000 "
		      "thread=main0 thread_id=100 ");
	expect_sample(3, "7f00:0x7f00:0 0:[stack incomplete: no unwind information]:0 1 2000000 1000000 "
		      "thread=worker0 thread_id=101 ");
	ck_assert_uint_eq(message->n_mapping, 2);
	ck_assert_str_eq(text(message->mapping[0]->filename), "demo");
	ck_assert_str_eq(text(message->mapping[0]->build_id), "01020304");
	ck_assert_int_eq(message->mapping[0]->has_functions, 1);
	ck_assert_int_eq(message->mapping[1]->has_functions, 0);
	ck_assert_str_eq(text(message->default_sample_type), "wall");
	ck_assert_str_eq(text(message->comment[0]), "test 1");
	ck_assert_int_eq(message->period, MS);
	ck_assert_int_eq(message->time_nanos, INT64_C(1700000000) * 1000 * MS);
	done();
}
END_TEST

/* A base has negative values and pprof's label.  Locations of both are the same. */
START_TEST(base_is_negative)
{
	struct vg_profile merged = { 0 };
	struct vg_merge merge = { .profile = &merged };

	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(vg_merge_add(&merge, &fixture.profile, "demo.vgp", NULL), 0);
	ck_assert_int_eq(vg_merge_finish(&merge), 0);
	pprof_write(&merged, 1);
	ck_assert_uint_eq(message->n_sample, 8);
	expect_sample(2, "500030:[libx.so]:0 400020:inner:3:work:12 400010:main:7 -2 -2000000 -1000000 "
		      "thread=main0 thread_id=100 process=demo 1000 pprof::base=true0 ");
	expect_sample(3, "500030:[libx.so]:0 400020:inner:3:work:12 400010:main:7 2 2000000 1000000 "
		      "thread=main0 thread_id=100 process=demo 1000 ");
	perftools__profiles__profile__free_unpacked(message, NULL);
	/* Without a base the two are one process. */
	pprof_write(&merged, 0);
	ck_assert_uint_eq(message->n_sample, 4);
	expect_sample(1, "500030:[libx.so]:0 400020:inner:3:work:12 400010:main:7 4 4000000 2000000 thread=main0 ");
	vg_merge_free(&merge);
	vg_profile_free(&merged);
	done();
}
END_TEST

/* The main executable stays first when its process has got another name. */
START_TEST(renamed_process)
{
	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_merge_rename(&fixture.profile, "libx.so"), 0);
	pprof_write(&fixture.profile, 0);
	ck_assert_str_eq(text(message->mapping[0]->filename), "demo");
	done();
}
END_TEST

START_TEST(deep_stacks_are_cut)
{
	const Perftools__Profiles__Sample *sample;

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "");
	for (uint32_t i = 0; i < 20000; i++)
		ck_assert_int_eq(vg_writer_stack(&fixture.writer, VG_STACK_ROOTS + i,
						 i == 0 ? VG_WALK_TRUNCATED : VG_STACK_ROOTS + i - 1, 0, i, 0), 0);
	fixture_sample(&fixture, 0, VG_STACK_ROOTS + 19999, MS, MS, 0);
	fixture_sample(&fixture, 0, VG_STACK_ROOTS + VG_PPROF_LOCATIONS_MAX - 1, 2 * MS, 0, 0);
	fixture_sample(&fixture, 0, VG_WALK_ROOT, 3 * MS, 0, 0);
	fixture_read(&fixture, false);
	fixture.profile.samples.items[0].wall_ns = UINT64_MAX;
	pprof_write(&fixture.profile, 0);
	sample = message->sample[2];
	ck_assert_uint_eq(sample->n_location_id, VG_PPROF_ROOM);
	ck_assert_int_eq(sample->value[1], INT64_MAX);
	ck_assert_uint_eq(location_of(sample->location_id[0])->address, 0x400000 + 19999);
	ck_assert_str_eq(function_name(location_of(sample->location_id[1000])->line[0]->function_id),
			 "[18001 frames cut]");
	ck_assert_uint_eq(location_of(sample->location_id[1001])->address, 0x400000 + 998);
	ck_assert_uint_eq(location_of(sample->location_id[1999])->address, 0x400000);
	ck_assert_str_eq(function_name(location_of(sample->location_id[2000])->line[0]->function_id),
			 "[stack incomplete: stack truncated]");
	ck_assert_uint_eq(message->sample[1]->n_location_id, VG_PPROF_ROOM);
	expect_sample(0, "0:[idle]:0 1 0 0 thread=thread 10 thread_id=1 ");
	done();
}
END_TEST

/* A sample has each label once, and at most VG_PPROF_PATH_MAX labels. */
START_TEST(labels_of_intervals)
{
	char name[16];

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "main");
	for (uint32_t i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "%u", i);
		ck_assert_int_eq(vg_writer_label(&fixture.writer, i, name, strlen(name)), 0);
	}
	for (uint32_t i = 0; i < 103; i++) {
		struct vg_writer_event event = { .type = VG_EVENT_BEGIN, .time_ns = i + 1, .token = i + 1, .parent = i,
						 .kind = VG_NONE, .label = i < 3 ? i % 2 : i - 3 };

		ck_assert_int_eq(vg_writer_event(&fixture.writer, &event), 0);
	}
	for (uint64_t token = 3; token <= 103; token += 100) {
		struct vg_writer_sample sample = { .thread = 0, .stack = VG_WALK_ROOT, .count = 1,
						   .time_ns = MS * token, .wall_ns = MS, .interval = token };

		ck_assert_int_eq(vg_writer_sample(&fixture.writer, &sample), 0);
	}
	fixture_read(&fixture, false);
	pprof_write(&fixture.profile, 0);
	expect_sample(0, "0:[idle]:0 1 1000000 0 thread=main0 thread_id=1 interval=00 interval=10 ");
	ck_assert_uint_eq(message->sample[1]->n_label, 2 + VG_PPROF_PATH_MAX);
	ck_assert_str_eq(text(message->sample[1]->label[2 + VG_PPROF_PATH_MAX - 1]->str), "[deeper intervals]");
	done();
}
END_TEST

Suite *pprof_suite(void)
{
	Suite *suite = suite_create("pprof");
	TCase *tcase = tcase_create("write");

	tcase_add_test(tcase, demo_profile);
	tcase_add_test(tcase, base_is_negative);
	tcase_add_test(tcase, renamed_process);
	tcase_add_test(tcase, deep_stacks_are_cut);
	tcase_add_test(tcase, labels_of_intervals);
	suite_add_tcase(suite, tcase);
	return suite;
}
