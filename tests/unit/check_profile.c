/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/chunk.h"
#include "tests/unit/fixture.h"


enum { MS = 1000000 };
static struct fixture fixture;

enum { SIZE_LIMIT_BYTES = 65536 };

static void names_fill(struct vg_writer *writer)
{
	vg_writer_jit_code(writer, 0x7000, 1, "a name that a hostile process has made quite long");
}

static void samples_fill(struct vg_writer *writer)
{
	static uint32_t stack = 100;

	vg_writer_stack(writer, stack, VG_STACK_ROOTS, 0, stack, VG_FOUND_BY_CFI);
	vg_writer_sample(writer, &(struct vg_writer_sample){ .count = 1, .stack = stack++, .time_ns = 5 * MS });
}

static void threads_fill(struct vg_writer *writer)
{
	vg_writer_thread_end(writer, 1, 4 * MS);
}

static void labels_fill(struct vg_writer *writer)
{
	static char label[VG_LABEL_MAX_BYTES];

	vg_writer_label(writer, 1, label, sizeof label);
}

/* Whatever is written, the file does not pass its limit, is whole, and has its last counts and its end record. Names of
 * JIT code leave the reserve to others. */
START_TEST(size_limit_is_kept)
{
	static void (*const fills[])(struct vg_writer *) = { names_fill, samples_fill, threads_fill, labels_fill };
	struct vg_named_value stats = { "records_left_out", 1 };

	fixture_demo(&fixture);
	fixture.writer.limit_bytes = SIZE_LIMIT_BYTES;
	for (int i = 0; i < 20000; i++) {
		fills[_i](&fixture.writer);
		if (vg_writer_full(&fixture.writer))
			samples_fill(&fixture.writer);
	}
	ck_assert_int_eq(fixture.writer.failed, 0);
	ck_assert_uint_gt(fixture.writer.records_left_out, 1000);
	ck_assert_int_eq(vg_writer_counts(&fixture.writer, VG_RECORD_STATS, &stats, 1), 0);
	fixture_read(&fixture, false);
	ck_assert_uint_eq(fixture.profile.stats.count, 1);
	ck_assert_uint_le(fixture.writer.file_bytes, SIZE_LIMIT_BYTES);
	ck_assert_uint_gt(fixture.writer.file_bytes, SIZE_LIMIT_BYTES - 12 * 1024);
	ck_assert_uint_eq(fixture.profile.damage.count, 0);
	ck_assert_uint_ne(fixture.profile.end_reason, VG_NONE);
	ck_assert_uint_gt(fixture.profile.samples.count, 5);
	fixture_close(&fixture);
}
END_TEST

static const char *text(uint32_t string)
{
	return vg_profile_text(&fixture.profile, string);
}

