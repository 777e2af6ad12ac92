/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fixture.h"
#include "vgtool/analysis/interval_table.h"
#include "vgtool/analysis/measures.h"
#include "vgtool/analysis/interval_counts.h"
#include "vgtool/analysis/summary.h"
#include "vgtool/views/chrome.h"
#include "vgtool/views/folded.h"
#include "vgtool/views/speedscope.h"

enum { US = 1000, MS = 1000000 };
enum { A, B, C, LABELS };
static struct fixture fixture;
static struct vg_intervals intervals;
static uint64_t parent;

static void open_profile(void)
{
	static const char *const names[] = { "a", "b", "c" };

	fixture_demo(&fixture);
	for (uint32_t i = 0; i < LABELS; i++)
		ck_assert_int_eq(vg_writer_label(&fixture.writer, i, names[i], 1), 0);
	parent = 0;
}

/* label is VG_NONE for ends. */
static void event(enum vg_event_type what, uint32_t thread, uint64_t time_us, uint32_t label,
		  uint64_t token)
{
	struct vg_writer_event event = { .type = what, .thread = thread, .time_ns = time_us * US,
					 .kind = VG_NONE, .label = label, .token = token, .parent = parent };

	ck_assert_int_eq(vg_writer_event(&fixture.writer, &event), 0);
}

static void begin(uint64_t time_us, uint32_t label, uint64_t token)
{
	event(VG_EVENT_BEGIN, 0, time_us, label, token);
}

static void end(uint64_t time_us, uint64_t token)
{
	event(VG_EVENT_END, 0, time_us, VG_NONE, token);
}

static void build(void)
{
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_intervals_build(&intervals, &fixture.profile), 0);
}

static void close_profile(void)
{
	vg_intervals_free(&intervals);
	fixture_close(&fixture);
}

static void expect(size_t i, uint64_t begin_us, uint64_t end_us, uint64_t self_us, uint64_t total_us)
{
	const struct vg_interval *interval = &intervals.items.items[i];

	ck_assert_uint_lt(i, intervals.items.count);
	ck_assert_msg(interval->begin_ns == begin_us * US && interval->end_ns == end_us * US &&
		      interval->self_ns == self_us * US && interval->total_ns == total_us * US,
		      "interval %zu: %lu to %lu, self %lu, once %lu", i, interval->begin_ns, interval->end_ns,
		      interval->self_ns, interval->total_ns);
}

START_TEST(nested)
{
	open_profile();
	begin(10, A, 1);
	begin(20, B, 2);
	begin(30, A, 3);
	end(40, 3);
	end(60, 2);
	begin(70, B, 4);
	end(90, 4);
	end(100, 1);
	build();
	expect(0, 10, 100, 30, 90);
	expect(1, 20, 60, 30, 40);
	/* An interval "a" within another "a" adds nothing to the total of "a". */
	expect(2, 30, 40, 10, 0);
	expect(3, 70, 90, 20, 20);
	ck_assert(intervals.items.items[2].is_recursive && !intervals.items.items[3].is_recursive);
	ck_assert_uint_eq(intervals.items.items[2].depth, 2);
	ck_assert_uint_eq(intervals.items.items[3].parent, 0);
	close_profile();
}
END_TEST

/* The sum of the self times is the time in which any interval was open, in whatever order the intervals end. */
START_TEST(not_nested)
{
	open_profile();
	begin(10, A, 1);
	begin(20, B, 2);
	end(30, 1);
	end(50, 2);
	begin(60, A, 3);
	begin(70, A, 4);
	end(80, 3);
	end(90, 4);
	build();
	expect(0, 10, 30, 10, 20);
	expect(1, 20, 50, 30, 30);
	ck_assert(intervals.items.items[0].not_nested && !intervals.items.items[1].not_nested);
	expect(2, 60, 80, 10, 0);
	expect(3, 70, 90, 20, 30);
	close_profile();
}
END_TEST

