/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The interval that a thread was in at a time. */
#include <check.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "tests/unit/suites.h"
#include "vignetted/target/events.h"
#include "vignetted/target/lane.h"

static struct vg_events_lane lane;

static void setup(void)
{
	memset(&lane, 0, sizeof lane);
}

static void teardown(void)
{
	vg_array_free(&lane.changes);
}

/* Interval 1 from 10 to 50, and inside it interval 2 from 20 to 30. */
static void nested_record(void)
{
	vg_lane_open(&lane, 10, 1);
	vg_lane_open(&lane, 20, 2);
	vg_lane_close(&lane, 30, 2);
	vg_lane_close(&lane, 50, 1);
}

START_TEST(innermost_interval_at_a_time)
{
	/* {time, interval} */
	static const uint64_t expected[][2] = {
		{ 0, 0 }, { 9, 0 }, { 10, 1 }, { 19, 1 }, { 20, 2 }, { 29, 2 }, { 30, 1 }, { 49, 1 }, { 50, 0 }, { 99, 0 },
	};

	nested_record();
	/* Dropping the time before the first change has no effect. */
	for (uint64_t dropped_ns = 0; dropped_ns <= 10; dropped_ns += 10) {
		vg_lane_history_drop(&lane, dropped_ns);
		for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
			ck_assert_uint_eq(vg_lane_interval_at(&lane, expected[i][0]), expected[i][1]);
	}
}
END_TEST

/* After a drop, later times have the same interval as before. An earlier time has no interval, because the interval of
 * a later time would be wrong. */
START_TEST(dropped_history_is_unknown)
{
	for (uint64_t before_ns = 0; before_ns <= 60; before_ns++) {
		uint64_t expected[61];

		teardown();
		setup();
		nested_record();
		for (uint64_t time_ns = 0; time_ns <= 60; time_ns++)
			expected[time_ns] = vg_lane_interval_at(&lane, time_ns);
		vg_lane_history_drop(&lane, before_ns);
		for (uint64_t time_ns = 0; time_ns <= 60; time_ns++) {
			uint64_t interval = vg_lane_interval_at(&lane, time_ns);

			ck_assert(interval == expected[time_ns] || (time_ns < before_ns && interval == 0));
		}
	}
}
END_TEST

START_TEST(long_history_loses_its_older_half)
{
	enum { CHANGES = 200000 };

	for (uint64_t i = 0; i < CHANGES; i += 2) {
		vg_lane_open(&lane, i, i + 1);
		vg_lane_close(&lane, i + 1, i + 1);
	}
	ck_assert_uint_le(lane.changes.count, 1 << 16);
	ck_assert_uint_eq(vg_lane_interval_at(&lane, 0), 0);
	ck_assert_uint_eq(vg_lane_interval_at(&lane, 100), 0);
	ck_assert_uint_eq(vg_lane_interval_at(&lane, CHANGES - 20000), CHANGES - 20000 + 1);
	ck_assert_uint_eq(vg_lane_interval_at(&lane, CHANGES - 2), CHANGES - 1);
	ck_assert_uint_eq(vg_lane_interval_at(&lane, CHANGES), 0);
}
END_TEST

START_TEST(lost_records_close_all_intervals)
{
	vg_lane_open(&lane, 10, 1);
	vg_lane_skip(&lane);
	ck_assert_uint_eq(vg_lane_interval_at(&lane, 15), 0);
	vg_lane_open(&lane, 20, 2);
	ck_assert_uint_eq(vg_lane_interval_at(&lane, 25), 2);
}
END_TEST

START_TEST(interval_ends_after_its_samples)
{
	lane.sampled = (struct vg_lane_sampled){ .time_ns = 40, .interval = 2 };
	ck_assert_uint_eq(vg_lane_end_ns(&lane, 2, 30), 40);
	ck_assert_uint_eq(vg_lane_end_ns(&lane, 2, 50), 50);
	ck_assert_uint_eq(vg_lane_end_ns(&lane, 1, 30), 30);
}
END_TEST