START_TEST(round_trip)
{
	const struct vg_profile *profile = &fixture.profile;
	const struct vg_symbol_line *lines;
	struct vg_named_value lost = { "late", 3 }, stats = { "stops", UINT64_MAX };
	size_t count;

	fixture_demo_names(&fixture);
	ck_assert_int_eq(vg_writer_counts(&fixture.writer, VG_RECORD_LOST, &lost, 1), 0);
	ck_assert_int_eq(vg_writer_counts(&fixture.writer, VG_RECORD_STATS, &stats, 1), 0);
	ck_assert_int_eq(vg_writer_thread_name(&fixture.writer, 1, 4 * MS, "renamed"), 0);
	ck_assert_int_eq(vg_writer_thread_end(&fixture.writer, 1, 4 * MS), 0);
	ck_assert_int_eq(vg_writer_module_unload(&fixture.writer, 1, 4 * MS), 0);
	fixture_read(&fixture, false);

	ck_assert_uint_eq(profile->header.version, VG_FORMAT_VERSION);
	ck_assert_uint_eq(profile->unknown_records + profile->unknown_fields, 0);
	ck_assert_uint_eq(profile->header.period_ns, MS);
	ck_assert_uint_eq(profile->header.start_unix_s, 1700000000);
	ck_assert_uint_eq(profile->header.max_frames, 256);
	ck_assert_str_eq(text(profile->header.mode_name), "wall");
	ck_assert_str_eq(text(profile->header.writer), "test 1");
	ck_assert_str_eq(text(profile->header.arch), "x86_64");
	ck_assert_str_eq(text(profile->header.program), "demo");
	ck_assert_uint_eq(profile->modules.count, 2);
	ck_assert_str_eq(text(profile->modules.items[1].name), "libx.so");
	ck_assert_uint_eq(profile->modules.items[1].build_id_bytes, 4);
	ck_assert_mem_eq(profile->modules.items[1].build_id, "\1\2\3\5", 4);
	ck_assert_uint_eq(profile->modules.items[1].base, 0x500000);
	ck_assert_uint_eq(profile->modules.items[1].size_bytes, 4096);
	ck_assert_uint_eq(profile->modules.items[0].unload_ns, UINT64_MAX);
	ck_assert_uint_eq(profile->modules.items[1].unload_ns, 4 * MS);
	ck_assert(profile->modules.items[1].unresolved && !profile->modules.items[0].unresolved);
	ck_assert_int_eq(profile->threads.items[1].tid, 101);
	ck_assert_str_eq(text(profile->threads.items[1].name), "renamed");
	ck_assert_uint_eq(profile->threads.items[1].end_ns, 4 * MS);
	ck_assert_uint_eq(profile->threads.items[0].end_ns, UINT64_MAX);
	ck_assert_uint_eq(profile->stacks.count, 5);
	ck_assert_uint_eq(profile->stacks.items[2].depth, 3);
	ck_assert_uint_eq(profile->stacks.items[2].end, VG_WALK_ROOT);
	ck_assert_uint_eq(profile->stacks.items[4].end, VG_WALK_NO_INFO);
	ck_assert_uint_eq(profile->stacks.items[4].module, VG_NONE);
	ck_assert_uint_eq(profile->samples.count, 5);
	ck_assert_uint_eq(profile->samples.items[2].end, VG_WALK_NO_INFO);
	ck_assert_uint_eq(profile->samples.items[4].time_ns, 4 * MS);
	ck_assert_uint_eq(profile->samples.items[4].wall_ns, 2 * MS);
	ck_assert_uint_eq(profile->samples.items[4].cpu_ns, MS);
	ck_assert_str_eq(text(profile->lost.items[0].name), "late");
	ck_assert_uint_eq(profile->stats.items[0].value, UINT64_MAX);
	ck_assert_str_eq(text(profile->end_reason), "done");
	ck_assert_uint_eq(profile->duration_ns, 5 * MS);
	ck_assert(profile->resolved);
	lines = vg_profile_symbol(profile, 0, 0x20, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_str_eq(text(profile->functions.items[lines[0].function].name), "inner");
	ck_assert_uint_eq(lines[0].line, 3);
	ck_assert_ptr_null(vg_profile_symbol(profile, 1, 0x30, &count));
	ck_assert_uint_eq(count, 0);
	ck_assert_uint_eq(profile->damage.count, 0);
	ck_assert_uint_eq(profile->damaged_bytes, 0);
	fixture_close(&fixture);
}
END_TEST

/* Kernel symbols are symbols of the model, in between those of vgtool resolve. They do not make a profile resolved. */
START_TEST(kernel_symbols)
{
	const struct vg_profile *profile = &fixture.profile;
	const struct vg_symbol_line line = { 7, 3 }, *lines;
	size_t count;

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_module(&fixture, 9, "[kernel]");
	ck_assert_int_eq(vg_writer_kernel_symbol(&fixture.writer, 9, 1, "entry"), 0);
	ck_assert_int_eq(vg_writer_kernel_symbol(&fixture.writer, 9, 1, "twice"), 0);
	ck_assert_int_eq(vg_writer_kernel_symbol(&fixture.writer, VG_NONE, 1, "no module"), 0);
	ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
	fixture_read(&fixture, false);
	ck_assert(!profile->resolved);
	/* A second record changes nothing. */
	ck_assert_uint_eq(profile->damage.count, 1);
	ck_assert_uint_eq(profile->functions.count, 1);
	ck_assert_str_eq(text(profile->functions.items[0].name), "entry");
	fixture_close(&fixture);

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_module(&fixture, 9, "[kernel]");
	ck_assert_int_eq(vg_writer_kernel_symbol(&fixture.writer, 9, 1, "entry"), 0);
	ck_assert_int_eq(vg_writer_function(&fixture.writer, 7, "work", "w.c", 0), 0);
	ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, 0x20, &line, 1), 0);
	ck_assert_int_eq(vg_writer_kernel_symbol(&fixture.writer, 9, 2, "read"), 0);
	fixture_read(&fixture, false);
	ck_assert_uint_eq(profile->functions.count, 3);
	lines = vg_profile_symbol(profile, 0, 0x20, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_str_eq(text(profile->functions.items[lines->function].name), "work");
	lines = vg_profile_symbol(profile, 1, 2, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_str_eq(text(profile->functions.items[lines->function].name), "read");
	ck_assert_uint_eq(profile->functions.items[lines->function].module, 1);
	ck_assert_uint_eq(profile->damage.count, 0);
	fixture_close(&fixture);
}
END_TEST

/* A profile of several chunks: for each chunk, the number of its samples and the offset of its end. */
enum { CHUNKS_MAX = 8 };
static struct { size_t end; size_t samples; } chunk_list[CHUNKS_MAX];
static size_t chunk_count;
static unsigned char *file_bytes;
static size_t file_length;

static void chunk_end(size_t samples)
{
	ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
	chunk_list[chunk_count].end = (size_t)lseek(fixture.fd, 0, SEEK_END);
	chunk_list[chunk_count++].samples = samples;
}

static void chunks_write(void)
{
	struct vg_named_value total = { "samples", 11 };

	chunk_count = 0;
	fixture_demo(&fixture);
	chunk_end(5);
	for (uint64_t chunk = 1; chunk < 4; chunk++) {
		for (uint64_t i = 0; i < 2; i++)
			fixture_sample(&fixture, 0, 18, (4 + 2 * chunk + i) * MS, MS, 0);
		chunk_end(2);
	}
	ck_assert_int_eq(vg_writer_end(&fixture.writer, "done", 20 * MS, &total, 1), 0);
	chunk_end(0);
	file_bytes = fixture_bytes(&fixture, &file_length);
}

/* Reads a copy at the end of an allocation, so that AddressSanitizer detects a read beyond it. */
static int read_copy(const unsigned char *bytes, size_t length)
{
	unsigned char *copy = malloc(length > 0 ? length : 1);
	int rc;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, length);
	rc = fixture_read_bytes(&fixture, copy, length);
	free(copy);
	fixture.file.bytes = NULL;
	return rc;
}