START_TEST(open_and_orphaned)
{
	open_profile();
	end(5, 77);
	begin(10, A, 1);
	begin(4000, B, 2);
	event(VG_EVENT_DETACHED_BEGIN, 1, 4500, C, 9);
	event(VG_EVENT_BEGIN, 1, 1000, A, 10);
	ck_assert_int_eq(vg_writer_thread_end(&fixture.writer, 1, 4600 * US), 0);
	build();
	expect(0, 10, 5000, 3990, 4990);
	expect(1, 4000, 5000, 1000, 1000);
	/* A detached interval continues after its thread exited. */
	expect(2, 4500, 5000, 500, 500);
	/* A time before the previous one counts as equal to it. The thread's exit ends its open intervals. */
	expect(3, 4500, 4600, 100, 100);
	for (size_t i = 0; i < 4; i++)
		ck_assert_uint_eq(intervals.items.items[i].state, VG_INTERVAL_OPEN);
	ck_assert_uint_eq(intervals.ends_orphaned, 1);
	ck_assert_uint_eq(intervals.times_out_of_order, 1);
	close_profile();
}
END_TEST

START_TEST(tokens_used_again)
{
	open_profile();
	begin(10, A, 1);
	begin(20, B, 1);
	end(30, 1);
	end(40, 1);
	begin(50, C, 1);
	end(60, 1);
	build();
	expect(1, 20, 30, 10, 10);
	expect(2, 50, 60, 10, 10);
	ck_assert_uint_eq(intervals.items.items[0].state, VG_INTERVAL_OPEN);
	ck_assert_uint_eq(intervals.begins_repeated, 1);
	ck_assert_uint_eq(intervals.ends_orphaned, 1);
	ck_assert_uint_eq(vg_intervals_find(&intervals, 1), 2);
	ck_assert_uint_eq(vg_intervals_find(&intervals, 2), VG_NONE);
	close_profile();
}
END_TEST

/* If events were dropped, the parent of a later begin shows which ends are missing. */
START_TEST(lost_ends)
{
	struct vg_named_value lost = { "events_dropped", 3 };

	open_profile();
	ck_assert_int_eq(vg_writer_counts(&fixture.writer, VG_RECORD_LOST, &lost, 1), 0);
	begin(10, A, 1);
	parent = 1;
	begin(20, B, 2);
	begin(50, C, 3);
	parent = 0;
	begin(90, B, 4);
	end(100, 4);
	build();
	ck_assert_uint_eq(intervals.dropped, 3);
	expect(0, 10, 90, 10, 80);
	expect(1, 20, 50, 30, 30);
	expect(2, 50, 90, 40, 40);
	expect(3, 90, 100, 10, 10);
	ck_assert_uint_eq(intervals.items.items[1].state, VG_INTERVAL_END_LOST);
	ck_assert_uint_eq(intervals.items.items[3].state, VG_INTERVAL_ENDED);
	close_profile();
}
END_TEST

/* ---- random intervals, up to 200 deep; some of their ends are lost ---- */

/* libvgctl tracks TRACKED open intervals. An interval that begins in a deeper one has an unknown parent. */
enum { STEPS = 20000, DEEPEST = 200, TRACKED = 64, LISTED = 2 * DEEPEST + STEPS };

/* An interval with the times and the state that vg_intervals_build() must find. The program knows `ended` and
 * `tracked`. */
struct model_interval {
	uint64_t begin_us, end_us, self_us;
	uint8_t state;
	bool ended, tracked;
};

/* `listed` are the intervals that are open according to the profile, in the order of their begins. The program may have
 * ended some of them: their ends are lost. */
struct model {
	struct model_interval of[STEPS];
	uint32_t count, listed[LISTED], open, depth, tracked;
	uint64_t now_us;
	uint32_t random;
	size_t lost;
};

static uint32_t random_below(struct model *model, uint32_t below)
{
	model->random = model->random * 1664525 + 1013904223;
	return (model->random >> 8) % below;
}

static void model_pass(struct model *model, uint64_t us)
{
	model->now_us += us;
	if (model->open > 0)
		model->of[model->listed[model->open - 1]].self_us += us;
}

static void model_close(struct model *model, uint32_t at, enum vg_interval_state state)
{
	struct model_interval *of = &model->of[model->listed[at]];

	of->end_us = model->now_us;
	of->state = (uint8_t)state;
	model->open--;
	memmove(&model->listed[at], &model->listed[at + 1], (model->open - at) * sizeof *model->listed);
}

/* Returns the index + 1, in `listed`, of the program's innermost open interval. */
static uint32_t model_innermost(const struct model *model)
{
	uint32_t at = model->open;

	while (at > 0 && model->of[model->listed[at - 1]].ended)
		at--;
	return at;
}

