/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"
#include "vignetted/output/dump.h"
#include "vignetted/output/flight.h"
#include "vignetted/output/flight_sink.h"

/* The queue, its cursor, and the set of open intervals against what is simple; then a recorder that
 * is told of more than it can keep. */

enum { ROUNDS = 200000, TOKENS = 512, SECOND = 1000000000 };

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

START_TEST(queue)
{
	struct vg_tape tape = { 0 };
	struct vg_tape_cursor cursor = { 0 };
	const struct vg_tape_entry *entry;
	uint32_t state = (uint32_t)_i + 1;
	uint64_t dropped = 0, pushed = 0, read = 0;

	for (int round = 0; round < ROUNDS; round++) {
		switch (random_next(&state) % (round / 20000 % 2 == 0 ? 4 : 8)) {
		case 0: case 1:
			vg_tape_push(&tape)->time_ns = pushed++;
			break;
		case 2: case 4: case 5:
			entry = vg_tape_first(&tape);
			ck_assert_int_eq(entry != NULL, dropped < pushed);
			/* What the cursor has yet to read stays. */
			if (entry == NULL || dropped == read)
				break;
			ck_assert_uint_eq(entry->time_ns, dropped);
			vg_tape_drop(&tape);
			dropped++;
			break;
		default:
			entry = vg_tape_read(&tape, &cursor);
			ck_assert_int_eq(entry != NULL, read < pushed);
			if (entry != NULL)
				ck_assert_uint_eq(entry->time_ns, read++);
			break;
		}
		ck_assert_uint_eq(tape.next - tape.first, pushed - dropped);
		ck_assert_uint_le(tape.blocks, (pushed - dropped) / 1000 + 2);
	}
	ck_assert_uint_gt(read, 10000);
	vg_tape_free(&tape);
}
END_TEST

START_TEST(intervals)
{
	struct vg_open_intervals open = { .max = TOKENS };
	bool there[TOKENS] = { false };
	size_t count = 0;
	uint32_t state = (uint32_t)_i + 1;

	for (int round = 0; round < ROUNDS; round++) {
		uint32_t at = random_next(&state) % TOKENS;
		struct vg_tape_entry begin = { .time_ns = at, .event.token = (at + 1) << 8 | at % 3 };

		if (random_next(&state) % 2 == 0) {
			ck_assert(vg_open_intervals_add(&open, &begin));
			count += !there[at];
			there[at] = true;
		} else {
			vg_open_intervals_remove(&open, begin.event.token);
			count -= there[at];
			there[at] = false;
		}
		ck_assert_uint_eq(open.count, count);
		if (round % 1000 == 0) {
			struct vg_tape_entry *list = vg_open_intervals_list(&open);

			for (size_t i = 0; i < count; i++) {
				ck_assert(there[list[i].time_ns]);
				ck_assert_uint_eq(list[i].event.token >> 8, list[i].time_ns + 1);
				ck_assert(i == 0 || list[i - 1].time_ns < list[i].time_ns);
			}
			free(list);
		}
	}
	open.max = open.count;
	ck_assert(!vg_open_intervals_add(&open, &(struct vg_tape_entry){ .event.token = 1u << 30 }));
	vg_open_intervals_free(&open);
}
END_TEST

/* The longest stretch of slots that are taken: a look goes through no more. */
static size_t longest_stretch(const struct vg_open_intervals *open)
{
	size_t stretch = 0, longest = 0;

	for (size_t i = 0; i < 2 * open->size; i++) {
		stretch = open->slots[i % open->size].event.token != 0 ? stretch + 1 : 0;
		if (stretch > longest)
			longest = stretch;
	}
	return longest;
}

/* A program chooses its tokens: these are the multiples of the inverse of the number by which tokens were
 * multiplied to find their slots, so that the upper half of each product, which chose the slot, is 0. */