START_TEST(truncated_anywhere)
{
	chunks_write();
	for (size_t length = 0; length <= file_length; length++) {
		size_t samples = 0, good_bytes = 0;

		for (size_t i = 0; i < chunk_count && chunk_list[i].end <= length; i++) {
			samples += chunk_list[i].samples;
			good_bytes = chunk_list[i].end;
		}
		ck_assert_int_eq(read_copy(file_bytes, length), good_bytes > 0 ? 0 : -EBADMSG);
		ck_assert_uint_eq(fixture.profile.samples.count, samples);
		ck_assert_uint_eq(fixture.profile.damaged_bytes, length - good_bytes);
		ck_assert_int_eq(fixture.profile.end_reason == VG_NONE, length < file_length);
	}
	fixture.file.bytes = file_bytes;
	fixture_close(&fixture);
}
END_TEST

/* A damaged bit costs its chunk and nothing else. */
START_TEST(any_bit_flipped)
{
	size_t chunk = 0;

	chunks_write();
	for (size_t at = 0; at < file_length; at++) {
		size_t start;

		if (at == chunk_list[chunk].end)
			chunk++;
		start = chunk == 0 ? 0 : chunk_list[chunk - 1].end;
		for (int bit = 0; bit < 8; bit++) {
			file_bytes[at] ^= (unsigned char)(1 << bit);
			ck_assert_int_eq(read_copy(file_bytes, file_length), 0);
			file_bytes[at] ^= (unsigned char)(1 << bit);
			ck_assert_uint_eq(fixture.profile.samples.count, 11 - chunk_list[chunk].samples);
			ck_assert_uint_eq(fixture.profile.damage.count, 1);
			ck_assert_uint_eq(fixture.profile.damage.items[0].offset, start);
			ck_assert_uint_eq(fixture.profile.damaged_bytes, chunk_list[chunk].end - start);
			ck_assert_int_eq(fixture.profile.end_reason == VG_NONE, chunk == chunk_count - 1);
			ck_assert_uint_eq(fixture.profile.samples_without_stack, chunk == 0 ? 6 : 0);
		}
	}
	fixture.file.bytes = file_bytes;
	fixture_close(&fixture);
}
END_TEST

