/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rings with chosen records: what is read from them, and what a session makes of it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/suites.h"
#include "vignetted/capture/timers.h"
#include "vignetted/session/session.h"
#include "vignetted/session/timer_samples.h"

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
	/* The row without a stack copies nothing to NULL, which sanitizers report if memcpy(3) gets it. */
	ck_assert_int_eq(vg_timers_snapshot(&timers, &record, copies[_i].want_bytes, &snapshot), 0);
	ck_assert_uint_eq(snapshot.stack_bytes, bytes);
	ck_assert_int_eq(snapshot.stack_end_copied, copies[_i].end_copied);
	for (size_t i = 0; i < bytes; i++)
		ck_assert_uint_eq(snapshot.stack[i], data[(record.sample.stack_at + i) % RING_BYTES]);
	vg_snapshot_free(&snapshot);
}
END_TEST

/* A sample of kernel code. The markers of its callchain are left out, and so are the frames beyond the limit. Another
 * sample's callchain has an impossible length. */
START_TEST(kernel_frames)
{
	enum { WORDS = VG_KERNEL_FRAMES_MAX + 4 };
	const uint64_t kernel_at = UINT64_C(0xffffffff81000000);
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t time_ns, words, callchain[WORDS], abi, register_value, stack_bytes;
	} record = { { .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_KERNEL, .size = sizeof record }, PID, TID,
		     2001, WORDS, { (uint64_t)PERF_CONTEXT_KERNEL }, PERF_SAMPLE_REGS_ABI_64, 77, 0 };
	const struct vg_timers timers = { .current = &ring };
	struct vg_timer_record timer = { .kind = VG_TIMER_SAMPLE };
	uint64_t addresses[VG_KERNEL_FRAMES_MAX], value, lost = 0;
	struct vg_ring_sample sample;

	for (uint64_t i = 1; i < WORDS; i++)
		record.callchain[i] = kernel_at + 16 * i;
	record.callchain[2] = (uint64_t)PERF_CONTEXT_KERNEL;
	record_add(&record, sizeof record);
	record.words = UINT64_MAX;
	record_add(&record, sizeof record);
	ring.callchains = true;
	ck_assert(vg_ring_peek(&ring, PID, &lost));
	ck_assert(vg_ring_sample(&ring, 1, &sample));
	ck_assert(sample.in_kernel && sample.tid == TID && sample.stack_bytes == 0);
	vg_ring_copy(&ring, sample.registers_at, &value, sizeof value);
	ck_assert_uint_eq(value, 77);
	timer.sample.callchain_at = sample.callchain_at;
	timer.sample.callchain_count = sample.callchain_count;
	ck_assert_uint_eq(vg_timers_kernel_frames(&timers, &timer, addresses), VG_KERNEL_FRAMES_MAX);
	ck_assert_uint_eq(addresses[0], kernel_at + 16);
	ck_assert_uint_eq(addresses[1], kernel_at + 16 * 3 - 1);
	vg_ring_skip(&ring);
	ck_assert(vg_ring_peek(&ring, PID, &lost));
	ck_assert(!vg_ring_sample(&ring, 1, &sample));
	ck_assert_int_eq(sample.tid, TID);
}
END_TEST

/* ---- a session with two recordings, the second of which began 5 s after the session ---- */

enum { PERIOD_NS = 10 * 1000 * 1000, BEGIN_2_S = 5 };
static const uint64_t SECOND_NS = UINT64_C(1000) * 1000 * 1000;

static struct vg_session session;

static void session_setup(void)
{
	struct vg_task task = { .tid = TID, .in_profiles = 3, .files = { -1, -1 } };

	setup();
	memset(&session, 0, sizeof session);
	session.begin_ns = vg_now_ns() - 10 * SECOND_NS;
	session.live = 3;
	session.periods_per_tick = 1;
	session.ticks.period_ns = PERIOD_NS;
	session.timers = (struct vg_timers){ .rings = &ring, .ring_count = 1, .pid = PID, .mean_period_ns = PERIOD_NS };
	ck_assert_int_eq(vg_array_push(&session.tasks.live, &task), 0);
	for (uint64_t i = 0; i < 2; i++) {
		session.recordings[i].options.period_ns = PERIOD_NS;
		session.recordings[i].begin_session_ns = i * BEGIN_2_S * SECOND_NS;
		session.recordings[i].begin_ns = session.begin_ns + i * BEGIN_2_S * SECOND_NS;
	}
}

