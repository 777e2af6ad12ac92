/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"
#include "vignetted/output/flight.h"
#include "vignetted/session/dumps.h"
#include "vignetted/target/events.h"

/* The set of open intervals, compared with a simple model. Then the flight recorder with more samples and events than
 * it can keep. */

enum { ROUNDS = 200000, TOKENS = 512, SECOND = 1000000000, CPU_NS = 70013 };

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

START_TEST(open_intervals)
{
	struct vg_open_intervals open = { .max = TOKENS };
	bool present[TOKENS] = { false };
	size_t count = 0;
	uint32_t state = (uint32_t)_i + 1;

	for (int round = 0; round < ROUNDS; round++) {
		uint32_t at = random_next(&state) % TOKENS;
		struct vg_open_interval begin = { { .time_ns = at, .token = (at + 1) << 8 | at % 3 }, 0 };

		if (random_next(&state) % 2 == 0) {
			often_assert(vg_open_intervals_add(&open, &begin));
			count += !present[at];
			present[at] = true;
		} else {
			vg_open_intervals_remove(&open, begin.event.token);
			count -= present[at];
			present[at] = false;
		}
		often_assert_eq(open.count, count);
		if (round % 1000 == 0) {
			struct vg_open_interval *list = vg_open_intervals_list(&open);

			for (size_t i = 0; i < count; i++) {
				often_assert(present[list[i].event.time_ns]);
				often_assert_eq(list[i].event.token >> 8, list[i].event.time_ns + 1);
				often_assert(i == 0 || list[i - 1].event.time_ns < list[i].event.time_ns);
			}
			free(list);
		}
	}
	open.max = open.count;
	ck_assert(!vg_open_intervals_add(&open, &(struct vg_open_interval){ { .token = 1u << 30 }, 0 }));
	vg_open_intervals_free(&open);
}
END_TEST

