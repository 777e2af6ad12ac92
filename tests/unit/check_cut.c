/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* vgtool cut: what of a profile is in a part of it, and what is not. */
#include <check.h>
#include "tests/unit/suites.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/chunk.h"
#include "profile/reader.h"
#include "tests/unit/fixture.h"
#include "vgtool/analysis/intervals.h"
#include "vgtool/views/cut.h"

enum { MS = 1000000 };
static struct fixture fixture;
static struct vg_part part;
static struct vg_profile cut;
static struct vg_infile cut_file;

/* Cuts the fixture's profile, and reads the result into `cut`. */
static void cut_read(uint64_t begin_ns, uint64_t end_ns)
{
	int fd = memfd_create("cut", MFD_CLOEXEC);
	struct vg_writer writer;
	struct vg_err err;
	off_t length;
	void *bytes;

	ck_assert_int_ge(fd, 0);
	part = (struct vg_part){ .begin_ns = begin_ns, .end_ns = end_ns };
	ck_assert_int_eq(vg_part_select(&part, &fixture.profile), 0);
	vg_writer_open(&writer, fd, 0);
	ck_assert_int_eq(vg_cut_write(&part, &fixture.file, &writer), 0);
	vg_writer_close(&writer);
	length = lseek(fd, 0, SEEK_END);
	bytes = malloc((size_t)length);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_int_eq(pread(fd, bytes, (size_t)length, 0), length);
	close(fd);
	cut_file = (struct vg_infile){ .path = "cut", .bytes = bytes, .length = (uint64_t)length };
	ck_assert_int_eq(vg_profile_read(&cut, &cut_file, &err), 0);
}

static void cut_close(void)
{
	vg_part_free(&part);
	vg_profile_free(&cut);
	free((void *)cut_file.bytes);
}

static bool cut_has(const char *text)
{
	return memmem(cut_file.bytes, cut_file.length, text, strlen(text)) != NULL;
}

static const char *text(const struct vg_profile *profile, uint32_t string)
{
	return string == VG_NONE ? "(none)" : vg_profile_text(profile, string);
}

/* Both frames have the same names, and so have their callers. */
static void stacks_compare(uint32_t whole, uint32_t of_cut)
{
	const struct vg_profile *from = &fixture.profile;

	for (; whole != VG_NONE && of_cut != VG_NONE; whole = from->stacks.items[whole].parent,
	     of_cut = cut.stacks.items[of_cut].parent) {
		const struct vg_stack *a = &from->stacks.items[whole], *b = &cut.stacks.items[of_cut];
		const struct vg_symbol_line *lines, *cut_lines;
		size_t count, cut_count;

		ck_assert_uint_eq(a->address, b->address);
		ck_assert_uint_eq(a->end, b->end);
		ck_assert_uint_eq(a->found_by, b->found_by);
		ck_assert_int_eq(a->module == VG_NONE, b->module == VG_NONE);
		if (a->module == VG_NONE) {
			ck_assert_str_eq(text(from, vg_profile_jit_name(from, a)), text(&cut, vg_profile_jit_name(&cut, b)));
			continue;
		}
		ck_assert_str_eq(text(from, from->modules.items[a->module].name),
				 text(&cut, cut.modules.items[b->module].name));
		ck_assert_int_eq(from->modules.items[a->module].unresolved, cut.modules.items[b->module].unresolved);
		lines = vg_profile_symbol(from, a->module, a->address, &count);
		cut_lines = vg_profile_symbol(&cut, b->module, b->address, &cut_count);
		ck_assert_uint_eq(count, cut_count);
		for (size_t i = 0; i < count; i++) {
			const struct vg_function *function = &from->functions.items[lines[i].function];
			const struct vg_function *of = &cut.functions.items[cut_lines[i].function];

			ck_assert_uint_eq(lines[i].line, cut_lines[i].line);
			ck_assert_str_eq(text(from, function->name), text(&cut, of->name));
			ck_assert_str_eq(text(from, function->file), text(&cut, of->file));
		}
	}
	ck_assert_uint_eq(whole, VG_NONE);
	ck_assert_uint_eq(of_cut, VG_NONE);
}

