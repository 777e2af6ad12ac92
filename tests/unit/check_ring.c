/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rings with chosen records: what is read from them. */
#include <linux/perf_event.h>
#include <string.h>

#include "tests/unit/suites.h"
#include "vignetted/capture/ring.h"
#include "vignetted/capture/timers.h"

enum { RING_BYTES = 4096, PID = 100, TID = 101 };

static struct perf_event_mmap_page head;
static _Alignas(8) unsigned char data[RING_BYTES];
static struct vg_ring ring;

/* The ring begins shortly before the end of its memory, so that a record continues at the beginning. */
static void setup(void)
{
	memset(&head, 0, sizeof head);
	head.data_head = head.data_tail = RING_BYTES - 32;
	ring = (struct vg_ring){ .head = &head, .data = data, .data_bytes = RING_BYTES, .tail = head.data_tail };
}

static void record_add(const void *record, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		data[(head.data_head + i) % RING_BYTES] = ((const unsigned char *)record)[i];
	head.data_head += bytes;
}

/* The kernel ends each record that is not a sample with these fields. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
};

static void lost_add(uint64_t count)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, lost;
		struct sample_id by;
	} record = { { .type = PERF_RECORD_LOST, .size = sizeof record }, 1, count, { PID, TID, 1000 } };

	record_add(&record, sizeof record);
}

static void exit_add(uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time_ns;
		struct sample_id by;
	} record = { { .type = PERF_RECORD_EXIT, .size = sizeof record }, pid, 1, tid, tid, time_ns,
		     { pid, tid, time_ns } };

	record_add(&record, sizeof record);
}

/* One record of the kernel may stand for many lost samples. */
START_TEST(lost_samples_are_counted)
{
	uint64_t lost = 0;

	lost_add(5);
	exit_add(PID, TID, 2001);
	lost_add(7);
	ck_assert(vg_ring_peek(&ring, PID, &lost));
	ck_assert_uint_eq(lost, 5);
	ck_assert_uint_eq(ring.record_type, PERF_RECORD_EXIT);
	ck_assert_uint_eq(ring.time_ns, 2001);
	ck_assert_int_eq(vg_ring_exit(&ring), TID);
	vg_ring_skip(&ring);
	ck_assert(!vg_ring_peek(&ring, PID, &lost));
	ck_assert_uint_eq(lost, 12);
	ck_assert_uint_eq(head.data_tail, head.data_head);
}
END_TEST

START_TEST(records_of_other_processes_are_skipped)
{
	uint64_t lost = 0;

	exit_add(PID + 1, TID, 2001);
	exit_add(PID, TID + 1, 3001);
	ck_assert(vg_ring_peek(&ring, PID, &lost));
	ck_assert_int_eq(vg_ring_exit(&ring), TID + 1);
	ck_assert_uint_eq(ring.time_ns, 3001);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

/* The kernel copied copied_bytes of at most 1024, and a walk wants want_bytes of them. The snapshot reaches the
 * stack's end only if the kernel found the end and the snapshot has the whole copy. */
static const struct { size_t copied_bytes, want_bytes; bool end_copied; } copies[] = {
	{ 512, 256, false }, { 512, 504, false }, { 512, 512, true }, { 512, 1024, true }, { 0, 512, true },
	{ 1024, 512, false }, { 1024, 1024, false }, { 1024, 2048, false },
};

START_TEST(snapshot_of_a_part_of_the_copy)
{
	const struct vg_timers timers = { .current = &ring, .stack_bytes = 1024 };
	const struct vg_timer_record record = {
		.sample = { .stack_at = RING_BYTES - 64, .stack_bytes = copies[_i].copied_bytes },
	};
	size_t bytes = copies[_i].copied_bytes < copies[_i].want_bytes ? copies[_i].copied_bytes : copies[_i].want_bytes;
	struct vg_snapshot snapshot = { 0 };

	for (size_t i = 0; i < RING_BYTES; i++)
		data[i] = (unsigned char)(i / 8);
	ck_assert_int_eq(vg_timers_snapshot(&timers, &record, copies[_i].want_bytes, &snapshot), 0);
	ck_assert_uint_eq(snapshot.stack_bytes, bytes);
	ck_assert_int_eq(snapshot.stack_end_copied, copies[_i].end_copied);
	for (size_t i = 0; i < bytes; i++)
		ck_assert_uint_eq(snapshot.stack[i], data[(record.sample.stack_at + i) % RING_BYTES]);
	vg_snapshot_free(&snapshot);
}
END_TEST

Suite *ring_suite(void)
{
	Suite *suite = suite_create("ring");
	TCase *tests = tcase_create("ring");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, lost_samples_are_counted);
	tcase_add_test(tests, records_of_other_processes_are_skipped);
	tcase_add_loop_test(tests, snapshot_of_a_part_of_the_copy, 0, sizeof copies / sizeof *copies);
	suite_add_tcase(suite, tests);
	return suite;
}
