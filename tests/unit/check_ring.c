/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rings with chosen records: what is read from them, and what a session makes of it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/unit/suites.h"
#include "vignetted/capture/timers.h"
#include "vignetted/session/account.h"
#include "vignetted/session/session.h"
#include "vignetted/session/timer_samples.h"

enum { RING_BYTES = 4096, PID = 100, TID = 101 };

static struct perf_event_mmap_page head;
static _Alignas(8) unsigned char data[RING_BYTES];
static struct vg_ring ring;
static struct vg_timers timers;

/* The ring begins shortly before the end of its memory, so that a record continues at the beginning. */
static void setup(void)
{
	memset(&head, 0, sizeof head);
	head.data_head = head.data_tail = RING_BYTES - 32;
	ring = (struct vg_ring){ .head = &head, .data = data, .data_bytes = RING_BYTES, .tail = head.data_tail };
	timers = (struct vg_timers){ .rings = &ring, .ring_count = 1, .pid = PID };
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
	struct vg_timer_record record;

	lost_add(5);
	exit_add(PID, TID, 2001);
	lost_add(7);
	ck_assert(vg_timers_next(&timers, &record));
	ck_assert_uint_eq(timers.lost, 5);
	ck_assert_uint_eq(record.kind, VG_TIMER_EXITED);
	ck_assert_uint_eq(record.time_ns, 2001);
	ck_assert_int_eq(record.tid, TID);
	ck_assert(!vg_timers_next(&timers, &record));
	ck_assert_uint_eq(timers.lost, 12);
	ck_assert_uint_eq(head.data_tail, head.data_head);
}
END_TEST

START_TEST(records_of_other_processes_are_skipped)
{
	struct vg_timer_record record;

	exit_add(PID + 1, TID, 2001);
	exit_add(PID, TID + 1, 3001);
	ck_assert(vg_timers_next(&timers, &record));
	ck_assert_int_eq(record.tid, TID + 1);
	ck_assert_uint_eq(record.time_ns, 3001);
	ck_assert_uint_eq(timers.lost, 0);
}
END_TEST

START_TEST(mapping_is_read)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t address, bytes, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char name[8];
		struct sample_id by;
	} mapping = { { .type = PERF_RECORD_MMAP2, .size = sizeof mapping }, PID, TID, 0x7000, 0x2000, 0x1000, 8, 1,
		      4711, 1, 5, 2, "/x", { PID, TID, 2001 } };
	struct vg_timer_record record;

	record_add(&mapping, sizeof mapping);
	ck_assert(vg_timers_next(&timers, &record));
	ck_assert_uint_eq(record.kind, VG_TIMER_MAPPED);
	ck_assert_int_eq(record.tid, TID);
	ck_assert_uint_eq(record.mapped.time_ns, 2001);
	ck_assert_uint_eq(record.mapped.address, 0x7000);
	ck_assert_uint_eq(record.mapped.bytes, 0x2000);
	ck_assert_uint_eq(record.mapped.device, makedev(8, 1));
	ck_assert_uint_eq(record.mapped.inode, 4711);
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
	const struct vg_timers of_copy = { .current = &ring, .stack_bytes = 1024 };
	const struct vg_timer_record record = {
		.sample = { .stack_at = RING_BYTES - 64, .stack_bytes = copies[_i].copied_bytes },
	};
	size_t bytes = copies[_i].copied_bytes < copies[_i].want_bytes ? copies[_i].copied_bytes : copies[_i].want_bytes;
	struct vg_snapshot snapshot = { 0 };

	for (size_t i = 0; i < RING_BYTES; i++)
		data[i] = (unsigned char)(i / 8);
	/* The row without a stack copies nothing to NULL, which sanitizers report if memcpy(3) gets it. */
	ck_assert_int_eq(vg_timers_snapshot(&of_copy, &record, copies[_i].want_bytes, &snapshot), 0);
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
	enum { WORDS = VG_KERNEL_FRAMES_MAX + 4, REGISTERS = 17, SP_AT = 7, PC_AT = 8 };
	const uint64_t kernel_at = UINT64_C(0xffffffff81000000);
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t time_ns, words, callchain[WORDS], abi, registers[REGISTERS], stack_bytes;
	} sample = { { .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_KERNEL, .size = sizeof sample }, PID, TID,
		     2001, WORDS, { (uint64_t)PERF_CONTEXT_KERNEL }, PERF_SAMPLE_REGS_ABI_64, { 0 }, 0 };
	uint64_t addresses[VG_KERNEL_FRAMES_MAX];
	struct vg_timer_record record;

	ck_assert_int_eq(__builtin_popcountll(vg_regs_perf_mask), REGISTERS);
	for (uint64_t i = 0; i < REGISTERS; i++)
		sample.registers[i] = 100 + i;
	for (uint64_t i = 1; i < WORDS; i++)
		sample.callchain[i] = kernel_at + 16 * i;
	sample.callchain[2] = (uint64_t)PERF_CONTEXT_KERNEL;
	record_add(&sample, sizeof sample);
	sample.words = UINT64_MAX;
	record_add(&sample, sizeof sample);
	timers.kernel_frames = true;
	ck_assert(vg_timers_next(&timers, &record));
	ck_assert(record.kind == VG_TIMER_SAMPLE && record.sample.readable);
	ck_assert(record.sample.in_kernel && record.tid == TID && record.sample.stack_bytes == 0);
	ck_assert_uint_eq(vg_regs_sp(&record.sample.regs), 100 + SP_AT);
	ck_assert_uint_eq(vg_regs_pc(&record.sample.regs), 100 + PC_AT);
	ck_assert_uint_eq(vg_timers_kernel_frames(&timers, &record, addresses), VG_KERNEL_FRAMES_MAX);
	ck_assert_uint_eq(addresses[0], kernel_at + 16);
	ck_assert_uint_eq(addresses[1], kernel_at + 16 * 3 - 1);
	ck_assert(vg_timers_next(&timers, &record));
	ck_assert(!record.sample.readable);
	ck_assert_int_eq(record.tid, TID);
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