/* The cut has the samples from begin_ns to before end_ns, with their weights, and no others. */
static void samples_compare(uint64_t begin_ns, uint64_t end_ns)
{
	const struct vg_profile *from = &fixture.profile;
	size_t at = 0;

	for (size_t i = 0; i < from->samples.count; i++) {
		const struct vg_sample *a = &from->samples.items[i], *b;

		if (a->time_ns < begin_ns || a->time_ns >= end_ns)
			continue;
		ck_assert_uint_lt(at, cut.samples.count);
		b = &cut.samples.items[at++];
		ck_assert_uint_eq(a->time_ns, b->time_ns);
		ck_assert_uint_eq(a->wall_ns, b->wall_ns);
		ck_assert_uint_eq(a->cpu_ns, b->cpu_ns);
		ck_assert_uint_eq(a->count, b->count);
		ck_assert_uint_eq(a->interval, b->interval);
		ck_assert_uint_eq(a->end, b->end);
		ck_assert_int_eq(from->threads.items[a->thread].tid, cut.threads.items[b->thread].tid);
		stacks_compare(a->stack, b->stack);
	}
	ck_assert_uint_eq(at, cut.samples.count);
	ck_assert_uint_eq(cut.damage.count, 0);
}

static void event_add(enum vg_event_type type, uint32_t thread, uint64_t time_ns, uint32_t label, uint64_t token,
		      uint64_t parent)
{
	struct vg_writer_event event = { type, thread, VG_NONE, label, time_ns, 0, token, parent };

	ck_assert_int_eq(vg_writer_event(&fixture.writer, &event), 0);
}

static void label_add(uint32_t id, const char *label)
{
	ck_assert_int_eq(vg_writer_label(&fixture.writer, id, label, strlen(label)), 0);
}

static void sample_add(uint32_t thread, uint32_t stack, uint64_t time_ns, uint64_t interval)
{
	struct vg_writer_sample sample = { thread, stack, 1, time_ns, MS, MS / 2, interval };

	ck_assert_int_eq(vg_writer_sample(&fixture.writer, &sample), 0);
}

static void stack_add(uint32_t id, uint32_t parent, uint32_t module, uint64_t address, enum vg_found_by found_by)
{
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, id, parent, module, address, found_by), 0);
}

static void reading_add(uint32_t thread, uint64_t time_ns, uint64_t value)
{
	struct vg_writer_perf_counters reading = { thread, 1, time_ns, { value } };

	ck_assert_int_eq(vg_writer_perf_counters(&fixture.writer, &reading), 0);
}

/* Any part of the profile that most tests use has the samples of its range. */
START_TEST(parts_have_their_samples)
{
	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	for (uint64_t begin = 0; begin <= 5; begin++) {
		for (uint64_t end = begin + 1; end <= 6; end++) {
			cut_read(begin * MS, end * MS);
			samples_compare(begin * MS, end * MS);
			ck_assert_uint_eq(cut.header.window_begin_ns, begin * MS);
			ck_assert_uint_eq(cut.duration_ns, (end < 5 ? end : 5) * MS);
			ck_assert_int_eq(cut.processes.items[0].pid, 100);
			ck_assert_str_eq(text(&cut, cut.header.program), "demo");
			cut_close();
		}
	}
	/* Samples are timed in microseconds. */
	cut_read(2 * MS - 999, 2 * MS + 1);
	samples_compare(2 * MS, 2 * MS + 1);
	cut_close();
	cut_read(0, UINT64_MAX);
	samples_compare(0, UINT64_MAX);
	ck_assert_str_eq(text(&cut, cut.end_reason), "done");
	cut_close();
	fixture_close(&fixture);
}
END_TEST