static void model_begin(struct model *model)
{
	uint32_t parent_at = model_innermost(model), index = model->count++;
	bool known = model->tracked == model->depth;

	if (known && model->lost > 0) {
		while (model->open > parent_at)
			model_close(model, model->open - 1, VG_INTERVAL_END_LOST);
	}
	parent = !known ? index + 1 : parent_at > 0 ? model->listed[parent_at - 1] + 1 : 0;
	model->of[index] = (struct model_interval){ .begin_us = model->now_us, .state = VG_INTERVAL_OPEN,
					      .tracked = model->tracked < TRACKED };
	begin(model->now_us, A + random_below(model, LABELS), index + 1);
	model->tracked += model->of[index].tracked;
	model->depth++;
	model->listed[model->open++] = index;
}

static void model_end(struct model *model, uint32_t back, bool lost)
{
	uint32_t at = model->open;

	for (at = model_innermost(model); back > 0 || model->of[model->listed[at - 1]].ended; at--)
		back -= !model->of[model->listed[at - 1]].ended;
	model->of[model->listed[at - 1]].ended = true;
	model->tracked -= model->of[model->listed[at - 1]].tracked;
	model->depth--;
	parent = 0;
	model->lost += lost;
	if (lost)
		return;
	end(model->now_us, model->listed[at - 1] + 1);
	model_close(model, at - 1, VG_INTERVAL_ENDED);
}

/* In half of the runs no end is lost, although the profile says that an event was dropped. */
static void model_run(struct model *model, bool lossy)
{
	uint32_t aim = DEEPEST;

	for (int step = 0; step < STEPS; step++) {
		model_pass(model, 1 + random_below(model, 5));
		if (random_below(model, 64) == 0)
			aim = 1 + random_below(model, DEEPEST);
		if (model->depth < aim && random_below(model, 8) != 0)
			model_begin(model);
		else if (model->depth > 0)
			model_end(model, random_below(model, 16) == 0 ? random_below(model, model->depth) : 0,
				  lossy && random_below(model, 20) == 0);
	}
}

START_TEST(random_nesting)
{
	struct model *model = calloc(1, sizeof *model);
	const struct vg_named_value lost = { "events_dropped", 1 };
	bool lossy = _i % 2 != 0;
	size_t closed = 0, deep = 0;
	uint64_t end_us;

	model->random = (uint32_t)_i + 1;
	model->lost = 1;
	open_profile();
	ck_assert_int_eq(vg_writer_counts(&fixture.writer, VG_RECORD_LOST, &lost, 1), 0);
	model_run(model, lossy);
	build();
	/* Open intervals end when the profile ends, or with the last event if that is later. */
	end_us = intervals.end_ns / US;
	model_pass(model, end_us - model->now_us);
	while (model->open > 0)
		model_close(model, model->open - 1, VG_INTERVAL_OPEN);
	ck_assert_uint_eq(intervals.items.count, model->count);
	ck_assert_uint_eq(intervals.ends_orphaned + intervals.begins_repeated + intervals.times_out_of_order, 0);
	for (uint32_t i = 0; i < model->count; i++) {
		const struct model_interval *of = &model->of[i];
		const struct vg_interval *interval = &intervals.items.items[i];

		ck_assert_msg(interval->begin_ns == of->begin_us * US && interval->end_ns == of->end_us * US &&
			      interval->self_ns == of->self_us * US && interval->state == of->state,
			      "interval %u: %lu to %lu, self %lu, state %u; expected %lu to %lu, self %lu, state %u", i,
			      interval->begin_ns / US, interval->end_ns / US, interval->self_ns / US, interval->state,
			      of->begin_us, of->end_us, of->self_us, of->state);
		closed += of->state == VG_INTERVAL_END_LOST;
		deep += !of->tracked;
	}
	ck_assert_uint_gt(deep, 1000);
	ck_assert(lossy ? closed > 100 : closed == 0);
	free(model);
	close_profile();
}
END_TEST