/* Corrects the checksums of the chunks, so that the reader does not reject the changed bytes. */
static void checksums_repair(unsigned char *bytes)
{
	size_t start = 0;

	for (size_t i = 0; i < chunk_count; start = chunk_list[i++].end)
		vg_chunk_header(bytes + start, (uint32_t)i, bytes + start + VG_CHUNK_HEADER_BYTES,
				chunk_list[i].end - start - VG_CHUNK_HEADER_BYTES);
}

/* A hostile file has good checksums. */
START_TEST(any_payload_byte_changed)
{
	static const unsigned char values[] = { 0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0,
						0xc1, 0xc6, 0xcf, 0xd3, 0xdb, 0xdd, 0xdf, 0xff };
	unsigned char *changed;

	chunks_write();
	changed = malloc(file_length);
	ck_assert_ptr_nonnull(changed);
	for (size_t at = 0; at < file_length; at++) {
		for (size_t i = 0; i < sizeof values; i++) {
			int rc;

			memcpy(changed, file_bytes, file_length);
			changed[at] = values[i];
			checksums_repair(changed);
			rc = read_copy(changed, file_length);
			ck_assert(rc == 0 || rc == -EBADMSG);
		}
	}
	free(changed);
	fixture.file.bytes = file_bytes;
	fixture_close(&fixture);
}
END_TEST

/* The weight of a sample after a gap does not include the gap, because what happened in it is unknown. */
START_TEST(wall_time_after_a_gap)
{
	size_t second, third;
	unsigned char *without_second;

	chunks_write();
	second = chunk_list[0].end;
	third = chunk_list[1].end;
	without_second = malloc(file_length);
	ck_assert_ptr_nonnull(without_second);
	memcpy(without_second, file_bytes, second);
	memcpy(without_second + second, file_bytes + third, file_length - third);
	ck_assert_int_eq(read_copy(without_second, file_length - (third - second)), 0);
	free(without_second);
	ck_assert_uint_eq(fixture.profile.samples.count, 9);
	/* No byte is damaged, but the lost chunk is reported. */
	ck_assert_uint_eq(fixture.profile.damage.count, 1);
	ck_assert_uint_eq(fixture.profile.damage.items[0].offset, second);
	ck_assert_uint_eq(fixture.profile.damaged_bytes, 0);
	/* The chunk after the gap begins at 7 ms, where the lost chunk ended. Its first sample is at 8 ms. */
	ck_assert_uint_eq(fixture.profile.samples.items[5].time_ns, 8 * MS);
	ck_assert_uint_eq(fixture.profile.samples.items[5].wall_ns, MS);
	ck_assert_uint_eq(fixture.profile.samples.items[6].wall_ns, MS);
	fixture.file.bytes = file_bytes;
	fixture_close(&fixture);
}
END_TEST

START_TEST(wall_time_derived_or_written)
{
	static const uint64_t expected_wall_ns[] = { 2 * MS, 3 * MS, MS, 1500000, 0 };
	static const uint64_t times_ns[] = { 2 * MS, 5 * MS, 9 * MS, 10500000, 11 * MS };

	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 7, "main");
	for (size_t i = 0; i < 5; i++)
		fixture_sample(&fixture, 0, 0, times_ns[i], expected_wall_ns[i], 0);
	fixture_read(&fixture, false);
	for (size_t i = 0; i < 5; i++) {
		ck_assert_uint_eq(fixture.profile.samples.items[i].time_ns, times_ns[i]);
		ck_assert_uint_eq(fixture.profile.samples.items[i].wall_ns, expected_wall_ns[i]);
		ck_assert_uint_eq(fixture.profile.samples.items[i].stack, VG_NONE);
	}
	fixture_close(&fixture);
}
END_TEST