/* The range of the next test is 10 to 20 ms.  Texts with "Before" and "After" are used only outside of it. */
static void secrets_write(void)
{
	static const char *const labels[] = { "interval Before", "interval Kept", "instant Kept", "instant After",
					      "detached Kept", "interval After" };
	static const char *const functions[] = { "function_Before", "function_Kept", "function_After" };
	struct vg_named_value lost = { "ticks_skipped", 7 };
	struct vg_writer *writer = &fixture.writer;
	struct vg_writer_header header = {
		.period_ns = MS, .start_unix_s = 1700000000, .max_frames = 256, .mode = "wall", .writer = "test 1",
		.arch = "x86_64", .program = "program Kept", .counters = "cycles",
	};

	fixture_open(&fixture);
	ck_assert_int_eq(vg_writer_header(writer, &header), 0);
	fixture_thread(&fixture, 0, 100, "main Before");
	fixture_thread(&fixture, 1, 101, "worker Before");
	fixture_thread(&fixture, 2, 102, "early Before");
	for (uint32_t i = 0; i < sizeof labels / sizeof *labels; i++)
		label_add(i, labels[i]);
	fixture_module(&fixture, 0, "module_Before");
	fixture_module(&fixture, 1, "module_Kept");
	fixture_module(&fixture, 2, "[kernel]");
	ck_assert_int_eq(vg_writer_jit_code(writer, 0x7000, 0x1000, "code Kept"), 0);
	ck_assert_int_eq(vg_writer_jit_code(writer, 0x7100, 0x10, "code After"), 0);
	ck_assert_int_eq(vg_writer_kernel_symbol(writer, 2, 1, "kernel_Kept"), 0);
	ck_assert_int_eq(vg_writer_kernel_symbol(writer, 2, 2, "kernel_After"), 0);
	stack_add(16, VG_WALK_ROOT, 0, 0x10, VG_FOUND_BY_CFI);
	stack_add(17, VG_WALK_ROOT, 1, 0x20, VG_FOUND_BY_CFI);
	stack_add(18, 17, VG_NONE, 0x7010, VG_FOUND_BY_FRAME_POINTER);
	stack_add(19, 18, 2, 1, VG_FOUND_IN_KERNEL);
	stack_add(20, 17, VG_NONE, 0x7105, VG_FOUND_BY_CFI);
	stack_add(21, 20, 2, 2, VG_FOUND_IN_KERNEL);
	/* In no code: the code before it is too short. */
	stack_add(22, VG_WALK_NO_INFO, VG_NONE, 0x7200, VG_FOUND_BY_CFI);
	event_add(VG_EVENT_BEGIN, 2, MS, 0, 1, 0);
	event_add(VG_EVENT_END, 2, 2 * MS, VG_NONE, 1, 0);
	event_add(VG_EVENT_BEGIN, 1, 3 * MS, 1, 2, 0);
	event_add(VG_EVENT_DETACHED_BEGIN, 1, 4 * MS, 4, 3, 2);
	sample_add(2, 16, 2 * MS, 1);
	ck_assert_int_eq(vg_writer_thread_end(writer, 2, 3 * MS), 0);
	sample_add(0, 16, 5 * MS, 0);
	reading_add(0, 5 * MS, 1000);
	sample_add(1, 16, 9 * MS, 2);
	ck_assert_int_eq(vg_writer_rate(writer, 2 * MS, 2 * MS), 0);
	ck_assert_int_eq(vg_writer_rate(writer, 4 * MS, 3 * MS), 0);
	ck_assert_int_eq(vg_writer_thread_name(writer, 1, 9 * MS, "worker Kept"), 0);
	sample_add(1, 19, 10 * MS, 2);
	reading_add(1, 10 * MS, 20);
	event_add(VG_EVENT_INSTANT, 1, 11 * MS, 2, 0, 0);
	ck_assert_int_eq(vg_writer_rate(writer, 12 * MS, 4 * MS), 0);
	sample_add(1, 22, 12 * MS, 2);
	event_add(VG_EVENT_DETACHED_END, 1, 13 * MS, VG_NONE, 3, 0);
	sample_add(1, 19, 19 * MS, 2);
	reading_add(1, 19 * MS, 30);
	event_add(VG_EVENT_INSTANT, 1, 20 * MS, 3, 0, 0);
	ck_assert_int_eq(vg_writer_rate(writer, 20 * MS, 5 * MS), 0);
	sample_add(1, 21, 21 * MS, 2);
	reading_add(1, 21 * MS, 2000);
	event_add(VG_EVENT_END, 1, 22 * MS, VG_NONE, 2, 0);
	event_add(VG_EVENT_BEGIN, 0, 23 * MS, 5, 4, 0);
	ck_assert_int_eq(vg_writer_thread_name(writer, 1, 23 * MS, "worker After"), 0);
	header.program = "program After";
	ck_assert_int_eq(vg_writer_header(writer, &header), 0);
	ck_assert_int_eq(vg_writer_counts(writer, VG_RECORD_LOST, &lost, 1), 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct vg_symbol_line line = { i, 5 };

		ck_assert_int_eq(vg_writer_function(writer, i, functions[i], functions[i], i == 0 ? 0 : 1), 0);
		ck_assert_int_eq(vg_writer_symbol(writer, i == 0 ? 0 : 1, 0x10 * (i + 1), &line, 1), 0);
	}
	ck_assert_int_eq(vg_writer_unresolved(writer, 2), 0);
	ck_assert_int_eq(vg_writer_end(writer, "reason After", 30 * MS, NULL, 0), 0);
}