START_TEST(by_label)
{
	struct vg_summary summary = { .by_thread = false };

	open_profile();
	for (uint64_t i = 1; i <= 100; i++) {
		begin(i * 1000, A, i);
		end(i * 1000 + i, i);
	}
	event(VG_EVENT_COUNTER, 0, 200000, B, 0);
	event(VG_EVENT_INSTANT, 1, 200000, A, 0);
	build();
	ck_assert_int_eq(vg_summary_add(&summary, &intervals), 0);
	ck_assert_int_eq(vg_summary_add(&summary, &intervals), 0);
	vg_summary_finish(&summary);
	ck_assert_uint_eq(summary.rows.count, 3);
	ck_assert_str_eq(summary.rows.items[0].label, "a");
	ck_assert_ptr_null(summary.rows.items[0].kind);
	ck_assert_uint_eq(summary.rows.items[0].count, 200);
	ck_assert_uint_eq(summary.rows.items[0].self_ns, 2 * 5050 * US);
	ck_assert_uint_eq(summary.rows.items[0].min_ns, 1 * US);
	ck_assert_uint_eq(summary.rows.items[0].max_ns, 100 * US);
	ck_assert_uint_eq(summary.rows.items[0].p50_ns, 50 * US);
	ck_assert_uint_eq(summary.rows.items[0].p99_ns, 99 * US);
	ck_assert_int_eq(summary.rows.items[1].type, VG_SUMMARY_INSTANT);
	ck_assert_int_eq(summary.rows.items[2].type, VG_SUMMARY_COUNTER);
	ck_assert_uint_eq(summary.rows.items[2].count, 2);
	vg_summary_free(&summary);
	close_profile();
}
END_TEST

static void sample(uint64_t time_ms, uint64_t interval)
{
	struct vg_writer_sample sample = { .thread = 0, .stack = 16, .count = 1, .time_ns = time_ms * MS,
					   .wall_ns = MS, .interval = interval };

	ck_assert_int_eq(vg_writer_sample(&fixture.writer, &sample), 0);
}

START_TEST(samples_by_interval)
{
	struct vg_interval_table_maker maker;
	struct vg_interval_table table;
	struct vg_thread_samples threads;
	unsigned char *keep;

	open_profile();
	begin(10000, A, 1);
	begin(11000, B, 2);
	begin(12000, A, 3);
	event(VG_EVENT_BEGIN, 1, 12000, C, 4);
	sample(13, 3);
	sample(14, 3);
	sample(15, 2);
	sample(16, 1);
	sample(17, 0);
	sample(18, 4);
	sample(19, 5);
	build();
	ck_assert_int_eq(vg_thread_samples_build(&threads, &fixture.profile, 100), 0);
	ck_assert_int_eq(vg_interval_table_maker_open(&maker, &intervals, VG_WEIGHT_WALL), 0);
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(vg_interval_table_build(&table, &maker, threads.order,
							 threads.first[1]), 0);
		ck_assert_uint_eq(table.rows.count, 3);
		/* Samples in no interval: three of fixture_demo(), one in no interval, one in another thread's
		 * interval, one in an unknown interval. */
		ck_assert(table.rows.items[0].is_none);
		ck_assert_uint_eq(table.rows.items[0].self_samples, 6);
		/* In the nesting a, b, a, a sample in the inner "a" counts once for "a". */
		ck_assert_uint_eq(table.rows.items[1].self_ns, 3 * MS);
		ck_assert_uint_eq(table.rows.items[1].total_ns, 4 * MS);
		ck_assert_uint_eq(table.rows.items[2].self_ns, 1 * MS);
		ck_assert_uint_eq(table.rows.items[2].total_ns, 3 * MS);
		vg_interval_table_free(&table);
	}
	ck_assert_int_eq(vg_samples_in_interval(&intervals, "b", &keep), 0);
	vg_thread_samples_keep(&threads, &fixture.profile, keep);
	ck_assert_uint_eq(threads.first[1], 3);
	ck_assert_uint_eq(threads.first[2], 3);
	free(keep);
	ck_assert_int_ne(vg_samples_in_interval(&intervals, "d", &keep), 0);
	free(keep);
	vg_interval_table_maker_close(&maker);
	vg_thread_samples_free(&threads);
	close_profile();
}
END_TEST