START_TEST(unknown_records_and_fields)
{
	/* [99, {"x": [1]}]; a header with "new"; an event of type 9 of thread 3; and thread 3 at 0 us with tid 9, name "t" and two fields of a future version */
	static const unsigned char unknown[] = { 0x92, 99, 0x81, 0xa1, 'x', 0x91, 1 };
	static const unsigned char header[] = { 0x92, VG_RECORD_HEADER, 0x81, 0xa3, 'n', 'e', 'w', 0xc3 };
	static const unsigned char event[] = { 0x97, VG_RECORD_EVENT, 9, 3, 0, 0xc0, 0xc0, 0 };
	static const unsigned char longer[] = { 0x97, VG_RECORD_THREAD, 3, 0, 9, 0xa1, 't', 0xc0, 0x80 };

	fixture_open(&fixture);
	ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
	ck_assert_int_eq(vg_writer_copy(&fixture.writer, unknown, sizeof unknown), 0);
	ck_assert_int_eq(vg_writer_copy(&fixture.writer, header, sizeof header), 0);
	ck_assert_int_eq(vg_writer_copy(&fixture.writer, longer, sizeof longer), 0);
	ck_assert_int_eq(vg_writer_copy(&fixture.writer, event, sizeof event), 0);
	ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
	fixture_read(&fixture, false);
	ck_assert_uint_eq(fixture.profile.damage.count, 0);
	ck_assert_uint_eq(fixture.profile.threads.count, 1);
	ck_assert_int_eq(fixture.profile.threads.items[0].tid, 9);
	ck_assert_str_eq(text(fixture.profile.threads.items[0].name), "t");
	ck_assert_uint_eq(fixture.profile.unknown_records, 2);
	ck_assert_uint_eq(fixture.profile.unknown_fields, 3);
	fixture_close(&fixture);
}
END_TEST

START_TEST(future_version_is_refused)
{
	/* [0, {"version": 2}] */
	static const unsigned char header[] = { 0x92, 0, 0x81, 0xa7, 'v', 'e', 'r', 's', 'i', 'o', 'n', 2 };
	unsigned char *bytes;
	size_t length;

	fixture_open(&fixture);
	ck_assert_int_eq(vg_writer_copy(&fixture.writer, header, sizeof header), 0);
	bytes = fixture_bytes(&fixture, &length);
	ck_assert_int_eq(fixture_read_bytes(&fixture, bytes, length), -EBADMSG);
	fixture_close(&fixture);
}
END_TEST

/* The reader computes a stack's index from its id while ids count upwards. It must not do so after a gap, after ids in
 * another order, or for a second stack with the same id. */
START_TEST(stack_ids_in_any_order)
{
	static const uint32_t ids[] = { 16, 17, 30, 18, 4000000000 };

	for (size_t from = 0; from < 3; from += 2) {
		fixture_open(&fixture);
		fixture_thread(&fixture, 0, 100, "main");
		for (size_t i = from; i < 5; i++)
			ck_assert_int_eq(vg_writer_stack(&fixture.writer, ids[i], i == from ? 0 : ids[i - 1],
							 VG_NONE, ids[i], VG_FOUND_BY_CFI), 0);
		ck_assert_int_eq(vg_writer_stack(&fixture.writer, ids[from], 0, VG_NONE, 1,
						 VG_FOUND_BY_CFI), 0);
		fixture_sample(&fixture, 0, 4000000000, 1000000, 1000000, 0);
		fixture_sample(&fixture, 0, 19, 2000000, 1000000, 0);
		fixture_read(&fixture, false);
		ck_assert_uint_eq(fixture.profile.stacks.count, 5 - from);
		ck_assert_uint_eq(fixture.profile.stacks.items[4 - from].depth, 5 - from);
		ck_assert_uint_eq(fixture.profile.samples.items[0].stack, 4 - from);
		ck_assert_uint_eq(fixture.profile.damage.count, 1);
		ck_assert_uint_eq(fixture.profile.samples_without_stack, 1);
		fixture_close(&fixture);
	}
}
END_TEST