static void secrets_read(void)
{
	unsigned char *bytes;
	size_t length;

	secrets_write();
	bytes = fixture_bytes(&fixture, &length);
	ck_assert_int_eq(fixture_read_bytes(&fixture, bytes, length), 0);
	ck_assert_uint_eq(fixture.profile.damage.count, 0);
}

/* What is cut off is not in the file. */
START_TEST(the_rest_is_absent)
{
	static const char *const kept[] = { "program Kept", "worker Kept", "interval Kept", "instant Kept",
					    "detached Kept", "module_Kept", "code Kept", "kernel_Kept", "function_Kept",
					    "ticks_skipped", "cycles" };

	secrets_read();
	cut_read(10 * MS, 20 * MS);
	samples_compare(10 * MS, 20 * MS);
	ck_assert(!cut_has("Before"));
	ck_assert(!cut_has("After"));
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		ck_assert_msg(cut_has(kept[i]), "%s", kept[i]);
	ck_assert_uint_lt(cut_file.length, fixture.file.length);
	ck_assert(cut.resolved);

	/* The main thread stays without its name: the id of the process is that of its main thread. */
	ck_assert_uint_eq(cut.threads.count, 2);
	ck_assert_int_eq(cut.processes.items[0].pid, 100);
	ck_assert_str_eq(text(&cut, cut.threads.items[0].name), "");

	ck_assert_uint_eq(cut.counter_readings.count, 2);
	ck_assert_uint_eq(cut.counter_readings.items[0].values[0], 20);
	ck_assert_uint_eq(cut.counter_readings.items[0].sample, 0);
	ck_assert_uint_eq(cut.counter_readings.items[1].time_ns, 19 * MS);
	ck_assert_uint_eq(cut.counter_readings.items[1].sample, 2);
	cut_close();
	fixture_close(&fixture);
}
END_TEST

/* An interval that began before the range keeps its begin, and is open if it ends after it. */
START_TEST(intervals_overlap)
{
	struct vg_intervals intervals;

	secrets_read();
	cut_read(10 * MS, 20 * MS);
	ck_assert_int_eq(vg_intervals_build(&intervals, &cut), 0);
	ck_assert_uint_eq(intervals.items.count, 2);
	ck_assert_uint_eq(intervals.ends_orphaned, 0);
	ck_assert_uint_eq(intervals.items.items[0].begin_ns, 3 * MS);
	ck_assert_uint_eq(intervals.items.items[0].end_ns, 20 * MS);
	ck_assert_int_eq(intervals.items.items[0].state, VG_INTERVAL_OPEN);
	ck_assert(intervals.items.items[1].detached);
	ck_assert_uint_eq(intervals.items.items[1].begin_ns, 4 * MS);
	ck_assert_uint_eq(intervals.items.items[1].end_ns, 13 * MS);
	ck_assert_int_eq(intervals.items.items[1].state, VG_INTERVAL_ENDED);
	vg_intervals_free(&intervals);
	cut_close();

	/* A range without samples. */
	cut_read(23 * MS, 24 * MS);
	ck_assert_uint_eq(cut.samples.count, 0);
	ck_assert_uint_eq(part.event_count, 1);
	ck_assert(cut_has("interval After"));
	ck_assert(!cut_has("interval Kept"));
	cut_close();
	fixture_close(&fixture);
}
END_TEST

