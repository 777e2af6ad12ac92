/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"
#include "vignetted/output/dump.h"
#include "vignetted/output/flight.h"
#include "vignetted/output/flight_sink.h"
#include "vignetted/output/watchdog.h"
#include "vignetted/session/recording.h"

/* The event queue with its cursor, and the set of open intervals, each compared with a simple model. Then the flight
 * recorder with more samples and events than it can keep. */

enum { ROUNDS = 200000, TOKENS = 512, SECOND = 1000000000 };

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

START_TEST(event_queue)
{
	struct vg_event_queue queue = { 0 };
	struct vg_event_queue_cursor cursor = { 0 };
	const struct vg_queue_entry *entry;
	uint32_t state = (uint32_t)_i + 1;
	uint64_t dropped = 0, pushed = 0, read = 0;

	for (int round = 0; round < ROUNDS; round++) {
		switch (random_next(&state) % (round / 20000 % 2 == 0 ? 4 : 8)) {
		case 0: case 1:
			vg_event_queue_push(&queue)->time_ns = pushed++;
			break;
		case 2: case 4: case 5:
			entry = vg_event_queue_first(&queue);
			often_assert((entry != NULL) == (dropped < pushed));
			/* Entries that the cursor has not read are not dropped. */
			if (entry == NULL || dropped == read)
				break;
			often_assert_eq(entry->time_ns, dropped);
			vg_event_queue_drop(&queue);
			dropped++;
			break;
		default:
			entry = vg_event_queue_read(&queue, &cursor);
			often_assert((entry != NULL) == (read < pushed));
			if (entry == NULL)
				break;
			often_assert_eq(entry->time_ns, read);
			read++;
			break;
		}
		often_assert_eq(queue.next - queue.first, pushed - dropped);
		often_assert(queue.blocks <= (pushed - dropped) / 1000 + 2);
	}
	ck_assert_uint_gt(read, 10000);
	vg_event_queue_free(&queue);
}
END_TEST

START_TEST(open_intervals)
{
	struct vg_open_intervals open = { .max = TOKENS };
	bool present[TOKENS] = { false };
	size_t count = 0;
	uint32_t state = (uint32_t)_i + 1;

	for (int round = 0; round < ROUNDS; round++) {
		uint32_t at = random_next(&state) % TOKENS;
		struct vg_queue_entry begin = { .time_ns = at, .event.token = (at + 1) << 8 | at % 3 };

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
			struct vg_queue_entry *list = vg_open_intervals_list(&open);

			for (size_t i = 0; i < count; i++) {
				often_assert(present[list[i].time_ns]);
				often_assert_eq(list[i].event.token >> 8, list[i].time_ns + 1);
				often_assert(i == 0 || list[i - 1].time_ns < list[i].time_ns);
			}
			free(list);
		}
	}
	open.max = open.count;
	ck_assert(!vg_open_intervals_add(&open, &(struct vg_queue_entry){ .event.token = 1u << 30 }));
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
		struct vg_queue_entry begin = { .event.token = i * inverse };

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

struct recorder {
	struct vg_flight flight;
	struct vg_writer writer;
	struct vg_dump dump;
	uint32_t generation, stacks, samples;
};

static void recorder_open(struct recorder *recorder, uint64_t window_ns, uint64_t memory_bytes)
{
	const struct vg_writer_header header = { .period_ns = 1000000, .mode = "wall", .writer = "w",
						 .arch = "x86_64", .program = "demo" };
	const struct vg_module module = { .id = 3, .base = 0x1000, .size_bytes = 0x1000 };
	const struct vg_thread thread = { .id = 0, .tid = 77 };

	memset(recorder, 0, sizeof *recorder);
	recorder->stacks = VG_STACK_ROOTS;
	vg_flight_open(&recorder->flight, window_ns, memory_bytes, &recorder->generation);
	recorder->flight.name_max_bytes = 1024;
	vg_writer_open(&recorder->writer, -1, 0);
	recorder->writer.sink = vg_flight_sink(&recorder->flight);
	vg_writer_header(&recorder->writer, &header);
	vg_writer_module(&recorder->writer, &module, "libx.so");
	vg_writer_thread(&recorder->writer, &thread, "main");
	vg_writer_label(&recorder->writer, 5, "load", 4);
	vg_writer_label(&recorder->writer, 1u << 30, "outside", 7);
}