/* In a chain of stacks, the stack that exceeds the greatest depth is damage. The stack after it is a new root. */
START_TEST(depth_of_stacks_is_bounded)
{
	const struct vg_profile *profile = &fixture.profile;
	const uint32_t deepest = VG_STACK_ROOTS + VG_STACK_DEPTH_MAX - 1;

	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 100, "main");
	for (uint32_t id = VG_STACK_ROOTS; id <= deepest + 2; id++)
		ck_assert_int_eq(vg_writer_stack(&fixture.writer, id, id == VG_STACK_ROOTS ? VG_WALK_ROOT : id - 1,
						 VG_NONE, id, VG_FOUND_BY_CFI), 0);
	for (uint32_t i = 0; i < 3; i++)
		fixture_sample(&fixture, 0, deepest + i, (i + 1) * MS, MS, 0);
	fixture_read(&fixture, false);
	ck_assert_uint_eq(profile->damage.count, 1);
	ck_assert_uint_eq(profile->samples_without_stack, 1);
	ck_assert_uint_eq(profile->stacks.count, VG_STACK_DEPTH_MAX + 1);
	ck_assert_uint_eq(profile->stacks.items[profile->samples.items[0].stack].depth, VG_STACK_DEPTH_MAX);
	ck_assert_uint_eq(profile->stacks.items[profile->samples.items[2].stack].depth, 1);
	ck_assert_uint_eq(profile->samples.items[2].end, VG_WALK_UNREADABLE);
	fixture_close(&fixture);
}
END_TEST

START_TEST(control_characters_in_names)
{
	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 1, "a\x1b[2J\x7f\n\xc2\x9b" "1m\xc3\xa4\xff");
	fixture_read(&fixture, false);
	ck_assert_str_eq(text(fixture.profile.threads.items[0].name), "a?[2J????1m\xc3\xa4?");
	fixture_close(&fixture);
}
END_TEST

/* A viewer that opens the files of its modules gets no path. */
START_TEST(modules_have_no_directories)
{
	fixture_open(&fixture);
	fixture_module(&fixture, 0, "/etc/../lib/libx.so");
	fixture_module(&fixture, 1, "[vdso]");
	fixture_read(&fixture, false);
	ck_assert_str_eq(text(fixture.profile.modules.items[0].name), "libx.so");
	ck_assert_str_eq(text(fixture.profile.modules.items[1].name), "[vdso]");
	fixture_close(&fixture);
}
END_TEST

/* The sum of damaged bytes saturates. */
START_TEST(sum_of_gaps_saturates)
{
	fixture_demo(&fixture);
	ck_assert_int_eq(vg_writer_gap(&fixture.writer, UINT64_MAX), 0);
	ck_assert_int_eq(vg_writer_gap(&fixture.writer, 1), 0);
	fixture_read(&fixture, true);
	ck_assert_uint_eq(fixture.profile.damaged_bytes, UINT64_MAX);
	fixture_close(&fixture);
}
END_TEST

START_TEST(gap_record_counts_as_damage)
{
	fixture_demo(&fixture);
	ck_assert_int_eq(vg_writer_gap(&fixture.writer, 123), 0);
	fixture_read(&fixture, true);
	ck_assert_uint_eq(fixture.profile.damaged_bytes, 123);
	ck_assert_uint_eq(fixture.profile.damage.items[0].offset, fixture.profile.file_bytes - 3);
	ck_assert_uint_eq(fixture.profile.end_reason, VG_NONE);
	fixture_close(&fixture);
}
END_TEST

/* Every field of every type of event, and a time that is before the previous one. The second half is in another
 * chunk. */