/* Timers are opened again when the recordings change, and closed when they cannot be opened.  Counts since the
 * session's begin go on. */
START_TEST(counts_go_on_when_timers_are_closed)
{
	struct vg_timers reopened = { .samples = 5, .lost = 7, .kernel_frames = true };

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(vg_timers_open(&reopened, PID, NULL, 0, PERIOD_NS, 0), 0);
		vg_timers_close(&reopened);
		ck_assert_uint_eq(reopened.samples, 5);
		ck_assert_uint_eq(reopened.lost, 7);
		ck_assert(reopened.kernel_frames);
	}
}
END_TEST

#ifdef __x86_64__
/* A function without a caller. */
__asm__(".text\nring_bottom: .cfi_startproc\n .cfi_undefined rip\n nop\n nop\n .cfi_endproc\n");
extern const char ring_bottom[];

/* Adds a sample of a thread in that function, with an empty stack. */
static void walked_sample_add(uint64_t session_ns)
{
	enum { REGISTERS_MAX = 64 };
	uint64_t registers = (uint64_t)__builtin_popcountll(vg_regs_perf_mask), value[REGISTERS_MAX];
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t time_ns, abi, values[REGISTERS_MAX + 1];
	} record = { { .type = PERF_RECORD_SAMPLE }, PID, TID, session.begin_ns + session_ns, PERF_SAMPLE_REGS_ABI_64,
		     { 0 } };
	struct vg_regs regs;

	/* Find the register that is the program counter. */
	for (uint64_t i = 0; i < registers; i++) {
		memset(value, 0, sizeof value);
		value[i] = (uint64_t)ring_bottom;
		vg_regs_from_perf(&regs, value);
		if (vg_regs_pc(&regs) == (uint64_t)ring_bottom)
			record.values[i] = (uint64_t)ring_bottom;
	}
	record.header.size = (uint16_t)(offsetof(typeof(record), values) + (registers + 1) * sizeof *record.values);
	record_add(&record, record.header.size);
}

/* A timer sample shows that timers work, after stops because they seemed not to.  It may be older than a repeat, which
 * the thread got when it waited: a profile has samples in the order of their times. */