START_TEST(chosen_tokens_do_not_pile_up)
{
	enum { CHOSEN = 20000 };
	struct vg_open_intervals open = { .max = CHOSEN };
	uint64_t inverse = 1;

	/* Newton's iteration: each step doubles the low bits that are right. */
	for (int i = 0; i < 6; i++)
		inverse *= 2 - UINT64_C(0x9e3779b97f4a7c15) * inverse;
	for (uint64_t i = 1; i <= CHOSEN; i++) {
		struct vg_tape_entry begin = { .event.token = i * inverse };

		ck_assert(vg_open_intervals_add(&open, &begin));
	}
	ck_assert_uint_eq(open.count, CHOSEN);
	ck_assert_uint_le(longest_stretch(&open), 1000);
	for (uint64_t i = 1; i <= CHOSEN; i++)
		vg_open_intervals_remove(&open, i * inverse);
	ck_assert_uint_eq(open.count, 0);
	vg_open_intervals_free(&open);
}
END_TEST

/* ---- a recorder ---- */

struct told {
	struct vg_flight flight;
	struct vg_writer writer;
	struct vg_dump dump;
	uint32_t generation, stacks, samples;
};

static void told_open(struct told *told, uint64_t window_ns, uint64_t memory_bytes)
{
	const struct vg_writer_header header = { .period_ns = 1000000, .mode = "wall", .writer = "w",
						 .arch = "x86_64", .program = "demo" };
	const struct vg_module module = { .id = 3, .base = 0x1000, .size_bytes = 0x1000 };
	const struct vg_thread thread = { .id = 0, .tid = 77 };

	memset(told, 0, sizeof *told);
	told->stacks = VG_STACK_ROOTS;
	vg_flight_open(&told->flight, window_ns, memory_bytes, &told->generation);
	told->flight.name_max_bytes = 1024;
	vg_writer_open(&told->writer, -1, 0);
	told->writer.sink = vg_flight_sink(&told->flight);
	vg_writer_header(&told->writer, &header);
	vg_writer_module(&told->writer, &module, "libx.so");
	vg_writer_thread(&told->writer, &thread, "main");
	vg_writer_label(&told->writer, 5, "load", 4);
	vg_writer_label(&told->writer, 1u << 30, "outside", 7);
}

static void told_close(struct told *told)
{
	vg_writer_close(&told->writer);
	vg_flight_close(&told->flight);
}

/* A sample of a stack of two frames, whose addresses say which it is. */
static void told_sample(struct told *told, uint64_t time_ns)
{
	struct vg_writer_sample sample = { .count = 1, .time_ns = time_ns, .wall_ns = 1000000 };
	uint32_t root = told->stacks++;

	sample.stack = told->stacks++;
	vg_writer_stack(&told->writer, root, VG_WALK_ROOT, 3, time_ns / 1000000, VG_FOUND_CFI);
	vg_writer_stack(&told->writer, sample.stack, root, VG_NONE, time_ns / 1000000 + 1,
			VG_FOUND_CFI);
	if (told->stacks % 1000 < 2)
		told->generation++;
	vg_writer_sample(&told->writer, &sample);
	told->samples++;
}

static void told_event(struct told *told, enum vg_event_what what, uint64_t time_ns, uint64_t token)
{
	struct vg_writer_event event = {
		.what = what, .kind = VG_NONE, .label = what == VG_EVENT_BEGIN ? 5 : VG_NONE,
		.time_ns = time_ns, .token = token,
	};

	vg_writer_event(&told->writer, &event);
}

static int fd_open(struct fixture *fixture)
{
	fixture_open(fixture);
	return fixture->fd;
}

static void fixture_take(struct fixture *fixture)
{
	off_t length = lseek(fixture->fd, 0, SEEK_END);
	unsigned char *bytes = malloc((size_t)length + 1);

	ck_assert_int_eq(pread(fixture->fd, bytes, (size_t)length, 0), length);
	ck_assert_int_eq(fixture_read_bytes(fixture, bytes, (size_t)length), 0);
	ck_assert_uint_eq(fixture->profile.damage.count, 0);
	ck_assert_uint_eq(fixture->profile.samples_orphaned, 0);
}