/* The sampling periods of the range: the one with which it begins, and each change. */
START_TEST(rates_are_kept)
{
	static const uint64_t expected[][2] = { { 10000, 3 * MS }, { 12000, 4 * MS } };
	struct vg_chunks chunks = { 0 };
	struct vg_record_view record;
	struct vg_damage damage;
	struct vg_chunk chunk;
	size_t at = 0;

	secrets_read();
	cut_read(10 * MS, 20 * MS);
	chunks.bytes = cut_file.bytes;
	chunks.length = cut_file.length;
	while (vg_chunk_next(&chunks, &chunk, &damage) == VG_CHUNK_GOOD) {
		while (vg_record_next(&chunk.payload, &record) > 0) {
			uint64_t time_us, period_ns;

			if (record.kind != VG_RECORD_RATE)
				continue;
			ck_assert_int_eq(vg_cursor_uint(&record.cursor, &time_us), 0);
			ck_assert_int_eq(vg_cursor_uint(&record.cursor, &period_ns), 0);
			ck_assert_uint_lt(at, 2);
			ck_assert_uint_eq(time_us, expected[at][0]);
			ck_assert_uint_eq(period_ns, expected[at++][1]);
		}
	}
	ck_assert_uint_eq(at, 2);
	cut_close();
	fixture_close(&fixture);
}
END_TEST

/* Bytes that are damaged one after the other: the part of what can be read is valid, and says that there is damage. */
START_TEST(damage_stays)
{
	unsigned char *bytes;
	struct fixture whole;
	size_t length;

	secrets_write();
	whole = fixture;
	bytes = fixture_bytes(&whole, &length);
	for (size_t at = VG_CHUNK_HEADER_BYTES; at < length; at++) {
		bytes[at] ^= 0xff;
		vg_chunk_header(bytes, 0, bytes + VG_CHUNK_HEADER_BYTES, length - VG_CHUNK_HEADER_BYTES);
		ck_assert_int_eq(fixture_read_bytes(&fixture, bytes, length), 0);
		cut_read(10 * MS, 20 * MS);
		ck_assert_uint_eq(cut.damaged_bytes, fixture.profile.damaged_bytes);
		ck_assert_uint_le(cut.damage.count, 1);
		ck_assert_ptr_nonnull(text(&cut, cut.end_reason));
		cut_close();
		bytes[at] ^= 0xff;
	}
	fixture.file.bytes = bytes;
	fixture_close(&fixture);
}
END_TEST

/* The program executes another one at about 7 ms.  The sample of 2 ms was held until then. */
START_TEST(programs_by_time)
{
	struct vg_writer_header header = { .period_ns = MS, .max_frames = 256, .mode = "wall", .writer = "test 1",
		.arch = "x86_64", .program = "second" };

	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 100, "main");
	fixture_thread(&fixture, 1, 101, "worker");
	sample_add(0, VG_STACK_ROOTS, MS, 0);
	ck_assert_int_eq(vg_writer_header(&fixture.writer, &header), 0);
	sample_add(1, VG_STACK_ROOTS, 2 * MS, 0);
	sample_add(0, VG_STACK_ROOTS, 8 * MS, 0);
	sample_add(0, VG_STACK_ROOTS, 9 * MS, 0);
	fixture_read(&fixture, false);
	cut_read(0, 5 * MS);
	ck_assert_str_eq(text(&cut, cut.header.program), "demo");
	ck_assert(!cut_has("second"));
	cut_close();
	cut_read(0, 10 * MS);
	ck_assert_str_eq(text(&cut, cut.header.program), "second");
	cut_close();
	fixture_close(&fixture);
}
END_TEST

Suite *cut_suite(void)
{
	Suite *suite = suite_create("cut");
	TCase *tests = tcase_create("cut");

	tcase_add_test(tests, parts_have_their_samples);
	tcase_add_test(tests, the_rest_is_absent);
	tcase_add_test(tests, intervals_overlap);
	tcase_add_test(tests, rates_are_kept);
	tcase_add_test(tests, programs_by_time);
	tcase_add_test(tests, damage_stays);
	suite_add_tcase(suite, tests);
	return suite;
}