/* In the trace, each thread has its own copy of its stacks. The depth of a stack in this copy is bounded. */
START_TEST(deep_trace)
{
	size_t bytes;
	char *trace;
	FILE *file;

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	for (uint32_t i = 0; i < 20000; i++)
		often_assert_eq(vg_writer_stack(&fixture.writer, VG_STACK_ROOTS + i,
						i == 0 ? VG_WALK_ROOT : VG_STACK_ROOTS + i - 1, 0, i, 0), 0);
	for (uint32_t t = 0; t < 4; t++) {
		fixture_thread(&fixture, t, 7, "");
		fixture_sample(&fixture, t, VG_STACK_ROOTS + 19999, MS, MS, 0);
	}
	fixture_read(&fixture, false);
	file = open_memstream(&trace, &bytes);
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(vg_chrome_write(&fixture.profile, &(struct vg_chrome_options){ 0 }, "x", file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_uint_eq(fixture_parts(trace, "\"callFrame\""), 4 * (1 + 2000 + 1));
	ck_assert_ptr_nonnull(strstr(trace, "\"id\":2002,\"parent\":2001,\"callFrame\":"
				     "{\"functionName\":\"[deeper frames cut]\""));
	ck_assert_ptr_nonnull(strstr(trace, "\"samples\":[2002]"));
	/* Four threads with one tid remain four threads. */
	ck_assert_ptr_nonnull(strstr(trace, "\"tid\":1073741827,"));
	free(trace);
	fixture_close(&fixture);
}
END_TEST

/* Writes every view of a profile that a hostile writer with good checksums may have made. */
static void views_write(const struct vg_profile *profile)
{
	FILE *file = fmemopen(NULL, 262144, "w");
	struct vg_measures measures = { 0 };
	struct vg_interval_table_maker maker;
	struct vg_interval_table table;
	struct vg_thread_samples threads;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(vg_chrome_write(profile, &(struct vg_chrome_options){ .collapse_threads = true }, "x", file), 0);
	rewind(file);
	ck_assert_int_eq(vg_speedscope_write(profile, VG_WEIGHT_WALL, VG_FRAMES_FUNCTION, "x", file), 0);
	rewind(file);
	ck_assert_int_eq(vg_folded_write(profile, &(struct vg_folded_options){ .by_thread = true }, file), 0);
	fclose(file);
	ck_assert_int_eq(vg_measures_add(&measures, profile, "intervals.vgp", NULL), 0);
	ck_assert_int_eq(vg_measures_add(&measures, profile, "intervals.vgp", NULL), 0);
	ck_assert_int_eq(vg_measures_finish(&measures), 0);
	vg_measures_free(&measures);
	ck_assert_int_eq(vg_intervals_build(&intervals, profile), 0);
	ck_assert_int_eq(vg_thread_samples_build(&threads, profile, -1), 0);
	ck_assert_int_eq(vg_interval_table_maker_open(&maker, &intervals, VG_WEIGHT_WALL), 0);
	ck_assert_int_eq(vg_interval_table_build(&table, &maker, threads.order,
						 profile->samples.count), 0);
	vg_interval_table_free(&table);
	vg_interval_table_maker_close(&maker);
	vg_thread_samples_free(&threads);
	for (uint32_t i = 0; i < profile->header.counter_count; i++) {
		struct vg_interval_counts own;
		struct vg_perf_counts counted;

		ck_assert_int_eq(vg_perf_counts_build(&counted, profile, i), 0);
		ck_assert_int_eq(vg_interval_counts_build(&own, &intervals, &counted), 0);
		vg_interval_counts_free(&own);
		vg_perf_counts_free(&counted);
	}
	vg_intervals_free(&intervals);
}

START_TEST(any_payload_byte_changed)
{
	const struct vg_writer_perf_counters count = { .count = 1, .time_ns = 60, .values = { 5 } };

	open_profile();
	begin(10, A, 1);
	parent = 1;
	begin(20, B, 2);
	parent = 0;
	event(VG_EVENT_DETACHED_BEGIN, 1, 30, C, 3);
	sample(5, 2);
	end(40, 1);
	event(VG_EVENT_COUNTER, 0, 50, C, 0);
	event(VG_EVENT_INSTANT, 0, 60, A, 0);
	event(VG_EVENT_DETACHED_END, 0, 70, VG_NONE, 3);
	ck_assert_int_eq(vg_writer_perf_counters(&fixture.writer, &count), 0);
	fixture_each_change(&fixture, views_write);
	fixture_close(&fixture);
}
END_TEST

Suite *intervals_suite(void)
{
	Suite *suite = suite_create("intervals");
	TCase *cases = tcase_create("intervals");

	tcase_add_test(cases, nested);
	tcase_add_test(cases, not_nested);
	tcase_add_test(cases, open_and_orphaned);
	tcase_add_test(cases, tokens_used_again);
	tcase_add_test(cases, lost_ends);
	tcase_add_loop_test(cases, random_nesting, 0, 6);
	tcase_add_test(cases, by_label);
	tcase_add_test(cases, samples_by_interval);
	tcase_add_test(cases, deep_trace);
	tcase_add_test(cases, any_payload_byte_changed);
	suite_add_tcase(suite, cases);
	return suite;
}
