/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile/merge.h: one profile of the profiles of several processes. */
#include <check.h>
#include "tests/unit/suites.h"
#include <errno.h>
#include <string.h>

#include "profile/merge.h"
#include "tests/unit/fixture.h"
#include "vgtool/analysis/intervals.h"
#include "vgtool/analysis/perf_counts.h"

enum { MS = 1000000, PARTS = 3 };
static struct fixture parts[PARTS];
static struct vg_profile merged;
static struct vg_merge merge;

static const char *text(uint32_t string)
{
	return vg_profile_text(&merged, string);
}

static void header_set(struct fixture *fixture, const char *program, uint64_t start_us, const char *mode,
		       const char *counters)
{
	struct vg_writer_header header = {
		.period_ns = MS, .start_unix_s = 1700000000 + start_us / 1000000, .start_us = start_us % 1000000,
		.mode = mode, .writer = "test 1", .arch = "x86_64", .program = program, .counters = counters,
	};

	ck_assert_int_eq(vg_writer_header(&fixture->writer, &header), 0);
}

/* An interval with a token that each process uses, and an instant. */
static void events_add(struct fixture *fixture, const char *label)
{
	const struct vg_writer_event begin = { VG_EVENT_BEGIN, 1, VG_NONE, 0, MS, 0, 77, 0 };
	const struct vg_writer_event end = { VG_EVENT_END, 1, VG_NONE, 0, 3 * MS, 0, 77, 0 };

	ck_assert_int_eq(vg_writer_label(&fixture->writer, 0, label, strlen(label)), 0);
	ck_assert_int_eq(vg_writer_event(&fixture->writer, &begin), 0);
	ck_assert_int_eq(vg_writer_event(&fixture->writer, &end), 0);
}

static void counters_add(struct fixture *fixture, uint64_t first, uint64_t second)
{
	struct vg_writer_perf_counters reading = { 0, 2, 4 * MS, { first, second } };
	struct vg_named_value stats[] = { { "stops", first }, { "pause_max_ns", second } }, lost = { "late", 1 };

	ck_assert_int_eq(vg_writer_perf_counters(&fixture->writer, &reading), 0);
	ck_assert_int_eq(vg_writer_counts(&fixture->writer, VG_RECORD_STATS, stats, 2), 0);
	ck_assert_int_eq(vg_writer_counts(&fixture->writer, VG_RECORD_LOST, &lost, 1), 0);
}

/* Three processes.  The second one began first.  The third has no symbols. */
static void parts_open(void)
{
	fixture_demo_names(&parts[0]);
	header_set(&parts[0], "demo", 2500000, "wall", "page-faults,cycles");
	fixture_demo_names(&parts[1]);
	header_set(&parts[1], "first", 1000000, "wall", "cycles,instructions");
	fixture_demo(&parts[2]);
	header_set(&parts[2], "demo", 2500000, "wall", NULL);
	for (size_t i = 0; i < PARTS; i++) {
		char name[] = "code a";

		name[sizeof name - 2] = (char)('a' + i);
		ck_assert_int_eq(vg_writer_jit_code(&parts[i].writer, 0x7e00, 0x200, name), 0);
		events_add(&parts[i], name);
		if (i < 2)
			counters_add(&parts[i], 10 + i, 20 + i);
		fixture_read(&parts[i], false);
	}
}

static int part_add(size_t i, struct vg_err *err)
{
	static const char *const paths[] = { "a.vgp", "b.vgp", "c.vgp" };

	return vg_merge_add(&merge, &parts[i].profile, paths[i], err);
}

static void merge_all(void)
{
	struct vg_err err;

	merge = (struct vg_merge){ .profile = &merged };
	for (size_t i = 0; i < PARTS; i++)
		ck_assert_int_eq(part_add(i, &err), 0);
	ck_assert_int_eq(vg_merge_finish(&merge), 0);
}

static void parts_close(void)
{
	vg_merge_free(&merge);
	vg_profile_free(&merged);
	for (size_t i = 0; i < PARTS; i++)
		fixture_close(&parts[i]);
}