START_TEST(sample_after_stops)
{
	struct vg_recording *recording = &session.recordings[0];
	struct vg_task *task = &session.tasks.live.items[0];
	const struct vg_thread thread = { .id = VG_NONE, .tid = TID };
	const uint64_t repeat_ns = 9 * SECOND_NS;
	uint64_t unsampled_ns = UINT64_MAX;
	const struct vg_weight_pair weights = { .own = { .wall_ns = 1000 } };
	int fd = memfd_create("profile", MFD_CLOEXEC);

	session.live = task->in_profiles = 1;
	recording->options.max_frames = 64;
	vg_recorder_open(&recording->recorder, fd, 0, UINT64_MAX, &session.modules);
	session.modules.memory = &session.memory;
	session.walker = (struct vg_walker){
		.modules = &session.modules, .memory = &session.memory, .tasks = &session.tasks,
		.priority = &session.tracer.priority, .max_frames = 64,
	};
	ck_assert_int_eq(vg_memory_open(&session.memory, getpid()), 0);
	ck_assert_int_eq(vg_modules_refresh(&session.modules), 0);
	session.modules_generation_reported = session.modules.generation;
	ck_assert_int_eq(vg_walker_open(&session.walker), 0);
	vg_account_begin(recording, task, thread, 0, 0, &unsampled_ns);
	vg_account_repeat(recording, task, 1, repeat_ns, &weights);
	task->timers.kernel_stops = 8;
	task->timers.silent = true;
	walked_sample_add(repeat_ns - 1000);
	vg_timer_samples_fetch(&session);
	ck_assert_uint_eq(recording->recorder.samples, 2);
	ck_assert_uint_eq(recording->recorder.stacks_complete, 1);
	ck_assert_uint_eq(task->accounts[0].pending.time_ns, repeat_ns);
	ck_assert_uint_eq(task->timers.kernel_stops, 0);
	ck_assert(!task->timers.silent);
	vg_walker_close(&session.walker);
	vg_modules_free(&session.modules);
	vg_memory_free(&session.memory);
	vg_recorder_free(&recording->recorder);
	close(fd);
}
END_TEST
#endif

/* All pages of a ring are unmapped: those of the data, and the page before them. */
START_TEST(unmapped_ring_has_no_page)
{
	unsigned char state;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	unsigned char *pages = mmap(NULL, 4096 + RING_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	timers.rings = malloc(sizeof *timers.rings);
	timers.rings[0] = (struct vg_ring){
		.head = (struct perf_event_mmap_page *)pages, .data_bytes = RING_BYTES, .fd = fd,
	};
	vg_timers_close(&timers);
	ck_assert_ptr_null(timers.rings);
	for (size_t at = 0; at < 4096 + RING_BYTES; at += 4096)
		ck_assert(mincore(pages + at, 4096, &state) != 0 && errno == ENOMEM);
	ck_assert_int_ne(fcntl(fd, F_GETFD), 0);
}
END_TEST

Suite *ring_suite(void)
{
	Suite *suite = suite_create("ring");
	TCase *tests = tcase_create("ring"), *of_session = tcase_create("session");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, lost_samples_are_counted);
	tcase_add_test(tests, records_of_other_processes_are_skipped);
	tcase_add_test(tests, mapping_is_read);
	tcase_add_loop_test(tests, snapshot_of_a_part_of_the_copy, 0, sizeof copies / sizeof *copies);
	tcase_add_test(tests, kernel_frames);
	tcase_add_test(tests, counts_go_on_when_timers_are_closed);
	tcase_add_test(tests, unmapped_ring_has_no_page);
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(of_session, session_setup, session_teardown);
	tcase_add_loop_test(of_session, samples_before_a_recording, 0, sizeof samples / sizeof *samples);
	tcase_add_test(of_session, impossible_times);
	tcase_add_test(of_session, exit_has_session_time);
#ifdef __x86_64__
	tcase_add_test(of_session, sample_after_stops);
#endif
	suite_add_tcase(suite, of_session);
	return suite;
}