static void session_teardown(void)
{
	vg_array_free(&session.tasks.live);
}

/* A sample without registers, as of an exiting thread. It is a loss of each recording for which it is due. */
static void sample_add(uint32_t tid, uint64_t session_ns)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t time_ns, abi, stack_bytes;
	} record = { { .type = PERF_RECORD_SAMPLE, .size = sizeof record }, PID, tid, session.begin_ns + session_ns,
		     PERF_SAMPLE_REGS_ABI_NONE, 0 };

	record_add(&record, sizeof record);
}

/* {session time of a sample, recordings for which it is due} */
static const struct { uint64_t time_ns; bool due[2]; } samples[] = {
	{ 1000, { true, false } }, { (BEGIN_2_S * 1000 - 1) * UINT64_C(1000000), { true, false } },
	{ (BEGIN_2_S * 1000 + 1) * UINT64_C(1000000), { true, true } }, { 9 * UINT64_C(1000000000), { true, true } },
};

/* The kernel may store a record late. A recording gets no sample from before its own begin. */
START_TEST(samples_before_a_recording)
{
	sample_add(TID, samples[_i].time_ns);
	sample_add(TID + 1, samples[_i].time_ns);
	vg_timer_samples_fetch(&session);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(session.recordings[i].recorder.losses.samples[VG_LOSS_UNREADABLE], samples[_i].due[i]);
		/* No thread with the other id is known. */
		ck_assert_uint_eq(session.recordings[i].recorder.losses.samples[VG_LOSS_UNMATCHED], samples[_i].due[i]);
	}
	ck_assert_uint_eq(session.timers.samples, 2);
	ck_assert_uint_eq(head.data_tail, head.data_head);
}
END_TEST

START_TEST(impossible_times)
{
	sample_add(TID, (uint64_t)0 - SECOND_NS);
	vg_timer_samples_fetch(&session);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(session.recordings[i].recorder.losses.samples[VG_LOSS_UNREADABLE], 0);
		ck_assert_uint_eq(session.recordings[i].recorder.losses.samples[VG_LOSS_UNMATCHED], 1);
	}
}
END_TEST

START_TEST(exit_has_session_time)
{
	exit_add(PID, TID, (session.begin_ns + 2 * SECOND_NS) | 1);
	vg_timer_samples_fetch(&session);
	ck_assert_uint_ge(session.tasks.live.items[0].timers.ended_ns, 2 * SECOND_NS);
	ck_assert_uint_le(session.tasks.live.items[0].timers.ended_ns, 2 * SECOND_NS + 1);
	ck_assert(session.tasks.stale);
}
END_TEST

/* All pages of a ring are unmapped: those of the data, and the page before them. */
START_TEST(unmapped_ring_has_no_page)
{
	unsigned char state;
	struct vg_ring mapped = { .data_bytes = RING_BYTES, .fd = open("/dev/null", O_RDONLY | O_CLOEXEC) };
	unsigned char *pages = mmap(NULL, 4096 + RING_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	mapped.head = (struct perf_event_mmap_page *)pages;
	vg_ring_unmap(&mapped);
	ck_assert_ptr_null(mapped.head);
	for (size_t at = 0; at < 4096 + RING_BYTES; at += 4096)
		ck_assert(mincore(pages + at, 4096, &state) != 0 && errno == ENOMEM);
	ck_assert_int_ne(fcntl(mapped.fd, F_GETFD), 0);
}
END_TEST

Suite *ring_suite(void)
{
	Suite *suite = suite_create("ring");
	TCase *tests = tcase_create("ring"), *of_session = tcase_create("session");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, lost_samples_are_counted);
	tcase_add_test(tests, records_of_other_processes_are_skipped);
	tcase_add_loop_test(tests, snapshot_of_a_part_of_the_copy, 0, sizeof copies / sizeof *copies);
	tcase_add_test(tests, kernel_frames);
	tcase_add_test(tests, unmapped_ring_has_no_page);
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(of_session, session_setup, session_teardown);
	tcase_add_loop_test(of_session, samples_before_a_recording, 0, sizeof samples / sizeof *samples);
	tcase_add_test(of_session, impossible_times);
	tcase_add_test(of_session, exit_has_session_time);
	suite_add_tcase(suite, of_session);
	return suite;
}