START_TEST(events_round_trip)
{
	static const struct vg_writer_event events[] = {
		{ VG_EVENT_BEGIN, 0, 0, 1, 2 * MS + 7, 42, 77, 0 },
		{ VG_EVENT_BEGIN, 0, 0, VG_NONE, 2 * MS + 9, 0, 78, 77 },
		{ VG_EVENT_INSTANT, 1, 1, 0, 1 * MS + 1, UINT64_MAX, 0, 0 },
		{ VG_EVENT_END, 0, VG_NONE, VG_NONE, 3 * MS, 0, 78, 0 },
		{ VG_EVENT_DETACHED_BEGIN, 1, 0, 1, 3 * MS, 5, UINT64_MAX, 77 },
		{ VG_EVENT_DETACHED_END, 0, VG_NONE, VG_NONE, 4 * MS, 0, UINT64_MAX, 0 },
		{ VG_EVENT_COUNTER, 1, VG_NONE, 2, 4 * MS, (uint64_t)INT64_MIN, 0, 0 },
		{ VG_EVENT_COUNTER, 1, VG_NONE, 2, 4 * MS, INT64_MAX, 0, 0 },
	};
	static const char *const labels[] = { "load", "a file \x1b[", NULL };
	static const char *const expected_labels[] = { "load", "a file ?[", NULL };
	const size_t count = sizeof events / sizeof *events;
	char longest[VG_LABEL_MAX_BYTES + 100];

	memset(longest, 'x', sizeof longest);
	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 7, "main");
	fixture_thread(&fixture, 1, 8, "other");
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_int_eq(vg_writer_label(&fixture.writer, i, labels[i], strlen(labels[i])), 0);
	ck_assert_int_eq(vg_writer_label(&fixture.writer, 2, longest, sizeof longest), 0);
	for (size_t i = 0; i < count; i++) {
		fixture_sample(&fixture, 0, 0, (2 + i) * MS, MS, 0);
		ck_assert_int_eq(vg_writer_event(&fixture.writer, &events[i]), 0);
		if (i == 3)
			ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
	}
	fixture_read(&fixture, false);
	ck_assert_uint_eq(fixture.profile.damage.count, 0);
	ck_assert_uint_eq(fixture.profile.events.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct vg_event *event = &fixture.profile.events.items[i];

		ck_assert_uint_eq(event->type, events[i].type);
		ck_assert_uint_eq(event->thread, events[i].thread);
		ck_assert_uint_eq(event->time_ns, events[i].time_ns);
		ck_assert_uint_eq(event->value, events[i].value);
		ck_assert_uint_eq(event->token, events[i].token);
		ck_assert_uint_eq(event->parent, events[i].parent);
		ck_assert(events[i].kind == VG_NONE ? event->kind == VG_NONE :
			  strcmp(text(event->kind), expected_labels[events[i].kind]) == 0);
		if (events[i].label == 2)
			ck_assert_uint_eq(strlen(text(event->label)), VG_LABEL_MAX_BYTES);
		else
			ck_assert(events[i].label == VG_NONE ? event->label == VG_NONE :
				  strcmp(text(event->label), expected_labels[events[i].label]) == 0);
	}
	fixture_close(&fixture);
}
END_TEST

START_TEST(samples_with_intervals_and_counters)
{
	static const struct vg_writer_sample samples[] = {
		{ .count = 1, .time_ns = 1 * MS, .wall_ns = 1 * MS },
		{ .count = 1, .time_ns = 2 * MS, .wall_ns = 1 * MS, .interval = UINT64_MAX },
		{ .count = 3, .time_ns = 3 * MS, .wall_ns = 5 * MS, .interval = 1 },
		{ .count = 2, .time_ns = 4 * MS, .wall_ns = 1 * MS },
	};

	const struct vg_writer_perf_counters early = { .count = 4, .time_ns = MS / 2, .values = { 9, 8, 7, 6 } };

	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 7, "main");
	ck_assert_int_eq(vg_writer_perf_counters(&fixture.writer, &early), 0);
	for (size_t i = 0; i < 4; i++) {
		struct vg_writer_perf_counters count = {
			.count = 2, .time_ns = samples[i].time_ns + i * MS / 4,
			.values = { i, UINT64_MAX - i },
		};

		ck_assert_int_eq(vg_writer_sample(&fixture.writer, &samples[i]), 0);
		ck_assert_int_eq(vg_writer_perf_counters(&fixture.writer, &count), 0);
	}
	fixture_read(&fixture, false);
	ck_assert_uint_eq(fixture.profile.damage.count, 0);
	ck_assert_uint_eq(fixture.profile.counter_readings.count, 5);
	ck_assert_uint_eq(fixture.profile.counter_readings.items[0].sample, VG_NONE);
	for (size_t i = 0; i < 4; i++) {
		const struct vg_sample *sample = &fixture.profile.samples.items[i];
		const struct vg_counter_reading *counted = &fixture.profile.counter_readings.items[i + 1];

		ck_assert_uint_eq(sample->interval, samples[i].interval);
		ck_assert_uint_eq(sample->count, samples[i].count);
		ck_assert_uint_eq(sample->wall_ns, samples[i].wall_ns);
		ck_assert_uint_eq(counted->sample, i);
		ck_assert_uint_eq(counted->time_ns, samples[i].time_ns + i * MS / 4);
		ck_assert_uint_eq(counted->values[0], i);
		ck_assert_uint_eq(counted->values[1], UINT64_MAX - i);
		ck_assert_uint_eq(counted->values[2], 0);
	}
	ck_assert_uint_eq(fixture.profile.counter_readings.items[0].time_ns, MS / 2);
	/* The fixture's header names no counters, so the reader makes names up. */
	ck_assert_uint_eq(fixture.profile.header.counter_count, 4);
	ck_assert_str_eq(text(fixture.profile.header.counters[3]), "counter 4");
	fixture_close(&fixture);
}
END_TEST