/* Both stacks have the same frames. */
static void stacks_compare(const struct vg_profile *profile, uint32_t stack, uint32_t of_merged)
{
	for (; stack != VG_NONE && of_merged != VG_NONE; stack = profile->stacks.items[stack].parent,
	     of_merged = merged.stacks.items[of_merged].parent) {
		const struct vg_stack *a = &profile->stacks.items[stack], *b = &merged.stacks.items[of_merged];

		ck_assert_uint_eq(a->address, b->address);
		ck_assert_uint_eq(a->depth, b->depth);
		ck_assert_uint_eq(a->end, b->end);
		ck_assert_int_eq(a->module == VG_NONE, b->module == VG_NONE);
		if (a->module == VG_NONE)
			continue;
		ck_assert_str_eq(vg_profile_text(profile, profile->modules.items[a->module].name),
				 text(merged.modules.items[b->module].name));
	}
	ck_assert_uint_eq(stack, VG_NONE);
	ck_assert_uint_eq(of_merged, VG_NONE);
}

START_TEST(samples_keep_their_stacks_weights_and_times)
{
	static const uint64_t later_ns[PARTS] = { UINT64_C(1500) * MS, 0, UINT64_C(1500) * MS };
	size_t at = 0;

	parts_open();
	merge_all();
	ck_assert_uint_eq(merged.processes.count, PARTS);
	ck_assert_uint_eq(merged.samples_total, 15);
	ck_assert_uint_eq(merged.threads.count, 6);
	ck_assert_uint_eq(merged.duration_ns, later_ns[0] + 5 * MS);
	ck_assert_uint_eq(merged.header.start_unix_s, 1700000001);
	ck_assert_str_eq(text(merged.header.program), "first and others");
	ck_assert_str_eq(text(merged.end_reason), "done");
	for (uint32_t i = 0; i < PARTS; i++) {
		const struct vg_profile *part = &parts[i].profile;

		ck_assert_str_eq(text(merged.processes.items[i].name), i == 1 ? "first" : "demo");
		ck_assert_int_eq(merged.processes.items[i].pid, 100);
		for (size_t s = 0; s < part->samples.count; s++, at++) {
			const struct vg_sample *a = &part->samples.items[s], *b = &merged.samples.items[at];
			const struct vg_thread *thread = &merged.threads.items[b->thread];

			ck_assert_uint_eq(a->wall_ns, b->wall_ns);
			ck_assert_uint_eq(a->cpu_ns, b->cpu_ns);
			ck_assert_uint_eq(a->time_ns + later_ns[i], b->time_ns);
			ck_assert_uint_eq(thread->process, i);
			ck_assert_int_eq(thread->tid, part->threads.items[a->thread].tid);
			stacks_compare(part, a->stack, b->stack);
		}
	}
	ck_assert_uint_eq(at, merged.samples.count);
	parts_close();
}
END_TEST

/* Modules and functions are shared.  JIT code is that of the node's process, because all have it at one address. */
START_TEST(names)
{
	const struct vg_symbol_line *lines;
	size_t count;

	parts_open();
	merge_all();
	ck_assert_uint_eq(merged.modules.count, 2);
	ck_assert_uint_eq(merged.functions.count, 3);
	ck_assert(merged.resolved && merged.partly_resolved);
	lines = vg_profile_symbol(&merged, 0, 0x20, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_str_eq(text(merged.functions.items[lines[1].function].name), "work");
	for (uint32_t i = 0; i < PARTS; i++) {
		const struct vg_stack *stack = &merged.stacks.items[merged.processes.items[i].first_stack + 4];
		char name[] = "code a";

		name[sizeof name - 2] = (char)('a' + i);
		ck_assert_uint_eq(stack->module, VG_NONE);
		ck_assert_str_eq(text(vg_profile_jit_name(&merged, stack)), name);
	}
	parts_close();
}
END_TEST

START_TEST(intervals_of_processes_stay_apart)
{
	struct vg_intervals intervals;

	parts_open();
	merge_all();
	ck_assert_int_eq(vg_intervals_build(&intervals, &merged), 0);
	ck_assert_uint_eq(intervals.items.count, PARTS);
	ck_assert_uint_eq(intervals.begins_repeated, 0);
	ck_assert_uint_eq(intervals.ends_orphaned, 0);
	for (uint32_t i = 0; i < PARTS; i++) {
		ck_assert_uint_eq(vg_interval_ns(&intervals.items.items[i]), 2 * MS);
		ck_assert_uint_eq(merged.threads.items[intervals.items.items[i].thread].process, i);
	}
	vg_intervals_free(&intervals);
	parts_close();
}
END_TEST

/* A counter keeps its values, although it is the second one in the first file and the first one in the second file. */
START_TEST(counters_and_statistics)
{
	static const struct { const char *name; uint64_t total; } counters[] = {
		{ "page-faults", 10 }, { "cycles", 20 + 11 }, { "instructions", 21 },
	};

	parts_open();
	merge_all();
	ck_assert_uint_eq(merged.header.counter_count, 3);
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
		struct vg_perf_counts counts;
		uint32_t counter = vg_perf_counter_find(&merged, counters[i].name);

		ck_assert_uint_ne(counter, VG_NONE);
		ck_assert_int_eq(vg_perf_counts_build(&counts, &merged, counter), 0);
		ck_assert_uint_eq(counts.total, counters[i].total);
		vg_perf_counts_free(&counts);
	}
	ck_assert_uint_eq(vg_profile_count(&merged, &merged.stats, "stops")->value, 21);
	ck_assert_uint_eq(vg_profile_count(&merged, &merged.stats, "pause_max_ns")->value, 21);
	ck_assert_uint_eq(vg_profile_count(&merged, &merged.lost, "late")->value, 2);
	parts_close();
}
END_TEST