static void window_verify(const struct fixture *fixture, uint64_t from_ns, uint64_t to_ns)
{
	const struct vg_profile *profile = &fixture->profile;
	uint64_t expect_ns = from_ns;

	ck_assert_uint_eq(profile->header.from_ns, from_ns);
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

/* Tells of 10 s at 1 kHz; what is asked for while a dump is written is not in it, and is not lost. */
START_TEST(window)
{
	struct fixture fixture;
	struct told told;
	uint64_t time_ns = 0;

	told_open(&told, 2 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	told_event(&told, VG_EVENT_BEGIN, 500, 0x100);
	told_event(&told, VG_EVENT_BEGIN, 600, 0x200);
	for (; time_ns <= 10 * (uint64_t)SECOND; time_ns += 1000000) {
		told_sample(&told, time_ns);
		if (time_ns == SECOND)
			told_event(&told, VG_EVENT_END, time_ns, 0x200);
	}
	time_ns -= 1000000;
	ck_assert_uint_eq(told.flight.tape.next - told.flight.tape.first, 2001);
	ck_assert_uint_le(told.flight.tables.count, 2 * 2001 / 1000 + 3);
	ck_assert_int_eq(vg_dump_begin(&told.dump, &told.flight, fd_open(&fixture), time_ns, false), 0);
	for (uint64_t later_ns = time_ns; later_ns < time_ns + 5 * (uint64_t)SECOND;) {
		told_sample(&told, later_ns += 1000000);
		if (later_ns % 5000000 == 0)
			vg_dump_run(&told.dump, 2);
	}
	ck_assert(vg_dump_run(&told.dump, 0) == false || told.dump.cursor.number < told.dump.until);
	ck_assert_int_eq(vg_dump_end(&told.dump, "asked for"), 0);
	fixture_take(&fixture);
	window_verify(&fixture, time_ns - 2 * (uint64_t)SECOND, time_ns);
	ck_assert_uint_eq(fixture.profile.events.count, 1);
	ck_assert_uint_eq(fixture.profile.events.items[0].time_ns, 500);
	ck_assert_str_eq(vg_profile_text(&fixture.profile, fixture.profile.events.items[0].label),
			 "load");
	ck_assert_uint_eq(fixture.profile.modules.count, 1);
	ck_assert_uint_eq(fixture.profile.threads.items[0].tid, 77);
	ck_assert_uint_eq(told.flight.dropped, 0);
	fixture_close(&fixture);
	/* It goes on from there. */
	time_ns += 5 * (uint64_t)SECOND;
	ck_assert_int_eq(vg_dump_begin(&told.dump, &told.flight, fd_open(&fixture), time_ns, false), 0);
	ck_assert_int_eq(vg_dump_end(&told.dump, "asked for"), 0);
	fixture_take(&fixture);
	window_verify(&fixture, time_ns - 2 * (uint64_t)SECOND, time_ns);
	fixture_close(&fixture);
	told_close(&told);
}
END_TEST

/* What comes to be known while a dump is written is not of its window, whatever it is. */
START_TEST(later_things_stay_out)
{
	const struct vg_named before = { "events_dropped", 3 }, after = { "events_dropped", 7 };
	const struct vg_thread late = { .id = 1, .tid = 78, .begin_ns = 5 * (uint64_t)SECOND };
	const uint64_t asked_ns = 4 * (uint64_t)SECOND;
	struct fixture fixture;
	struct told told;

	told_open(&told, 10 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	told_sample(&told, asked_ns - 1);
	vg_writer_lost(&told.writer, &before, 1);
	told_event(&told, VG_EVENT_BEGIN, asked_ns - 1, 0x100);
	/* Fetched with what came before it. */
	told_sample(&told, asked_ns + 1);
	told_event(&told, VG_EVENT_END, asked_ns + 1, 0x100);
	ck_assert_int_eq(vg_dump_begin(&told.dump, &told.flight, fd_open(&fixture), asked_ns, false), 0);
	vg_writer_lost(&told.writer, &after, 1);
	vg_writer_thread(&told.writer, &late, "late");
	vg_writer_thread_end(&told.writer, 0, asked_ns + SECOND);
	vg_writer_module_unload(&told.writer, 3, asked_ns + SECOND);
	ck_assert_int_eq(vg_dump_end(&told.dump, "asked for"), 0);
	fixture_take(&fixture);
	ck_assert_uint_eq(fixture.profile.duration_ns, asked_ns);
	ck_assert_uint_eq(fixture.profile.samples.count, 1);
	ck_assert_uint_eq(fixture.profile.events.count, 1);
	ck_assert_uint_eq(fixture.profile.events.items[0].what, VG_EVENT_BEGIN);
	ck_assert_uint_eq(fixture.profile.threads.count, 1);
	ck_assert_uint_eq(fixture.profile.threads.items[0].end_ns, UINT64_MAX);
	ck_assert_uint_eq(fixture.profile.modules.items[0].unload_ns, UINT64_MAX);
	ck_assert_uint_eq(vg_profile_count(&fixture.profile, &fixture.profile.lost,
					   "events_dropped")->value, 3);
	fixture_close(&fixture);
	told_close(&told);
}
END_TEST

/* What was fetched with the dump may be later than the moment it was asked for.  The recorder has dropped as much at the
 * window's other end by then, and the dump says so. */
START_TEST(begins_with_what_is_kept)
{
	const uint64_t asked_ns = 4 * (uint64_t)SECOND, later_ns = asked_ns + 2000000;
	struct fixture fixture;
	struct told told;

	told_open(&told, SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	for (uint64_t time_ns = asked_ns - 2 * (uint64_t)SECOND; time_ns <= later_ns; time_ns += 1000000)
		told_sample(&told, time_ns);
	ck_assert_int_eq(vg_dump_begin(&told.dump, &told.flight, fd_open(&fixture), asked_ns, false), 0);
	ck_assert_int_eq(vg_dump_end(&told.dump, "asked for"), 0);
	fixture_take(&fixture);
	window_verify(&fixture, later_ns - SECOND, asked_ns);
	fixture_close(&fixture);
	told_close(&told);
}
END_TEST

/* Of a stall: it goes on until it is stopped. */
START_TEST(follows_until_stopped)
{
	const uint64_t asked_ns = 4 * (uint64_t)SECOND, over_ns = 5 * (uint64_t)SECOND;
	struct fixture fixture;
	struct told told;

	told_open(&told, 10 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_DEFAULT_BYTES);
	told_sample(&told, asked_ns);
	ck_assert_int_eq(vg_dump_begin(&told.dump, &told.flight, fd_open(&fixture), asked_ns, true), 0);
	told_sample(&told, over_ns - 1000000);
	vg_dump_run(&told.dump, 100);
	told_sample(&told, over_ns);
	vg_dump_stop(&told.dump, over_ns);
	told_sample(&told, over_ns + 1000000);
	vg_dump_stop(&told.dump, over_ns + 2000000);
	ck_assert_int_eq(vg_dump_end(&told.dump, "over"), 0);
	fixture_take(&fixture);
	ck_assert_uint_eq(fixture.profile.duration_ns, over_ns);
	ck_assert_uint_eq(fixture.profile.samples.count, 3);
	fixture_close(&fixture);
	told_close(&told);
}
END_TEST

/* Ten times what there is memory for: the newest are kept, and whoever is gone is counted; those that
 * a dump has yet to write are written first. */
START_TEST(short_of_memory)
{
	struct fixture fixture;
	struct told told;
	uint64_t time_ns, begun_ns, kept;

	told_open(&told, 3600 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_LEAST_BYTES);
	for (time_ns = 0; told.samples < 50000; time_ns += 1000000)
		told_sample(&told, time_ns);
	time_ns -= 1000000;
	kept = told.flight.tape.next - told.flight.tape.first;
	ck_assert_uint_eq(told.flight.dropped + kept, told.samples);
	ck_assert_uint_gt(kept, 1000);
	ck_assert_uint_le(told.flight.tape.blocks * VG_TAPE_BLOCK_BYTES,
			  VG_FLIGHT_MEMORY_LEAST_BYTES / 2);
	begun_ns = time_ns;
	ck_assert_int_eq(vg_dump_begin(&told.dump, &told.flight, fd_open(&fixture), begun_ns, false), 0);
	while (told.samples < 100000)
		told_sample(&told, time_ns += 1000000);
	ck_assert_int_eq(vg_dump_end(&told.dump, "asked for"), 0);
	fixture_take(&fixture);
	ck_assert_uint_ge(fixture.profile.samples.count, kept);
	/* The latest that was dropped has the time from which on it holds. */
	ck_assert_uint_eq(fixture.profile.samples.items[0].time_ns,
			  fixture.profile.header.from_ns + 1000000);
	fixture_close(&fixture);
	told_close(&told);
}
END_TEST

/* Stacks so deep that each has a table of its own: they are in the bound, too. */
START_TEST(deep_stacks)
{
	enum { DEPTH = 3000, SAMPLES = 200 };
	struct vg_writer_sample sample = { .count = 1, .wall_ns = 1000000 };
	struct told told;
	size_t bytes = 0;

	told_open(&told, 3600 * (uint64_t)SECOND, VG_FLIGHT_MEMORY_LEAST_BYTES);
	for (int i = 0; i < SAMPLES; i++) {
		told.generation++;
		for (uint32_t depth = 0; depth < DEPTH; depth++, told.stacks++)
			vg_writer_stack(&told.writer, told.stacks, depth == 0 ? VG_WALK_ROOT : told.stacks - 1,
					VG_NONE, depth, VG_FOUND_CFI);
		sample.stack = told.stacks - 1;
		sample.time_ns = (uint64_t)i * 1000000;
		vg_writer_sample(&told.writer, &sample);
		bytes = told.flight.tape.blocks * (size_t)VG_TAPE_BLOCK_BYTES;
		for (size_t at = 0; at < told.flight.tables.count; at++)
			bytes += told.flight.tables.items[at].nodes.capacity * sizeof(struct vg_flight_node);
		ck_assert_uint_le(bytes, VG_FLIGHT_MEMORY_LEAST_BYTES / 2 + VG_TAPE_BLOCK_BYTES);
	}
	ck_assert_uint_ge(told.flight.tape.next - told.flight.tape.first, 2);
	ck_assert_ptr_nonnull(vg_flight_node(&told.flight, sample.stack));
	told_close(&told);
}
END_TEST

/* Threads that come and go by the thousand, more than there is memory for: a good part of the latest is
 * there at any time. */
START_TEST(threads)
{
	struct told told;

	told_open(&told, SECOND, VG_FLIGHT_MEMORY_LEAST_BYTES);
	for (uint32_t i = 1; i <= 200000; i++) {
		struct vg_thread thread = { .id = i, .tid = (int32_t)i, .begin_ns = i * 100000ull };

		vg_writer_thread(&told.writer, &thread, "short-lived");
		told_sample(&told, thread.begin_ns);
		vg_writer_thread_end(&told.writer, i, thread.begin_ns);
		if (i <= 2000)
			continue;
		ck_assert_ptr_nonnull(vg_flight_thread(&told.flight, i - 150));
		ck_assert_uint_ge(thread.begin_ns, told.flight.short_ns + 150 * 100000ull);
	}
	ck_assert_uint_le(told.flight.threads.capacity, 65536);
	ck_assert_ptr_nonnull(vg_flight_thread(&told.flight, 0));
	ck_assert_ptr_nonnull(vg_flight_thread(&told.flight, 200000));
	ck_assert_ptr_null(vg_flight_thread(&told.flight, 1));
	told_close(&told);
}
END_TEST

Suite *flight_suite(void)
{
	Suite *suite = suite_create("flight");
	TCase *parts = tcase_create("parts"), *recorder = tcase_create("recorder");

	tcase_add_loop_test(parts, queue, 0, 4);
	tcase_add_loop_test(parts, intervals, 0, 4);
	tcase_add_test(parts, chosen_tokens_do_not_pile_up);
	tcase_set_timeout(parts, 60);
	suite_add_tcase(suite, parts);
	tcase_add_test(recorder, window);
	tcase_add_test(recorder, later_things_stay_out);
	tcase_add_test(recorder, begins_with_what_is_kept);
	tcase_add_test(recorder, follows_until_stopped);
	tcase_add_test(recorder, short_of_memory);
	tcase_add_test(recorder, deep_stacks);
	tcase_add_test(recorder, threads);
	tcase_set_timeout(recorder, 60);
	suite_add_tcase(suite, recorder);
	return suite;
}