static void recorder_close(struct recorder *recorder)
{
	vg_writer_close(&recorder->writer);
	vg_flight_close(&recorder->flight);
}

/* A sample with a stack of two frames. The frames' addresses are computed from the time. */
static void recorder_sample(struct recorder *recorder, uint64_t time_ns)
{
	struct vg_writer_sample sample = { .count = 1, .time_ns = time_ns, .wall_ns = 1000000 };
	uint32_t root = recorder->stacks++;

	sample.stack = recorder->stacks++;
	vg_writer_stack(&recorder->writer, root, VG_WALK_ROOT, 3, time_ns / 1000000, VG_FOUND_BY_CFI);
	vg_writer_stack(&recorder->writer, sample.stack, root, VG_NONE, time_ns / 1000000 + 1,
			VG_FOUND_BY_CFI);
	if (recorder->stacks % 1000 < 2)
		recorder->generation++;
	vg_writer_sample(&recorder->writer, &sample);
	recorder->samples++;
}

static void recorder_event(struct recorder *recorder, enum vg_event_type type, uint64_t time_ns, uint64_t token)
{
	struct vg_writer_event event = {
		.type = type, .kind = VG_NONE, .label = type == VG_EVENT_BEGIN ? 5 : VG_NONE,
		.time_ns = time_ns, .token = token,
	};

	vg_writer_event(&recorder->writer, &event);
}