/* An event of an unknown type advances the time. A malformed event is skipped alone. A lost label is shown as a
 * question mark. */
START_TEST(malformed_events)
{
	static const unsigned char records[] = {
		0x97, VG_RECORD_EVENT, 9, 0, 100, 0xc0, 0xc0, 0xc0,      /* type 9, at 100 ns */
		0x97, VG_RECORD_EVENT, 0, 0, 0xd0, 0x80, 0xc0, 0xc0, 0,  /* before the recording */
		0x97, VG_RECORD_EVENT, 0, 0, 1, 0xa1, 'x', 0xc0, 0,      /* the label is a string */
		0x97, VG_RECORD_EVENT, 5, 0, 0, 0xc0, 0xc0, 0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff,                                      /* a counter above INT64_MAX */
		0x93, VG_RECORD_LABEL, 0xc0, 0xa1,  'x',                 /* the label has no id */
		0x94, VG_RECORD_PERF_COUNTERS, 0, 0xc0, 0x91, 7,         /* the counter reading has no time */
		0x97, VG_RECORD_EVENT, 0, 0, 1, 5, 0xc0, 3,              /* at 102 ns */
	};

	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 7, "main");
	ck_assert_int_eq(vg_writer_copy(&fixture.writer, records, sizeof records), 0);
	fixture_read(&fixture, false);
	ck_assert_uint_eq(fixture.profile.damage.count, 5);
	ck_assert_uint_eq(fixture.profile.events.count, 1);
	ck_assert_uint_eq(fixture.profile.events.items[0].time_ns, 102);
	ck_assert_str_eq(text(fixture.profile.events.items[0].kind), "?");
	fixture_close(&fixture);
}
END_TEST

Suite *profile_suite(void)
{
	Suite *suite = suite_create("profile");
	TCase *cases = tcase_create("profile");

	tcase_add_test(cases, round_trip);
	tcase_add_loop_test(cases, size_limit_is_kept, 0, 4);
	tcase_add_test(cases, kernel_symbols);
	tcase_add_test(cases, truncated_anywhere);
	tcase_add_test(cases, any_bit_flipped);
	tcase_add_test(cases, any_payload_byte_changed);
	tcase_add_test(cases, wall_time_after_a_gap);
	tcase_add_test(cases, wall_time_derived_or_written);
	tcase_add_test(cases, unknown_records_and_fields);
	tcase_add_test(cases, future_version_is_refused);
	tcase_add_test(cases, depth_of_stacks_is_bounded);
	tcase_add_test(cases, control_characters_in_names);
	tcase_add_test(cases, modules_have_no_directories);
	tcase_add_test(cases, stack_ids_in_any_order);
	tcase_add_test(cases, gap_record_counts_as_damage);
	tcase_add_test(cases, sum_of_gaps_saturates);
	tcase_add_test(cases, events_round_trip);
	tcase_add_test(cases, samples_with_intervals_and_counters);
	tcase_add_test(cases, malformed_events);
	suite_add_tcase(suite, cases);
	return suite;
}