/* A ring with two lanes. */
static struct vg_lanes *lanes_map(void)
{
	struct vg_lanes *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(shared, MAP_FAILED);
	shared->used = 2;
	return shared;
}

/* A thread's events were written before a scan found the thread. Then it keeps the id that it has in the profiles, if the
 * lane still belongs to it. */
START_TEST(thread_is_found_after_its_events)
{
	enum { TID = 77, CLAIMS = 5 };
	struct vg_events_lane lanes[2] = { 0 };
	struct vg_events events = { .lanes = lanes };
	struct vg_task other = { .tid = TID + 1 }, task = { .tid = TID };
	uint32_t ids[VG_RECORDINGS_MAX];

	events.shared = lanes_map();
	events.shared->lanes[1].owner = TID;
	events.shared->lanes[1].claims = CLAIMS + 1;
	lanes[1] = (struct vg_events_lane){ .shared = &events.shared->lanes[1],
					    .claims = CLAIMS, .known = true, .is_no_task = true, .name = 3,
					    .thread_written = 1u << 1 | 1u << 2, .skipped = 1u << 1, .threads = { 7, 8, 9 } };
	/* The lane has another owner now, whom no drain has seen. */
	vg_events_task_found(&events, &task, ids);
	ck_assert_uint_eq(ids[2], VG_NONE);
	events.shared->lanes[1].claims = CLAIMS;
	vg_events_task_found(&events, &other, ids);
	ck_assert_uint_eq(ids[2], VG_NONE);
	ck_assert_uint_eq(task.lane + other.lane, 0);
	vg_events_task_found(&events, &task, ids);
	for (uint32_t i = 0; i < VG_RECORDINGS_MAX; i++)
		ck_assert_uint_eq(ids[i], i == 2 ? 9 : VG_NONE);
	ck_assert_uint_eq(task.lane, 2);
	ck_assert(task.host_name != 0 && !lanes[1].is_no_task);
	munmap(events.shared, sizeof *events.shared);
}
END_TEST

/* A drain may take long, and an event that comes meanwhile is later than the drain's time. An event that is later than the
 * clock is forged. */
START_TEST(event_is_later_than_the_drain)
{
	const uint64_t second_ns = 1000000000, now_ns = vg_now_ns();
	struct vg_events_lane lanes[2] = { { .claims = 0 }, { .known = true } };
	struct vg_events events = { .lanes = lanes, .shared = lanes_map(), .begin_ns = now_ns - 10 * second_ns };

	for (uint32_t number = 0; number < 2; number++) {
		lanes[number].number = number;
		lanes[number].shared = &events.shared->lanes[number];
		events.shared->records[1][number].time_ns = now_ns + number * 3600 * second_ns;
		events.shared->records[1][number].type_and_labels = VG_EVENT_INSTANT;
	}
	events.shared->lanes[1].head = 2;
	vg_events_drain(&events, &(struct vg_drain_context){ .now_ns = second_ns });
	ck_assert_uint_eq(events.malformed, 1);
	ck_assert_uint_eq(lanes[1].last_ns, 10 * second_ns);
	ck_assert_uint_eq(events.shared->lanes[1].tail, 2);
	munmap(events.shared, sizeof *events.shared);
}
END_TEST

Suite *lane_suite(void)
{
	Suite *suite = suite_create("lane");
	TCase *tests = tcase_create("lane");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, innermost_interval_at_a_time);
	tcase_add_test(tests, dropped_history_is_unknown);
	tcase_add_test(tests, long_history_loses_its_older_half);
	tcase_add_test(tests, lost_records_close_all_intervals);
	tcase_add_test(tests, interval_ends_after_its_samples);
	tcase_add_test(tests, thread_is_found_after_its_events);
	tcase_add_test(tests, event_is_later_than_the_drain);
	suite_add_tcase(suite, tests);
	return suite;
}