START_TEST(modes_are_not_mixed)
{
	struct vg_err err;

	fixture_demo(&parts[0]);
	fixture_demo(&parts[1]);
	header_set(&parts[1], "demo", 0, "cpu", NULL);
	fixture_demo(&parts[2]);
	for (size_t i = 0; i < PARTS; i++)
		fixture_read(&parts[i], i == 2);
	merge = (struct vg_merge){ .profile = &merged };
	ck_assert_int_eq(part_add(0, &err), 0);
	ck_assert_int_eq(part_add(1, &err), -EINVAL);
	ck_assert_str_eq(err.text, "b.vgp: its mode is cpu, but that of a.vgp is wall; these cannot be shown together");
	/* The other profiles are still good.  A truncated one makes the whole truncated. */
	ck_assert_int_eq(part_add(2, &err), 0);
	ck_assert_int_eq(vg_merge_finish(&merge), 0);
	ck_assert_uint_eq(merged.samples.count, 10);
	ck_assert_uint_eq(merged.end_reason, VG_NONE);
	ck_assert_str_eq(text(merged.header.program), "demo");
	parts_close();
}
END_TEST

/* Times of a hostile header: unknown, and the greatest number. */
START_TEST(start_times_out_of_range)
{
	struct vg_err err;

	fixture_demo(&parts[0]);
	header_set(&parts[0], "demo", UINT64_MAX / 2, "wall", NULL);
	fixture_demo(&parts[1]);
	fixture_demo(&parts[2]);
	header_set(&parts[2], "demo", UINT64_C(6000000000) * 1000000, "wall", NULL);
	for (size_t i = 0; i < PARTS; i++)
		fixture_read(&parts[i], false);
	merge = (struct vg_merge){ .profile = &merged };
	for (size_t i = 0; i < PARTS; i++)
		ck_assert_int_eq(part_add(i, &err), 0);
	ck_assert_int_eq(vg_merge_finish(&merge), 0);
	ck_assert_uint_eq(merged.processes.items[0].start_ns, 0);
	ck_assert_uint_eq(merged.processes.items[0].begin_ns, 0);
	ck_assert_uint_eq(merged.processes.items[1].begin_ns, 0);
	ck_assert_uint_eq(merged.processes.items[2].begin_ns, UINT64_C(6000000000) * 1000000000);
	ck_assert_uint_eq(merged.threads.items[0].end_ns, UINT64_MAX);
	parts_close();
}
END_TEST

Suite *merge_suite(void)
{
	Suite *suite = suite_create("merge");
	TCase *cases = tcase_create("merge");

	tcase_add_test(cases, samples_keep_their_stacks_weights_and_times);
	tcase_add_test(cases, names);
	tcase_add_test(cases, intervals_of_processes_stay_apart);
	tcase_add_test(cases, counters_and_statistics);
	tcase_add_test(cases, modes_are_not_mixed);
	tcase_add_test(cases, start_times_out_of_range);
	suite_add_tcase(suite, cases);
	return suite;
}