/* The longest run of used slots: a lookup probes at most that many. */
static size_t longest_run(const struct vg_open_intervals *open)
{
	size_t run = 0, longest = 0;

	for (size_t i = 0; i < 2 * open->size; i++) {
		run = open->slots[i % open->size].event.token != 0 ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	return longest;
}

/* A program may choose its tokens. Once, the slot of a token was the upper half of its product with 0x9e3779b97f4a7c15.
 * The tokens of this test are multiples of the inverse of that number: the upper half of each product is 0. */
START_TEST(chosen_tokens_do_not_collide)
{
	enum { CHOSEN = 20000 };
	struct vg_open_intervals open = { .max = CHOSEN };
	uint64_t inverse = 1;

	/* Newton's iteration. Each step doubles the number of correct low bits. */
	for (int i = 0; i < 6; i++)
		inverse *= 2 - UINT64_C(0x9e3779b97f4a7c15) * inverse;
	for (uint64_t i = 1; i <= CHOSEN; i++) {
		struct vg_open_interval begin = { { .token = i * inverse }, 0 };

		ck_assert(vg_open_intervals_add(&open, &begin));
	}
	ck_assert_uint_eq(open.count, CHOSEN);
	ck_assert_uint_le(longest_run(&open), 1000);
	for (uint64_t i = 1; i <= CHOSEN; i++)
		vg_open_intervals_remove(&open, i * inverse);
	ck_assert_uint_eq(open.count, 0);
	vg_open_intervals_free(&open);
}
END_TEST

/* ---- the recorder ---- */

struct fixture_flight {
	struct vg_recorder recorder;
	struct vg_flight flight;
	_Atomic uint32_t stalls_written;
	uint32_t stacks, samples;
};

static const struct vg_writer_header header = {
	.period_ns = 1000000, .mode = "wall", .writer = "w", .arch = "x86_64", .program = "demo",
};

/* What a segment needs: a module, a thread and a label. */
static void definitions_write(struct fixture_flight *fixed)
{
	const struct vg_module module = { .id = 3, .base = 0x1000, .size_bytes = 0x1000 };
	const struct vg_thread thread = { .id = 0, .tid = 77 };

	vg_writer_module(&fixed->recorder.writer, &module, "libx.so");
	vg_writer_thread(&fixed->recorder.writer, &thread, "main");
	vg_writer_label(&fixed->recorder.writer, 5, "load", 4);
}

static void flight_open(struct fixture_flight *fixed, uint64_t window_ns, uint64_t memory_bytes)
{
	memset(fixed, 0, sizeof *fixed);
	fixed->stacks = VG_STACK_ROOTS;
	vg_recorder_open(&fixed->recorder, -1, 1, UINT64_MAX, NULL);
	vg_flight_open(&fixed->flight, &fixed->recorder, &header, window_ns, memory_bytes);
	fixed->flight.stalls_written = &fixed->stalls_written;
	ck_assert_uint_eq(vg_writer_thread_id(&fixed->recorder.writer), 0);
	definitions_write(fixed);
}

static void flight_close(struct fixture_flight *fixed)
{
	vg_flight_close(&fixed->flight);
	vg_recorder_free(&fixed->recorder);
}

/* The state of each segment is one instant with a value of its own. */
static void segment_begin_if_due(struct fixture_flight *fixed, uint64_t now_ns)
{
	struct vg_writer_event instant = {
		.type = VG_EVENT_INSTANT, .kind = VG_NONE, .label = VG_NONE, .time_ns = now_ns, .value = now_ns,
	};

	if (!vg_flight_segment_due(&fixed->flight, now_ns))
		return;
	vg_flight_segment_begin(&fixed->flight, now_ns);
	vg_writer_event(&fixed->recorder.writer, &instant);
	vg_flight_state_end(&fixed->flight);
	definitions_write(fixed);
	vg_flight_definitions_end(&fixed->flight);
}

static void stack_write(struct fixture_flight *fixed, uint32_t parent, uint32_t module, uint64_t address)
{
	vg_writer_stack(&fixed->recorder.writer, fixed->stacks++, parent, module, address, VG_FOUND_BY_CFI);
}

/* A sample with a stack of two frames. The frames' addresses are computed from the time. */
static void sample_write(struct fixture_flight *fixed, uint64_t time_ns)
{
	struct vg_writer_sample sample = { .count = 1, .time_ns = time_ns, .wall_ns = 1000000, .cpu_ns = CPU_NS };

	segment_begin_if_due(fixed, time_ns);
	stack_write(fixed, VG_WALK_ROOT, 3, time_ns / 1000000);
	stack_write(fixed, fixed->stacks - 1, VG_NONE, time_ns / 1000000 + 1);
	sample.stack = fixed->stacks - 1;
	vg_writer_sample(&fixed->recorder.writer, &sample);
	fixed->recorder.stacks_complete++;
	fixed->samples++;
}

static int fd_open(struct fixture *fixture)
{
	fixture_open(fixture);
	return fixture->fd;
}

static int dump_begin(struct fixture_flight *fixed, struct fixture *fixture, uint64_t now_ns, bool continues)
{
	return vg_flight_dump_begin(&fixed->flight, continues ? VG_DUMP_STALL : VG_DUMP_FINAL, fd_open(fixture), now_ns);
}

static void fixture_read_dump(struct fixture *fixture)
{
	off_t length = lseek(fixture->fd, 0, SEEK_END);
	unsigned char *bytes = malloc((size_t)length + 1);

	ck_assert_int_eq(pread(fixture->fd, bytes, (size_t)length, 0), length);
	ck_assert_int_eq(fixture_read_bytes(fixture, bytes, (size_t)length), 0);
	ck_assert_uint_eq(fixture->profile.damage.count, 0);
	ck_assert_uint_eq(fixture->profile.samples_without_stack, 0);
}

/* Samples are 1 ms apart, from the begin of the window on. */
static void window_check(const struct fixture *fixture, uint64_t to_ns)
{
	const struct vg_profile *profile = &fixture->profile;
	uint64_t expect_ns = profile->header.window_begin_ns, cpu_ns = 0;

	for (size_t i = 0; i < profile->samples.count; i++, expect_ns += 1000000) {
		const struct vg_sample *sample = &profile->samples.items[i];
		const struct vg_stack *leaf = &profile->stacks.items[sample->stack];

		ck_assert_uint_eq(sample->time_ns, expect_ns);
		ck_assert_uint_eq(sample->wall_ns, 1000000);
		ck_assert_uint_eq(leaf->address, expect_ns / 1000000 + 1);
		ck_assert_uint_eq(leaf->depth, 2);
		ck_assert_uint_eq(profile->stacks.items[leaf->parent].address, expect_ns / 1000000);
		ck_assert_uint_eq(sample->end, VG_WALK_ROOT);
		cpu_ns += sample->cpu_ns;
	}
	ck_assert_uint_eq(expect_ns, to_ns + 1000000);
	ck_assert_uint_lt(cpu_ns + VG_CPU_UNIT_NS - profile->samples.count * CPU_NS, 2 * VG_CPU_UNIT_NS);
}

/* The recorder gets 10 s of samples at 1 kHz, and keeps 2 s at least, and one segment more at most. Samples that arrive
 * while the dump is written are not in the dump, and are not lost. */
START_TEST(window_of_a_dump)
{
	const uint64_t window_ns = 2 * (uint64_t)SECOND;
	struct fixture fixture;
	struct fixture_flight fixed;
	uint64_t time_ns = 0;

	flight_open(&fixed, window_ns, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	for (; time_ns <= 10 * (uint64_t)SECOND + 300000000; time_ns += 1000000)
		sample_write(&fixed, time_ns);
	for (int i = 0; i < 2; i++) {
		time_ns -= 1000000;
		ck_assert_int_eq(dump_begin(&fixed, &fixture, time_ns, false), 0);
		for (uint64_t later_ns = time_ns; later_ns < time_ns + 5 * (uint64_t)SECOND;) {
			sample_write(&fixed, later_ns += 1000000);
			if (later_ns % 500000000 == 0)
				vg_flight_dump_run(&fixed.flight, 1);
		}
		ck_assert_int_eq(vg_flight_dump_end(&fixed.flight, "asked for"), 0);
		fixture_read_dump(&fixture);
		window_check(&fixture, time_ns);
		ck_assert_uint_le(fixture.profile.header.window_begin_ns, time_ns - window_ns);
		ck_assert_uint_ge(fixture.profile.header.window_begin_ns, time_ns - window_ns - SECOND);
		ck_assert_uint_eq(fixed.flight.dump.samples, fixture.profile.samples_total);
		ck_assert_uint_eq(fixed.flight.dump.stacks_complete, fixture.profile.samples_total);
		ck_assert_uint_eq(fixed.flight.dump.threads, 1);
		/* Of the segments' states, the dump has the first. */
		ck_assert_uint_eq(fixture.profile.events.count, 1);
		ck_assert_uint_eq(fixture.profile.events.items[0].value, fixture.profile.header.window_begin_ns);
		ck_assert_uint_eq(fixed.flight.dump.events, 1);
		ck_assert_uint_eq(fixture.profile.modules.count, 1);
		ck_assert_uint_eq(fixture.profile.threads.count, 1);
		ck_assert_int_eq(fixture.profile.threads.items[0].tid, 77);
		ck_assert_uint_eq(fixture.profile.duration_ns, time_ns);
		ck_assert_uint_eq(fixed.flight.dropped, 0);
		fixture_close(&fixture);
		time_ns += 5 * (uint64_t)SECOND + 1000000;
	}
	flight_close(&fixed);
}
END_TEST

/* The state of a segment has the intervals that are open, also those of threads that have ended. */
START_TEST(state_has_open_intervals)
{
	static struct vg_events events;
	struct vg_events_profile *out = &events.profiles[0];
	const struct { enum vg_event_type type; uint64_t time_ns, token; uint32_t thread; } begins[] = {
		{ VG_EVENT_BEGIN, 1000, 0x100, 0 }, { VG_EVENT_DETACHED_BEGIN, 2000, 0x200, 1 },
	};
	const struct vg_thread other = { .id = 1, .tid = 78 };
	struct vg_thread later = { .tid = 99 };
	struct fixture fixture;
	struct fixture_flight fixed;

	flight_open(&fixed, SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	out->writer = &fixed.recorder.writer;
	out->open.max = 10;
	ck_assert_uint_eq(vg_writer_thread_id(out->writer), 1);
	vg_writer_thread(out->writer, &other, "other");
	for (size_t i = 0; i < 2; i++) {
		struct vg_writer_event event = {
			.type = begins[i].type, .thread = begins[i].thread, .kind = VG_NONE, .label = VG_NONE,
			.time_ns = begins[i].time_ns, .token = begins[i].token,
		};

		ck_assert(vg_open_intervals_add(&out->open, &(struct vg_open_interval){ event, 77 + (pid_t)i }));
		vg_writer_event(out->writer, &event);
	}
	vg_writer_thread_end(out->writer, 1, 3000);
	/* After five segments of a second the first is dropped. */
	for (uint64_t time_ns = SECOND; time_ns <= 5 * (uint64_t)SECOND; time_ns += SECOND) {
		vg_flight_segment_begin(&fixed.flight, time_ns);
		vg_events_state_write(&events, 0);
		vg_flight_state_end(&fixed.flight);
		definitions_write(&fixed);
		vg_flight_definitions_end(&fixed.flight);
		/* The ids of threads whose segments were dropped are used again. */
		if (time_ns == 3 * (uint64_t)SECOND)
			later.id = vg_writer_thread_id(out->writer);
		if (time_ns >= 3 * (uint64_t)SECOND)
			vg_writer_thread(out->writer, &later, "later");
	}
	ck_assert_uint_le(later.id, 2);
	ck_assert_int_eq(dump_begin(&fixed, &fixture, 5 * (uint64_t)SECOND, false), 0);
	ck_assert_int_eq(vg_flight_dump_end(&fixed.flight, "asked for"), 0);
	fixture_read_dump(&fixture);
	ck_assert_uint_eq(fixture.profile.header.window_begin_ns, 4 * (uint64_t)SECOND);
	ck_assert_uint_eq(fixture.profile.events.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct vg_event *event = &fixture.profile.events.items[i];

		ck_assert_uint_eq(event->type, begins[i].type);
		ck_assert_uint_eq(event->time_ns, begins[i].time_ns);
		ck_assert_int_eq(fixture.profile.threads.items[event->thread].tid, 77 + (pid_t)i);
	}
	fixture_close(&fixture);
	vg_open_intervals_free(&out->open);
	flight_close(&fixed);
}
END_TEST

/* A dump has the losses of its window. */
START_TEST(losses_of_a_dump)
{
	struct fixture fixture;
	struct fixture_flight fixed;

	flight_open(&fixed, SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	fixed.recorder.losses.events = 3;
	for (uint64_t time_ns = 0; time_ns <= 4 * (uint64_t)SECOND; time_ns += 1000000)
		sample_write(&fixed, time_ns);
	fixed.recorder.losses.events = 5;
	ck_assert_int_eq(dump_begin(&fixed, &fixture, 4 * (uint64_t)SECOND, false), 0);
	fixed.recorder.losses.events = 11;
	ck_assert_int_eq(vg_flight_dump_end(&fixed.flight, "asked for"), 0);
	fixture_read_dump(&fixture);
	ck_assert_uint_eq(vg_profile_count(&fixture.profile, &fixture.profile.lost, "events_dropped")->value, 2);
	fixture_close(&fixture);
	flight_close(&fixed);
}
END_TEST

/* A dump of a stall continues until it is stopped. */
START_TEST(dump_continues_until_stopped)
{
	const uint64_t request_ns = 4 * (uint64_t)SECOND, stop_ns = 5 * (uint64_t)SECOND;
	struct fixture fixture;
	struct fixture_flight fixed;

	flight_open(&fixed, 10 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	sample_write(&fixed, request_ns);
	ck_assert_int_eq(dump_begin(&fixed, &fixture, request_ns, true), 0);
	sample_write(&fixed, stop_ns - 1000000);
	vg_flight_dump_run(&fixed.flight, 100);
	sample_write(&fixed, stop_ns);
	vg_flight_dump_stop(&fixed.flight, stop_ns);
	sample_write(&fixed, stop_ns + 1000000);
	vg_flight_dump_stop(&fixed.flight, stop_ns + 2000000);
	vg_flight_dump_note(&fixed.flight, 0, "over", stop_ns, 7);
	ck_assert_int_eq(vg_flight_dump_end(&fixed.flight, "over"), 0);
	fixture_read_dump(&fixture);
	ck_assert_uint_eq(fixture.profile.duration_ns, stop_ns);
	ck_assert_uint_eq(fixture.profile.samples.count, 3);
	ck_assert_uint_eq(fixture.profile.events.count, 1);
	ck_assert_str_eq(vg_profile_text(&fixture.profile, fixture.profile.events.items[0].label), "over");
	ck_assert_uint_eq(fixture.profile.events.items[0].value, 7);
	fixture_close(&fixture);
	flight_close(&fixed);
}
END_TEST

static int stall_fd;
static off_t counted_bytes;

static void file_size_note(void)
{
	counted_bytes = lseek(stall_fd, 0, SEEK_END);
}

/* The program renames the file of a stall when the stall is counted. */
START_TEST(stall_is_counted_after_its_file)
{
	struct fixture_flight fixed;
	struct fixture fixture;
	struct vg_lanes *lanes = mmap(NULL, sizeof *lanes, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(lanes, MAP_FAILED);
	flight_open(&fixed, SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	fixed.flight.stalls_written = &lanes->stalls_written;
	ck_assert_int_eq(dump_begin(&fixed, &fixture, SECOND, true), 0);
	stall_fd = fixture.fd;
	vg_flight_dump_stop(&fixed.flight, SECOND);
	fixture_before_write(lanes, sizeof *lanes, file_size_note);
	ck_assert_int_eq(vg_flight_dump_end(&fixed.flight, "over"), 0);
	ck_assert_uint_eq(lanes->stalls_written, 1);
	ck_assert_int_eq(counted_bytes, lseek(stall_fd, 0, SEEK_END));
	munmap(lanes, sizeof *lanes);
	fixture_close(&fixture);
	flight_close(&fixed);
}
END_TEST

static int reported_peer, reported_rc;

static void dump_report_note(int peer, const struct vg_dump *dump, int rc)
{
	ck_assert_uint_gt(dump->samples, 0);
	reported_peer = peer;
	reported_rc = rc;
}

/* The host may request a dump after the recording's end, and then leave. The dump is complete, and its peer has an
 * answer. */
START_TEST(close_ends_a_requested_dump)
{
	struct fixture_flight fixed;
	struct fixture fixture;
	int fd;

	flight_open(&fixed, SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	for (uint64_t time_ns = 0; time_ns <= SECOND; time_ns += 1000000)
		sample_write(&fixed, time_ns);
	fd = dup(fd_open(&fixture));
	ck_assert_int_ge(fd, 0);
	fixed.flight.done = dump_report_note;
	fixed.flight.peer = 7;
	ck_assert_int_eq(vg_flight_dump_begin(&fixed.flight, VG_DUMP_REQUESTED, fd, SECOND), 0);
	flight_close(&fixed);
	ck_assert_int_eq(reported_peer, 7);
	ck_assert_int_eq(reported_rc, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	fixture_read_dump(&fixture);
	ck_assert_uint_eq(fixture.profile.samples_total, fixed.samples);
	fixture_close(&fixture);
}
END_TEST

/* A dump that cannot be written costs no memory, and the flight recorder goes on. */
START_TEST(dump_to_a_full_disk)
{
	struct fixture_flight fixed;
	struct fixture fixture;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(full, 0);
	flight_open(&fixed, 10 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	for (uint64_t time_ns = 0; time_ns <= 10 * (uint64_t)SECOND; time_ns += 1000000)
		sample_write(&fixed, time_ns);
	ck_assert_int_eq(vg_flight_dump_begin(&fixed.flight, VG_DUMP_FINAL, full, 10 * (uint64_t)SECOND), -ENOSPC);
	vg_flight_dump_run(&fixed.flight, SIZE_MAX);
	ck_assert_uint_le(fixed.flight.dump.writer.buffer.alloc, 64 * 1024);
	ck_assert_int_eq(vg_flight_dump_end(&fixed.flight, "asked for"), -ENOSPC);
	close(full);
	ck_assert_int_eq(dump_begin(&fixed, &fixture, 10 * (uint64_t)SECOND, false), 0);
	ck_assert_int_eq(vg_flight_dump_end(&fixed.flight, "asked for"), 0);
	fixture_read_dump(&fixture);
	window_check(&fixture, 10 * (uint64_t)SECOND);
	fixture_close(&fixture);
	flight_close(&fixed);
}
END_TEST

/* The recorder gets more samples than its memory can hold. It keeps the newest and counts the dropped ones. Samples
 * that a dump still needs are written before they are dropped. */
START_TEST(memory_is_bounded)
{
	struct fixture fixture;
	struct fixture_flight fixed;
	uint64_t time_ns, begun_ns, kept;

	flight_open(&fixed, 3600 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_MIN_BYTES);
	for (time_ns = 0; fixed.samples < 200000; time_ns += 1000000)
		sample_write(&fixed, time_ns);
	begun_ns = time_ns -= 1000000;
	ck_assert_uint_gt(fixed.flight.dropped, 10000);
	ck_assert_uint_le(fixed.flight.chunks_bytes, VG_FLIGHT_MEMORY_MIN_BYTES);
	ck_assert_int_eq(dump_begin(&fixed, &fixture, begun_ns, false), 0);
	kept = begun_ns - fixed.flight.dump.window_begin_ns;
	while (fixed.samples < 400000)
		sample_write(&fixed, time_ns += 1000000);
	ck_assert_int_eq(vg_flight_dump_end(&fixed.flight, "asked for"), 0);
	fixture_read_dump(&fixture);
	ck_assert_uint_gt(kept, 1000 * (uint64_t)1000000);
	window_check(&fixture, begun_ns);
	fixture_close(&fixture);
	flight_close(&fixed);
}
END_TEST

/* The definitions of many threads need more than a segment's share of the memory. They are not a reason for the next
 * segment, which would have them, too. */
START_TEST(many_definitions_make_no_segment_due)
{
	struct fixture_flight fixed;

	flight_open(&fixed, 3600 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_MIN_BYTES);
	vg_flight_segment_begin(&fixed.flight, SECOND);
	vg_flight_state_end(&fixed.flight);
	for (uint32_t i = 0; i < 10000; i++)
		vg_writer_thread(&fixed.recorder.writer, &(struct vg_thread){ .id = i, .tid = (int32_t)i }, "worker");
	ck_assert(vg_flight_segment_due(&fixed.flight, SECOND + 1));
	vg_flight_definitions_end(&fixed.flight);
	ck_assert(!vg_flight_segment_due(&fixed.flight, SECOND + 1));
	flight_close(&fixed);
}
END_TEST

/* Stacks are so deep that a few of them fill a chunk. */
START_TEST(memory_of_deep_stacks_is_bounded)
{
	enum { DEPTH = 3000, SAMPLES = 200 };
	struct vg_writer_sample sample = { .count = 1, .wall_ns = 1000000 };
	struct fixture_flight fixed;

	flight_open(&fixed, 3600 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_MIN_BYTES);
	for (int i = 0; i < SAMPLES; i++) {
		sample.time_ns = (uint64_t)i * 1000000;
		segment_begin_if_due(&fixed, sample.time_ns);
		for (uint32_t depth = 0; depth < DEPTH; depth++)
			stack_write(&fixed, depth == 0 ? VG_WALK_ROOT : fixed.stacks - 1, VG_NONE, depth);
		sample.stack = fixed.stacks - 1;
		vg_writer_sample(&fixed.recorder.writer, &sample);
		ck_assert_uint_le(fixed.flight.chunks_bytes, VG_FLIGHT_MEMORY_MIN_BYTES);
	}
	ck_assert_uint_gt(fixed.flight.dropped, 0);
	flight_close(&fixed);
}
END_TEST

static void chunk_drop(void *taker, const void *payload, size_t bytes)
{
	(void)taker, (void)payload, (void)bytes;
}

/* The chunk with a thread's end must be dropped before its id is used again. */
START_TEST(id_of_an_ended_thread)
{
	const struct vg_thread thread = { .id = 0, .tid = 77 };
	struct vg_writer writer;

	vg_writer_open(&writer, -1, 0);
	writer.take = chunk_drop;
	ck_assert_uint_eq(vg_writer_thread_id(&writer), 0);
	vg_writer_thread(&writer, &thread, "main");
	vg_writer_flush(&writer);
	vg_writer_thread_end(&writer, 0, 1000);
	vg_writer_flush(&writer);
	writer.reuse_before = 1;
	ck_assert_uint_eq(vg_writer_thread_id(&writer), 1);
	writer.reuse_before = 2;
	ck_assert_uint_eq(vg_writer_thread_id(&writer), 0);
	ck_assert_uint_eq(vg_writer_thread_id(&writer), 2);
	vg_writer_close(&writer);
}
END_TEST

/* Creates threads that end at once, every 0.1 ms. */
static void threads_come_and_go(struct fixture_flight *fixed, int32_t first_tid, int32_t end_tid)
{
	for (int32_t tid = first_tid; tid < end_tid; tid++) {
		struct vg_thread thread = { .tid = tid, .begin_ns = (uint64_t)tid * 100000 };

		segment_begin_if_due(fixed, thread.begin_ns);
		thread.id = vg_writer_thread_id(&fixed->recorder.writer);
		vg_writer_thread(&fixed->recorder.writer, &thread, "short-lived");
		vg_writer_thread_end(&fixed->recorder.writer, thread.id, thread.begin_ns);
		vg_writer_thread_end(&fixed->recorder.writer, thread.id, thread.begin_ns);
	}
}

/* Thousands of threads are created and exit. Their ids are used again, but not by two threads of one dump, also if it
 * continues while the threads come and go. */
START_TEST(threads_of_a_dump_have_ids_of_their_own)
{
	enum { FIRST = 1000, BEFORE = 200000, DURING = 50000 };
	const int32_t end = FIRST + BEFORE + (_i == 1 ? DURING : 0);
	int32_t lowest = INT32_MAX;
	struct fixture fixture;
	struct fixture_flight fixed;

	flight_open(&fixed, SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	threads_come_and_go(&fixed, FIRST, FIRST + BEFORE);
	ck_assert_uint_le(fixed.recorder.writer.threads.count, 40000);
	ck_assert_uint_le(fixed.recorder.writer.ended.capacity, 131072);
	ck_assert_int_eq(dump_begin(&fixed, &fixture, (FIRST + BEFORE) * (uint64_t)100000, _i == 1), 0);
	threads_come_and_go(&fixed, FIRST + BEFORE, end);
	vg_flight_dump_stop(&fixed.flight, end * (uint64_t)100000);
	ck_assert_int_eq(vg_flight_dump_end(&fixed.flight, "asked for"), 0);
	fixture_read_dump(&fixture);
	for (size_t i = 0; i < fixture.profile.threads.count; i++) {
		const struct vg_thread *thread = &fixture.profile.threads.items[i];

		if (thread->tid == 77)
			continue;
		ck_assert_uint_eq(thread->begin_ns, (uint64_t)thread->tid * 100000);
		lowest = thread->tid < lowest ? thread->tid : lowest;
	}
	ck_assert_int_le(lowest, FIRST + BEFORE - 10000);
	ck_assert_uint_eq(fixture.profile.threads.count, 1 + (size_t)(end - lowest));
	fixture_close(&fixture);
	flight_close(&fixed);
}
END_TEST

/* A stall begins when the heartbeat is older than the limit, and ends at another heartbeat, or when none is due. */
START_TEST(watchdog_notices_stalls)
{
	const uint64_t limit_ns = 300, beats_ns[] = { 1000, 1200, 1500 };
	struct vg_watchdog watchdog = { 0 };

	/* Without a limit there are no stalls. */
	ck_assert_int_eq(vg_watchdog_check(&watchdog, 1, UINT64_MAX), VG_WATCH_OK);
	ck_assert(!vg_watchdog_add(&watchdog, 0, 0));
	watchdog.limit_ns = limit_ns;
	/* Before the first heartbeat, or while none is due */
	ck_assert_int_eq(vg_watchdog_check(&watchdog, 0, UINT64_MAX), VG_WATCH_OK);
	for (size_t i = 0; i < sizeof beats_ns / sizeof *beats_ns; i++)
		ck_assert_int_eq(vg_watchdog_check(&watchdog, beats_ns[i], beats_ns[i] + limit_ns), VG_WATCH_OK);
	/* A heartbeat that is later than the check */
	ck_assert_int_eq(vg_watchdog_check(&watchdog, 2000, 1999), VG_WATCH_OK);
	ck_assert_uint_eq(watchdog.stalls, 0);
	ck_assert_int_eq(vg_watchdog_check(&watchdog, 2000, 2000 + limit_ns + 1), VG_WATCH_STALL_BEGAN);
	ck_assert_int_eq(vg_watchdog_check(&watchdog, 2000, 9000), VG_WATCH_STALL_LASTS);
	ck_assert_int_eq(vg_watchdog_check(&watchdog, 9001, 9001), VG_WATCH_STALL_ENDED);
	ck_assert_int_eq(vg_watchdog_check(&watchdog, 9001, 9002), VG_WATCH_OK);
	ck_assert_int_eq(vg_watchdog_check(&watchdog, 9001, 9999), VG_WATCH_STALL_BEGAN);
	ck_assert_int_eq(vg_watchdog_check(&watchdog, 0, 10000), VG_WATCH_STALL_ENDED);
	ck_assert_int_eq(vg_watchdog_check(&watchdog, 0, UINT64_MAX), VG_WATCH_OK);
	ck_assert_uint_eq(watchdog.stalls, 2);
}
END_TEST

/* Each stall gets a file as long as there are files.  The watchdog owns all of them. */
START_TEST(watchdog_has_files)
{
	struct vg_watchdog watchdog = { 0 };
	int fds[VG_WIRE_WATCH_FILES];

	for (int i = 0; i < VG_WIRE_WATCH_FILES; i++) {
		fds[i] = dup(STDERR_FILENO);
		ck_assert(vg_watchdog_add(&watchdog, 300, fds[i]));
	}
	ck_assert(!vg_watchdog_add(&watchdog, 300, STDERR_FILENO));
	for (int i = 0; i < VG_WIRE_WATCH_FILES; i++)
		ck_assert_int_eq(vg_watchdog_file(&watchdog), fds[i]);
	ck_assert_int_eq(vg_watchdog_file(&watchdog), -1);
	vg_watchdog_close(&watchdog);
	ck_assert_int_eq(lseek(fds[0], 0, SEEK_CUR), -1);
	ck_assert_int_eq(errno, EBADF);
}
END_TEST

static struct {
	int calls, peer, rc;
} done;

static void done_note(int peer, const struct vg_dump *dump, int rc)
{
	(void)dump;
	done.calls++;
	done.peer = peer;
	done.rc = rc;
}

/* When a requested dump ends, its descriptor is closed, and its peer gets an answer, unless the peer has left. */
START_TEST(requested_dump_ends)
{
	static struct vg_flight flight;
	const int peer = _i == 0 ? 7 : -1;
	struct vg_recorder recorder;
	struct fixture fixture;
	int fd;

	vg_recorder_open(&recorder, -1, 1, UINT64_MAX, NULL);
	vg_flight_open(&flight, &recorder, &header, SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	fd = dup(fd_open(&fixture));
	flight.done = done_note;
	flight.peer = peer;
	ck_assert_int_eq(vg_flight_dump_begin(&flight, VG_DUMP_REQUESTED, fd, SECOND), 0);
	ck_assert_int_eq(vg_flight_dump_end(&flight, "over"), 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(done.calls, peer >= 0);
	ck_assert_int_eq(done.peer, peer >= 0 ? peer : 0);
	ck_assert_int_eq(done.rc, 0);
	ck_assert_int_eq(flight.purpose, VG_DUMP_NONE);
	fixture_close(&fixture);
	vg_flight_close(&flight);
	vg_recorder_free(&recorder);
}
END_TEST

/* The heartbeat stops while a requested dump is written.  The stall waits for the dump, whose peer waits for it. */
START_TEST(stall_during_a_requested_dump)
{
	static struct vg_session session;
	struct vg_recording *recording = &session.recordings[0];
	struct vg_flight *flight = &recording->flight;
	struct fixture fixture;

	session.open = 1;
	recording->begin_ns = session.begin_ns = vg_now_ns() - SECOND;
	recording->perf_map.directory = -1;
	vg_recorder_open(&recording->recorder, -1, 1, UINT64_MAX, NULL);
	session.events.shared = mmap(NULL, sizeof *session.events.shared, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(session.events.shared, MAP_FAILED);
	vg_flight_open(flight, &recording->recorder, &header, 1000 * (uint64_t)SECOND,
		       VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	/* more than a turn of vg_dumps_turn() writes */
	for (uint64_t i = 0; flight->chunks_bytes < 1 << 20; i++)
		ck_assert_int_eq(vg_writer_label(&recording->recorder.writer, (uint32_t)i, "label of a chunk", 16), 0);
	flight->done = done_note;
	flight->peer = 7;
	flight->reason = "requested";
	flight->watchdog.limit_ns = 1000;
	session.events.shared->heartbeat_ns = recording->begin_ns + 1;
	ck_assert_int_eq(vg_flight_dump_begin(flight, VG_DUMP_REQUESTED, dup(fd_open(&fixture)), SECOND), 0);
	vg_dumps_turn(&session);
	ck_assert_int_eq(flight->purpose, VG_DUMP_REQUESTED);
	ck_assert_uint_eq(flight->watchdog.stalls, 0);
	ck_assert(vg_dumps_busy(&session));
	while (flight->purpose == VG_DUMP_REQUESTED) {
		session.events.shared->heartbeat_ns = 0;
		vg_dumps_turn(&session);
	}
	ck_assert_int_eq(done.calls, 1);
	ck_assert_int_eq(done.peer, 7);
	ck_assert_int_eq(done.rc, 0);
	fixture_close(&fixture);
	vg_flight_close(flight);
	vg_recorder_free(&recording->recorder);
	munmap(session.events.shared, sizeof *session.events.shared);
}
END_TEST

/* A requested dump ends the dump of a stall, of which most is still to be written.  It says that the heartbeat is late,
 * as does the dump of a stall that the end of the recording ends. */
START_TEST(stall_that_another_dump_ends)
{
	static struct vg_session session;
	struct vg_task task = { .tid = 77, .files = { -1, -1 }, .in_profiles = 1 };
	struct vg_recording *recording = &session.recordings[0];
	struct vg_flight *flight = &recording->flight;
	_Atomic uint32_t written = 0;
	struct fixture fixture, other;

	session.open = 1;
	recording->begin_ns = session.begin_ns = vg_now_ns() - SECOND;
	recording->perf_map.directory = -1;
	vg_recorder_open(&recording->recorder, -1, 1, UINT64_MAX, NULL);
	vg_flight_open(flight, &recording->recorder, &header, 1000 * (uint64_t)SECOND,
		       VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	task.accounts[0].id = vg_writer_thread_id(&recording->recorder.writer);
	vg_writer_thread(&recording->recorder.writer, &(struct vg_thread){ .id = 0, .tid = 77 }, "main");
	for (uint64_t i = 0; flight->chunks_bytes < 1 << 20; i++)
		ck_assert_int_eq(vg_writer_label(&recording->recorder.writer, (uint32_t)i, "label of a chunk", 16), 0);
	ck_assert_int_eq(vg_array_push(&session.tasks.live, &task), 0);
	ck_assert_int_eq(vg_flight_dump_begin(flight, VG_DUMP_STALL, fd_open(&fixture), SECOND), 0);
	flight->stalls_written = &written;
	flight->stall_ns = SECOND / 2;
	flight->late_ns = 1000;
	recording->ended = "so that nothing is fetched";
	recording->ended_ns = SECOND;
	flight->done = done_note;
	if (_i == 0)
		ck_assert_int_eq(vg_dumps_request(&session, recording, dup(fd_open(&other)), "requested", done_note, -1),
				 0);
	else
		ck_assert_int_eq(vg_flight_dump_final(flight, fd_open(&other), "over", SECOND), 0);
	fixture_read_dump(&fixture);
	ck_assert_uint_eq(written, 1);
	ck_assert_uint_eq(fixture.profile.events.count, 1);
	ck_assert_str_eq(vg_profile_text(&fixture.profile, fixture.profile.events.items[0].label),
			 "the heartbeat is late");
	fixture_close(&fixture);
	vg_flight_close(flight);
	fixture_close(&other);
	vg_array_free(&session.tasks.live);
	vg_recorder_free(&recording->recorder);
}
END_TEST

Suite *flight_suite(void)
{
	Suite *suite = suite_create("flight");
	TCase *parts = tcase_create("parts"), *recorder = tcase_create("recorder");

	tcase_add_loop_test(parts, open_intervals, 0, 4);
	tcase_add_test(parts, chosen_tokens_do_not_collide);
	tcase_add_test(parts, watchdog_notices_stalls);
	tcase_add_test(parts, watchdog_has_files);
	suite_add_tcase(suite, parts);
	tcase_add_test(recorder, window_of_a_dump);
	tcase_add_test(recorder, state_has_open_intervals);
	tcase_add_test(recorder, losses_of_a_dump);
	tcase_add_test(recorder, dump_continues_until_stopped);
	tcase_add_test(recorder, stall_is_counted_after_its_file);
	tcase_add_test(recorder, close_ends_a_requested_dump);
	tcase_add_loop_test(recorder, requested_dump_ends, 0, 2);
	tcase_add_test(recorder, stall_during_a_requested_dump);
	tcase_add_loop_test(recorder, stall_that_another_dump_ends, 0, 2);
	tcase_add_test(recorder, dump_to_a_full_disk);
	tcase_add_test(recorder, memory_is_bounded);
	tcase_add_test(recorder, many_definitions_make_no_segment_due);
	tcase_add_test(recorder, memory_of_deep_stacks_is_bounded);
	tcase_add_test(recorder, id_of_an_ended_thread);
	tcase_add_loop_test(recorder, threads_of_a_dump_have_ids_of_their_own, 0, 2);
	suite_add_tcase(suite, recorder);
	return suite;
}