static int fd_open(struct fixture *fixture)
{
	fixture_open(fixture);
	return fixture->fd;
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

static void window_check(const struct fixture *fixture, uint64_t from_ns, uint64_t to_ns)
{
	const struct vg_profile *profile = &fixture->profile;
	uint64_t expect_ns = from_ns;

	ck_assert_uint_eq(profile->header.window_begin_ns, from_ns);
	for (size_t i = 0; i < profile->samples.count; i++, expect_ns += 1000000) {
		const struct vg_sample *sample = &profile->samples.items[i];
		const struct vg_stack *leaf = &profile->stacks.items[sample->stack];

		ck_assert_uint_eq(sample->time_ns, expect_ns);
		ck_assert_uint_eq(leaf->address, expect_ns / 1000000 + 1);
		ck_assert_uint_eq(leaf->depth, 2);
		ck_assert_uint_eq(profile->stacks.items[leaf->parent].address, expect_ns / 1000000);
		ck_assert_uint_eq(sample->end, VG_WALK_ROOT);
	}
	ck_assert_uint_eq(expect_ns, to_ns + 1000000);
}

/* The recorder gets 10 s of samples at 1 kHz. Samples that arrive while the dump is written are not in the dump, and
 * are not lost. */
START_TEST(window_of_a_dump)
{
	struct fixture fixture;
	struct recorder recorder;
	uint64_t time_ns = 0;

	recorder_open(&recorder, 2 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	recorder_event(&recorder, VG_EVENT_BEGIN, 500, 0x100);
	recorder_event(&recorder, VG_EVENT_BEGIN, 600, 0x200);
	for (; time_ns <= 10 * (uint64_t)SECOND; time_ns += 1000000) {
		recorder_sample(&recorder, time_ns);
		if (time_ns == SECOND)
			recorder_event(&recorder, VG_EVENT_END, time_ns, 0x200);
	}
	time_ns -= 1000000;
	ck_assert_uint_eq(recorder.flight.queue.next - recorder.flight.queue.first, 2001);
	ck_assert_uint_le(recorder.flight.tables.count, 2 * 2001 / 1000 + 3);
	ck_assert_int_eq(vg_dump_begin(&recorder.dump, &recorder.flight, fd_open(&fixture), time_ns, false), 0);
	for (uint64_t later_ns = time_ns; later_ns < time_ns + 5 * (uint64_t)SECOND;) {
		recorder_sample(&recorder, later_ns += 1000000);
		if (later_ns % 5000000 == 0)
			vg_dump_run(&recorder.dump, 2);
	}
	ck_assert(vg_dump_run(&recorder.dump, 0) == false || recorder.dump.cursor.number < recorder.dump.stop_number);
	ck_assert_int_eq(vg_dump_end(&recorder.dump, "asked for"), 0);
	fixture_read_dump(&fixture);
	window_check(&fixture, time_ns - 2 * (uint64_t)SECOND, time_ns);
	ck_assert_uint_eq(fixture.profile.events.count, 1);
	ck_assert_uint_eq(fixture.profile.events.items[0].time_ns, 500);
	ck_assert_str_eq(vg_profile_text(&fixture.profile, fixture.profile.events.items[0].label),
			 "load");
	ck_assert_uint_eq(fixture.profile.modules.count, 1);
	ck_assert_uint_eq(fixture.profile.threads.items[0].tid, 77);
	ck_assert_uint_eq(recorder.flight.dropped, 0);
	fixture_close(&fixture);
	/* The recorder continues. */
	time_ns += 5 * (uint64_t)SECOND;
	ck_assert_int_eq(vg_dump_begin(&recorder.dump, &recorder.flight, fd_open(&fixture), time_ns, false), 0);
	ck_assert_int_eq(vg_dump_end(&recorder.dump, "asked for"), 0);
	fixture_read_dump(&fixture);
	window_check(&fixture, time_ns - 2 * (uint64_t)SECOND, time_ns);
	fixture_close(&fixture);
	recorder_close(&recorder);
}
END_TEST

/* A dump has the begins of those intervals from before the window that have not ended before it, detached or not. */
START_TEST(ended_intervals_are_forgotten)
{
	const struct { enum vg_event_type begin, end; uint64_t token; } kinds[] = {
		{ VG_EVENT_BEGIN, VG_EVENT_END, 0x100 }, { VG_EVENT_DETACHED_BEGIN, VG_EVENT_DETACHED_END, 0x200 },
	};
	struct fixture fixture;
	struct recorder recorder;

	recorder_open(&recorder, 2 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	for (size_t i = 0; i < 2; i++) {
		recorder_event(&recorder, kinds[i].begin, 1000 * (i + 1), kinds[i].token);
		recorder_event(&recorder, kinds[i].begin, 1000 * (i + 1) + 500, kinds[i].token + 0x1000);
	}
	for (size_t i = 0; i < 2; i++)
		recorder_event(&recorder, kinds[i].end, SECOND, kinds[i].token);
	recorder_sample(&recorder, 10 * (uint64_t)SECOND);
	ck_assert_uint_eq(recorder.flight.open.count, 2);
	ck_assert_int_eq(vg_dump_begin(&recorder.dump, &recorder.flight, fd_open(&fixture), 10 * (uint64_t)SECOND,
				       false), 0);
	ck_assert_int_eq(vg_dump_end(&recorder.dump, "asked for"), 0);
	fixture_read_dump(&fixture);
	ck_assert_uint_eq(fixture.profile.events.count, 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(fixture.profile.events.items[i].type, kinds[i].begin);
		ck_assert_uint_eq(fixture.profile.events.items[i].time_ns, 1000 * (i + 1) + 500);
	}
	fixture_close(&fixture);
	recorder_close(&recorder);
}
END_TEST

/* Records that arrive while a dump is written are not in the dump. */
START_TEST(later_records_are_not_in_the_dump)
{
	const struct vg_named_value before = { "events_dropped", 3 }, after = { "events_dropped", 7 };
	const struct vg_thread late = { .id = 1, .tid = 78, .begin_ns = 5 * (uint64_t)SECOND };
	const uint64_t request_ns = 4 * (uint64_t)SECOND;
	struct fixture fixture;
	struct recorder recorder;

	recorder_open(&recorder, 10 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	recorder_sample(&recorder, request_ns - 1);
	vg_writer_lost(&recorder.writer, &before, 1);
	recorder_event(&recorder, VG_EVENT_BEGIN, request_ns - 1, 0x100);
	/* These records were fetched together with the records above. */
	recorder_sample(&recorder, request_ns + 1);
	recorder_event(&recorder, VG_EVENT_END, request_ns + 1, 0x100);
	ck_assert_int_eq(vg_dump_begin(&recorder.dump, &recorder.flight, fd_open(&fixture), request_ns, false), 0);
	vg_writer_lost(&recorder.writer, &after, 1);
	vg_writer_thread(&recorder.writer, &late, "late");
	vg_writer_thread_end(&recorder.writer, 0, request_ns + SECOND);
	vg_writer_module_unload(&recorder.writer, 3, request_ns + SECOND);
	ck_assert_int_eq(vg_dump_end(&recorder.dump, "asked for"), 0);
	fixture_read_dump(&fixture);
	ck_assert_uint_eq(fixture.profile.duration_ns, request_ns);
	ck_assert_uint_eq(fixture.profile.samples.count, 1);
	ck_assert_uint_eq(fixture.profile.events.count, 1);
	ck_assert_uint_eq(fixture.profile.events.items[0].type, VG_EVENT_BEGIN);
	ck_assert_uint_eq(fixture.profile.threads.count, 1);
	ck_assert_uint_eq(fixture.profile.threads.items[0].end_ns, UINT64_MAX);
	ck_assert_uint_eq(fixture.profile.modules.items[0].unload_ns, UINT64_MAX);
	ck_assert_uint_eq(vg_profile_count(&fixture.profile, &fixture.profile.lost,
					   "events_dropped")->value, 3);
	fixture_close(&fixture);
	recorder_close(&recorder);
}
END_TEST

/* Samples that were fetched for the dump may be later than the request. To keep them, the recorder has dropped older
 * samples. The dump says at which time it really starts. */
START_TEST(dump_names_its_true_start)
{
	const uint64_t request_ns = 4 * (uint64_t)SECOND, later_ns = request_ns + 2000000;
	struct fixture fixture;
	struct recorder recorder;

	recorder_open(&recorder, SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	for (uint64_t time_ns = request_ns - 2 * (uint64_t)SECOND; time_ns <= later_ns; time_ns += 1000000)
		recorder_sample(&recorder, time_ns);
	ck_assert_int_eq(vg_dump_begin(&recorder.dump, &recorder.flight, fd_open(&fixture), request_ns, false), 0);
	ck_assert_int_eq(vg_dump_end(&recorder.dump, "asked for"), 0);
	fixture_read_dump(&fixture);
	window_check(&fixture, later_ns - SECOND, request_ns);
	fixture_close(&fixture);
	recorder_close(&recorder);
}
END_TEST

/* A dump of a stall continues until it is stopped. */
START_TEST(dump_continues_until_stopped)
{
	const uint64_t request_ns = 4 * (uint64_t)SECOND, stop_ns = 5 * (uint64_t)SECOND;
	struct fixture fixture;
	struct recorder recorder;

	recorder_open(&recorder, 10 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	recorder_sample(&recorder, request_ns);
	ck_assert_int_eq(vg_dump_begin(&recorder.dump, &recorder.flight, fd_open(&fixture), request_ns, true), 0);
	recorder_sample(&recorder, stop_ns - 1000000);
	vg_dump_run(&recorder.dump, 100);
	recorder_sample(&recorder, stop_ns);
	vg_dump_stop(&recorder.dump, stop_ns);
	recorder_sample(&recorder, stop_ns + 1000000);
	vg_dump_stop(&recorder.dump, stop_ns + 2000000);
	ck_assert_int_eq(vg_dump_end(&recorder.dump, "over"), 0);
	fixture_read_dump(&fixture);
	ck_assert_uint_eq(fixture.profile.duration_ns, stop_ns);
	ck_assert_uint_eq(fixture.profile.samples.count, 3);
	fixture_close(&fixture);
	recorder_close(&recorder);
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
	static struct vg_flight_recorder own;
	struct vg_flight_recorder *flight_recorder = &own;
	struct vg_perf_map perf_map = { .directory = -1 };
	struct fixture fixture;
	struct recorder recorder;

	recorder_open(&recorder, SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	recorder_sample(&recorder, SECOND);
	stall_fd = fd_open(&fixture);
	flight_recorder->shared = mmap(NULL, sizeof *flight_recorder->shared, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(flight_recorder->shared, MAP_FAILED);
	flight_recorder->purpose = VG_DUMP_STALL;
	ck_assert_int_eq(vg_dump_begin(&flight_recorder->dump, &recorder.flight, stall_fd, SECOND, true), 0);
	fixture_before_write(flight_recorder->shared, sizeof *flight_recorder->shared, file_size_note);
	ck_assert_int_eq(vg_flight_recorder_dump_end(flight_recorder, &perf_map, "over"), 0);
	ck_assert_uint_eq(flight_recorder->shared->stalls_written, 1);
	ck_assert_int_eq(counted_bytes, lseek(stall_fd, 0, SEEK_END));
	munmap(flight_recorder->shared, sizeof *flight_recorder->shared);
	fixture_close(&fixture);
	recorder_close(&recorder);
}
END_TEST

/* The recorder gets ten times as many samples as its memory can hold. It keeps the newest and counts the dropped ones.
 * Samples that a dump still needs are written before they are dropped. */
START_TEST(memory_is_bounded)
{
	struct fixture fixture;
	struct recorder recorder;
	uint64_t time_ns, begun_ns, kept;

	recorder_open(&recorder, 3600 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_MIN_BYTES);
	for (time_ns = 0; recorder.samples < 50000; time_ns += 1000000)
		recorder_sample(&recorder, time_ns);
	time_ns -= 1000000;
	kept = recorder.flight.queue.next - recorder.flight.queue.first;
	ck_assert_uint_eq(recorder.flight.dropped + kept, recorder.samples);
	ck_assert_uint_gt(kept, 1000);
	ck_assert_uint_le(recorder.flight.queue.blocks * VG_QUEUE_BLOCK_BYTES,
			  VG_FLIGHT_MEMORY_MIN_BYTES / 2);
	begun_ns = time_ns;
	ck_assert_int_eq(vg_dump_begin(&recorder.dump, &recorder.flight, fd_open(&fixture), begun_ns, false), 0);
	while (recorder.samples < 100000)
		recorder_sample(&recorder, time_ns += 1000000);
	ck_assert_int_eq(vg_dump_end(&recorder.dump, "asked for"), 0);
	fixture_read_dump(&fixture);
	ck_assert_uint_ge(fixture.profile.samples.count, kept);
	/* The window begins at the time of the latest dropped sample. */
	ck_assert_uint_eq(fixture.profile.samples.items[0].time_ns,
			  fixture.profile.header.window_begin_ns + 1000000);
	fixture_close(&fixture);
	recorder_close(&recorder);
}
END_TEST

/* Each stack is so deep that it has a stack table of its own. The memory bound covers these tables, too. */
START_TEST(memory_of_deep_stacks_is_bounded)
{
	enum { DEPTH = 3000, SAMPLES = 200 };
	struct vg_writer_sample sample = { .count = 1, .wall_ns = 1000000 };
	struct recorder recorder;
	size_t bytes = 0;

	recorder_open(&recorder, 3600 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_MIN_BYTES);
	for (int i = 0; i < SAMPLES; i++) {
		recorder.generation++;
		for (uint32_t depth = 0; depth < DEPTH; depth++, recorder.stacks++)
			vg_writer_stack(&recorder.writer, recorder.stacks,
					depth == 0 ? VG_WALK_ROOT : recorder.stacks - 1, VG_NONE, depth,
					VG_FOUND_BY_CFI);
		sample.stack = recorder.stacks - 1;
		sample.time_ns = (uint64_t)i * 1000000;
		vg_writer_sample(&recorder.writer, &sample);
		bytes = recorder.flight.queue.blocks * (size_t)VG_QUEUE_BLOCK_BYTES;
		for (size_t at = 0; at < recorder.flight.tables.count; at++)
			bytes += recorder.flight.tables.items[at].nodes.capacity * sizeof(struct vg_flight_node);
		ck_assert_uint_le(bytes, VG_FLIGHT_MEMORY_MIN_BYTES / 2 + VG_QUEUE_BLOCK_BYTES);
	}
	ck_assert_uint_ge(recorder.flight.queue.next - recorder.flight.queue.first, 2);
	ck_assert_ptr_nonnull(vg_flight_node(&recorder.flight, sample.stack));
	recorder_close(&recorder);
}
END_TEST

/* Thousands of threads are created and exit, more than the memory can hold. The recorder knows the latest 150 at any
 * time. */
START_TEST(memory_of_threads_is_bounded)
{
	struct recorder recorder;

	recorder_open(&recorder, SECOND, VG_FLIGHT_MEMORY_MIN_BYTES);
	for (uint32_t i = 1; i <= 200000; i++) {
		struct vg_thread thread = { .id = i, .tid = (int32_t)i, .begin_ns = i * 100000ull };

		vg_writer_thread(&recorder.writer, &thread, "short-lived");
		recorder_sample(&recorder, thread.begin_ns);
		vg_writer_thread_end(&recorder.writer, i, thread.begin_ns);
		if (i <= 2000)
			continue;
		ck_assert_ptr_nonnull(vg_flight_thread(&recorder.flight, i - 150));
		ck_assert_uint_ge(thread.begin_ns, recorder.flight.memory_short_ns + 150 * 100000ull);
	}
	ck_assert_uint_le(recorder.flight.threads.capacity, 65536);
	ck_assert_ptr_nonnull(vg_flight_thread(&recorder.flight, 0));
	ck_assert_ptr_nonnull(vg_flight_thread(&recorder.flight, 200000));
	ck_assert_ptr_null(vg_flight_thread(&recorder.flight, 1));
	recorder_close(&recorder);
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

Suite *flight_suite(void)
{
	Suite *suite = suite_create("flight");
	TCase *parts = tcase_create("parts"), *recorder = tcase_create("recorder");

	tcase_add_loop_test(parts, event_queue, 0, 4);
	tcase_add_loop_test(parts, open_intervals, 0, 4);
	tcase_add_test(parts, chosen_tokens_do_not_collide);
	tcase_add_test(parts, watchdog_notices_stalls);
	tcase_add_test(parts, watchdog_has_files);
	suite_add_tcase(suite, parts);
	tcase_add_test(recorder, window_of_a_dump);
	tcase_add_test(recorder, ended_intervals_are_forgotten);
	tcase_add_test(recorder, later_records_are_not_in_the_dump);
	tcase_add_test(recorder, dump_names_its_true_start);
	tcase_add_test(recorder, dump_continues_until_stopped);
	tcase_add_test(recorder, stall_is_counted_after_its_file);
	tcase_add_test(recorder, memory_is_bounded);
	tcase_add_test(recorder, memory_of_deep_stacks_is_bounded);
	tcase_add_test(recorder, memory_of_threads_is_bounded);
	suite_add_tcase(suite, recorder);
	return suite;
}
