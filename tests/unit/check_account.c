/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a recording writes of a thread: its samples, repeats and exit. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"
#include "vignetted/session/account.h"

enum { MS = 1000 * 1000 };

static struct vg_recording recording;
static struct vg_task task;
static struct vg_events_lane lane;
static struct vg_events events;
static struct fixture fixture;

/* A thread that is older than the recording, and has lane 0 of the event ring. */
static void setup(void)
{
	const struct vg_thread thread = { .id = VG_NONE, .tid = 100 };
	const struct vg_writer_header header = { .period_ns = MS, .mode = "wall", .writer = "w", .arch = "x86_64",
						 .program = "demo" };
	uint64_t unsampled_ns = UINT64_MAX;

	memset(&recording, 0, sizeof recording);
	events = (struct vg_events){ .lanes = &lane };
	task = (struct vg_task){ .tid = 100, .files = { -1, -1 }, .lane = 1 };
	fixture_open(&fixture);
	vg_recorder_open(&recording.recorder, fixture.fd, 0, UINT64_MAX, NULL);
	ck_assert_int_eq(vg_writer_header(&recording.recorder.writer, &header), 0);
	recording.options.period_ns = recording.period_now_ns = MS;
	recording.options.max_frames = 64;
	vg_account_begin(&recording, &task, thread, 0, 0, &unsampled_ns);
}

static void teardown(void)
{
	fixture_close(&fixture);
	vg_recorder_free(&recording.recorder);
}

static void sample(uint64_t time_ns, uint64_t interval)
{
	struct vg_frame frame = { .address = 0x7000, .module = VG_NONE, .found = VG_FOUND_BY_CFI };
	const struct vg_walk walk = { .frames = &frame, .count = 1, .end = VG_WALK_ROOT };
	const struct vg_new_sample taken = {
		.walk = &walk, .call = -1, .interval = interval, .time_ns = time_ns, .number = ++task.latest.count,
	};
	const struct vg_weight_pair weights = { .own = { .wall_ns = MS } };

	vg_account_sample(&recording, &task, &events, &taken, &weights);
	task.latest.number = taken.number;
}

static void thread_end(uint64_t time_ns)
{
	uint64_t unsampled_ns = UINT64_MAX;

	vg_account_thread_end(&recording, &task, time_ns, &unsampled_ns);
}

static void profile_read(void)
{
	unsigned char *bytes;
	off_t length;

	ck_assert_int_eq(vg_recorder_finish(&recording.recorder, "over", 100 * MS), 0);
	length = lseek(fixture.fd, 0, SEEK_END);
	bytes = malloc((size_t)length + 1);
	ck_assert_int_eq(pread(fixture.fd, bytes, (size_t)length, 0), length);
	ck_assert_int_eq(fixture_read_bytes(&fixture, bytes, (size_t)length), 0);
	ck_assert_uint_eq(fixture.profile.damage.count, 0);
	ck_assert_uint_eq(fixture.profile.threads.count, 1);
}

/* A scan assumes that the thread exited in the middle between two scans.  But it was alive at its latest sample, and at
 * the latest repeat of that sample. */
START_TEST(thread_ends_after_its_latest_sample)
{
	bool repeated = _i != 0;
	const struct vg_weight_pair weights = { .own = { .wall_ns = MS } };

	sample(10 * MS, 0);
	if (repeated)
		vg_account_repeat(&recording, &task, 1, 20 * MS, &weights);
	thread_end(5 * MS);
	profile_read();
	ck_assert_uint_eq(fixture.profile.threads.items[0].end_ns, (repeated ? 20 : 10) * MS);
}
END_TEST

/* The latest sample is in the file already.  The time after it gets a sample with the same stack, but it is not known
 * whether its interval has ended. */
START_TEST(rest_of_a_thread_has_no_interval)
{
	const uint64_t token = vg_lane_token(0, 0);

	sample(10 * MS, token);
	ck_assert_int_eq(vg_account_flush(&recording, &task), 0);
	thread_end(30 * MS);
	profile_read();
	ck_assert_uint_eq(fixture.profile.samples.count, 2);
	ck_assert_uint_eq(fixture.profile.samples.items[0].interval, token);
	ck_assert_uint_eq(fixture.profile.samples.items[1].interval, 0);
	ck_assert_uint_eq(fixture.profile.samples.items[1].time_ns, 30 * MS);
	ck_assert_uint_eq(fixture.profile.samples.items[0].stack, fixture.profile.samples.items[1].stack);
}
END_TEST

/* Repeats in a row are one record, in the interval of their sample. */
START_TEST(repeats_are_in_the_interval)
{
	const uint64_t token = vg_lane_token(0, 0);
	const struct vg_weight_pair weights = { .own = { .wall_ns = MS } };

	sample(10 * MS, token);
	ck_assert_int_eq(vg_account_flush(&recording, &task), 0);
	vg_account_repeat(&recording, &task, 2, 20 * MS, &weights);
	vg_account_repeat(&recording, &task, 1, 30 * MS, &weights);
	ck_assert_int_eq(vg_account_flush(&recording, &task), 0);
	profile_read();
	ck_assert_uint_eq(fixture.profile.samples.count, 2);
	ck_assert_uint_eq(fixture.profile.samples.items[1].interval, token);
	ck_assert_uint_eq(fixture.profile.samples.items[1].count, 3);
	ck_assert_uint_eq(fixture.profile.samples.items[1].wall_ns, 2 * MS);
	ck_assert_uint_eq(fixture.profile.samples.items[1].time_ns, 30 * MS);
}
END_TEST

Suite *account_suite(void)
{
	Suite *suite = suite_create("account");
	TCase *tests = tcase_create("account");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, thread_ends_after_its_latest_sample, 0, 2);
	tcase_add_test(tests, rest_of_a_thread_has_no_interval);
	tcase_add_test(tests, repeats_are_in_the_interval);
	suite_add_tcase(suite, tests);
	return suite;
}
