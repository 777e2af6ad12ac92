/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The analysis behind `vgtool report`: trees, callers and callees, kinds of rows, filters, and the width of text. */
#include <check.h>
#include "tests/unit/suites.h"
#include <string.h>

#include "tests/unit/fixture.h"
#include "vgtool/analysis/call_tree.h"
#include "vgtool/analysis/function_match.h"
#include "vgtool/analysis/sample_filter.h"
#include "vgtool/output/terminal.h"
#include "vgtool/views/report.h"

static struct fixture fixture;
static struct vg_frames frames;
static struct vg_thread_samples threads;
static struct vg_call_tree tree;

enum { MS = 1000000 };

static void frames_open(enum vg_frames_kind kind)
{
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_frames_build_rows(&frames, &fixture.profile, kind, false), 0);
	ck_assert_int_eq(vg_thread_samples_build(&threads, &fixture.profile, -1), 0);
}

static void frames_close(void)
{
	vg_thread_samples_free(&threads);
	vg_frames_free(&frames);
	fixture_close(&fixture);
}

/*
 * Functions a, b, c and d.  The stacks, with their wall time:
 *
 *	a b c    10 ms
 *	a b b d  20 ms
 *	a c      30 ms
 *	a        39 ms
 *	d         1 ms
 */
static void made_open(void)
{
	static const struct { uint32_t parent, function; uint64_t ms; } stacks[] = {
		{ VG_WALK_ROOT, 0, 39 }, { 16, 1, 0 }, { 17, 2, 10 }, { 17, 1, 0 }, { 19, 3, 20 }, { 16, 2, 30 },
		{ VG_WALK_ROOT, 3, 1 },
	};
	static const char *const names[] = { "a", "b", "c", "d" };

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "main");
	for (uint32_t i = 0; i < 4; i++) {
		struct vg_symbol_line line = { i, 10 + i };

		ck_assert_int_eq(vg_writer_function(&fixture.writer, i, names[i], i < 2 ? "x.c" : NULL, 0), 0);
		ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, i, &line, 1), 0);
	}
	for (uint32_t i = 0; i < 7; i++)
		ck_assert_int_eq(vg_writer_stack(&fixture.writer, 16 + i, stacks[i].parent, 0,
						 stacks[i].function, 0), 0);
	for (uint32_t i = 0; i < 7; i++) {
		if (stacks[i].ms > 0)
			fixture_sample(&fixture, 0, 16 + i, (i + 1) * 100 * MS, stacks[i].ms * MS, i < 3 ? MS : 0);
	}
	frames_open(VG_FRAMES_FUNCTION);
}

/* Writes the tree as a line: "0-a:99/39 1-b:30/0 ...". A row has its depth, "-" if it has siblings, its function, and
 * its total and self time in ms. */
static const char *tree_text(const struct vg_call_tree_options *options)
{
	static char text[1024];
	size_t at = 0;

	ck_assert_int_eq(vg_call_tree_build(&tree, &frames, threads.order,
					    threads.first[fixture.profile.threads.count], options), 0);
	text[0] = '\0';
	for (size_t i = 0; i < tree.rows.count; i++) {
		const struct vg_call_row *row = &tree.rows.items[i];

		at += (size_t)snprintf(text + at, sizeof text - at, "%s%u%s%s:%lu/%lu", i > 0 ? " " : "", row->depth,
				       row->is_branch ? "-" : "",
				       row->function == VG_NONE ? "*" : vg_frames_function(&frames, row->function).name,
				       row->total_ns / MS, row->self_ns / MS);
	}
	vg_call_tree_free(&tree);
	return text;
}

START_TEST(trees)
{
	struct vg_function_match match;

	made_open();
	ck_assert_str_eq(tree_text(&(struct vg_call_tree_options){ 0 }),
			 "0-a:99/39 1-b:30/0 2-b:20/0 3d:20/20 2-c:10/10 1-c:30/30 0-d:1/1");
	ck_assert_str_eq(tree_text(&(struct vg_call_tree_options){ .least_ppm = 110000 }),
			 "0a:99/39 1-b:30/0 2b:20/0 3d:20/20 1-c:30/30");
	ck_assert_str_eq(tree_text(&(struct vg_call_tree_options){ .to_callers = true }),
			 "0-c:40/0 1-a:30/0 1-b:10/0 2a:10/0 0-a:39/0 0-d:21/0 1b:20/0 2b:20/0 3a:20/0");
	ck_assert_int_eq(vg_function_match_name(&match, &frames, "b"), 0);
	/* b calls b: the sample counts once, and a is the only caller. */
	ck_assert_str_eq(tree_text(&(struct vg_call_tree_options){ .to_callers = true, .begin = match.marked }),
			 "0b:30/0 1a:30/0");
	ck_assert_str_eq(tree_text(&(struct vg_call_tree_options){ .begin = match.marked }),
			 "0b:30/0 1-b:20/0 2d:20/20 1-c:10/10");
	/* With `begin`, least_ppm is a part of the root's time, and not of all samples. */
	ck_assert_str_eq(tree_text(&(struct vg_call_tree_options){ .begin = match.marked, .least_ppm = 500000 }),
			 "0b:30/0 1b:20/0 2d:20/20");
	vg_function_match_free(&match);
	/* c is in stacks below b, too: b is outermost there. */
	ck_assert_int_eq(vg_function_match_name(&match, &frames, "[bc]"), 0);
	ck_assert_uint_eq(match.count, 2);
	ck_assert_str_eq(tree_text(&(struct vg_call_tree_options){ .to_callers = true, .begin = match.marked }),
			 "0*:60/0 1a:60/0");
	ck_assert_str_eq(tree_text(&(struct vg_call_tree_options){ .begin = match.marked }),
			 "0*:60/30 1-b:20/0 2d:20/20 1-c:10/10");
	vg_function_match_free(&match);
	frames_close();
}
END_TEST

START_TEST(tree_without_samples)
{
	fixture_open(&fixture);
	frames_open(VG_FRAMES_FUNCTION);
	ck_assert_str_eq(tree_text(&(struct vg_call_tree_options){ 0 }), "");
	ck_assert_str_eq(tree_text(&(struct vg_call_tree_options){ .to_callers = true }), "");
	ck_assert_str_eq(tree_text(&(struct vg_call_tree_options){ .begin = (const unsigned char *)"" }), "");
	frames_close();
}
END_TEST

/* The deepest stack, with functions that alternate: nothing recurses, and each direction has a row for each frame. */
START_TEST(deepest_stack)
{
	enum { DEPTH = VG_STACK_DEPTH_MAX };

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "main");
	for (uint32_t i = 0; i < DEPTH; i++)
		ck_assert_int_eq(vg_writer_stack(&fixture.writer, VG_STACK_ROOTS + i,
						 i == 0 ? 0 : VG_STACK_ROOTS + i - 1, 0, 0x40 + i % 2, 0), 0);
	fixture_sample(&fixture, 0, VG_STACK_ROOTS + DEPTH - 1, MS, MS, 0);
	frames_open(VG_FRAMES_FUNCTION);
	for (int to_callers = 0; to_callers < 2; to_callers++) {
		struct vg_call_tree_options options = { .to_callers = to_callers, .least_ppm = 5000 };

		ck_assert_int_eq(vg_call_tree_build(&tree, &frames, threads.order, 1, &options), 0);
		ck_assert_uint_eq(tree.rows.count, DEPTH);
		ck_assert_uint_eq(tree.rows.items[DEPTH - 1].depth, DEPTH - 1);
		ck_assert_uint_eq(tree.rows.items[DEPTH - 1].branches, 0);
		ck_assert(!tree.is_incomplete);
		vg_call_tree_free(&tree);
	}
	frames_close();
}
END_TEST

/* 600 chains of 600 frames in functions of their own would be 360,000 rows. */
START_TEST(too_many_rows)
{
	enum { CHAINS = 600, FRAMES = 600 };

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	fixture_thread(&fixture, 0, 1, "main");
	for (uint32_t i = 0; i < CHAINS * FRAMES; i++) {
		uint32_t id = VG_STACK_ROOTS + i;

		ck_assert_int_eq(vg_writer_stack(&fixture.writer, id, i % FRAMES == 0 ? 0 : id - 1, 0,
						 i % FRAMES == 0 ? i : i % FRAMES, 0), 0);
		if (i % FRAMES == FRAMES - 1)
			fixture_sample(&fixture, 0, id, i * MS, MS, 0);
	}
	frames_open(VG_FRAMES_FUNCTION);
	ck_assert_int_eq(vg_call_tree_build(&tree, &frames, threads.order, CHAINS,
					    &(struct vg_call_tree_options){ 0 }), 0);
	ck_assert(tree.is_incomplete);
	ck_assert_uint_eq(tree.rows.count, VG_CALL_TREE_ROWS_MAX);
	vg_call_tree_free(&tree);
	frames_close();
}
END_TEST

START_TEST(names_that_match)
{
	static const struct { const char *name; uint32_t count; const char *first; } cases[] = {
		{ "work", 1, "work" },            /* not "worker_work" */
		{ "ork", 2, "work" },
		{ "^w.*r.*k$", 2, "work" },
		{ "er_w", 1, "worker_work" },
		{ "o(int", 1, "foo(int)" },       /* text before regular expressions */
		{ "nothing", 0, NULL },
		{ "(", 1, "foo(int)" },
		{ "[", 0, NULL },                 /* no regular expression */
		{ "", 0, NULL },
	};
	static const char *const names[] = { "work", "worker_work", "foo(int)" };

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(vg_writer_function(&fixture.writer, i, names[i], NULL, 0), 0);
	frames_open(VG_FRAMES_FUNCTION);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct vg_function_match match;

		ck_assert_int_eq(vg_function_match_name(&match, &frames, cases[i].name), 0);
		ck_assert_msg(match.count == cases[i].count, "%s: %u functions", cases[i].name, match.count);
		if (cases[i].count > 0)
			ck_assert_str_eq(vg_frames_function(&frames, match.first).name, cases[i].first);
		vg_function_match_free(&match);
	}
	frames_close();
}
END_TEST

START_TEST(kinds_of_rows)
{
	static const struct { enum vg_frames_kind kind; const char *leaf, *inner, *root, *unknown;
			      uint32_t line, count; }
	cases[] = {
		{ VG_FRAMES_FUNCTION, "libx.so+0x30", "inner", "main", "0x7f00", 0, 5 },
		{ VG_FRAMES_LINE, "libx.so+0x30", "work", "main", "0x7f00", 12, 5 },
		{ VG_FRAMES_MODULE, "libx.so", "demo", "demo", "[no module]", 0, 3 },
		{ VG_FRAMES_FILE, "[no file]", "w.c", "m.c", "[no module]", 0, 5 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		enum vg_frames_kind kind = cases[i].kind;
		struct vg_function_view view;

		fixture_demo_names(&fixture);
		frames_open(kind);
		ck_assert_str_eq(vg_frames_function(&frames, vg_frames_at(&frames, 2, 0).function).name, cases[i].leaf);
		view = vg_frames_function(&frames, vg_frames_at(&frames, 1,
								kind == VG_FRAMES_FUNCTION ? 0 : 1).function);
		ck_assert_str_eq(view.name, cases[i].inner);
		ck_assert_uint_eq(view.line, cases[i].line);
		ck_assert_str_eq(vg_frames_function(&frames, vg_frames_at(&frames, 0, 0).function).name, cases[i].root);
		ck_assert_str_eq(vg_frames_function(&frames, vg_frames_at(&frames, 4, 0).function).name,
				 cases[i].unknown);
		ck_assert_msg(frames.count == cases[i].count, "%s: %u", vg_frames_kind_name(kind), frames.count);
		frames_close();
	}
}
END_TEST

static unsigned selected(const struct vg_sample_filter *filter)
{
	unsigned char keep[5];
	unsigned bits = 0;

	memset(keep, 1, sizeof keep);
	ck_assert_int_eq(vg_sample_filter_apply(filter, &fixture.profile, false, keep), 0);
	for (unsigned i = 0; i < sizeof keep; i++)
		bits |= (unsigned)keep[i] << i;
	return bits;
}

/* The samples of made_open(): 0 "a" at 100 ms, 1 "a b c" at 300, 2 "a b b d" at 500, 3 "a c" at 600, 4 "d" at 700.  The
 * first two have CPU time. */
START_TEST(filters)
{
	struct vg_sample_filter filter = { .end_ns = UINT64_MAX };

	made_open();
	ck_assert(!vg_sample_filter_is_set(&filter));
	ck_assert_uint_eq(selected(&filter), 0x1f);
	filter.begin_ns = 300 * (uint64_t)MS;
	ck_assert(vg_sample_filter_is_set(&filter));
	ck_assert_uint_eq(selected(&filter), 0x1e);
	filter.end_ns = 600 * (uint64_t)MS;
	ck_assert_uint_eq(selected(&filter), 0x06);
	filter.state = VG_SAMPLE_ON_CPU;
	ck_assert_uint_eq(selected(&filter), 0x02);
	filter.state = VG_SAMPLE_OFF_CPU;
	ck_assert_uint_eq(selected(&filter), 0x04);
	filter = (struct vg_sample_filter){ .end_ns = UINT64_MAX, .thread = "main", .function = "^[cd]$" };
	ck_assert_int_eq(regcomp(&filter.regex, filter.function, REG_EXTENDED | REG_NOSUB), 0);
	ck_assert_uint_eq(selected(&filter), 0x1e);
	filter.state = VG_SAMPLE_ON_CPU;
	ck_assert_uint_eq(selected(&filter), 0x02);
	filter.thread = "1";
	ck_assert_uint_eq(selected(&filter), 0x02);
	filter.thread = "other";
	ck_assert_uint_eq(selected(&filter), 0);
	regfree(&filter.regex);
	frames_close();
}
END_TEST

START_TEST(ranges_of_time)
{
	static const struct { const char *text; bool good; uint64_t begin_ns, end_ns; } cases[] = {
		{ "1..2", true, 1000000000, 2000000000 },
		{ "0.5..1.25", true, 500000000, 1250000000 },
		{ "..3", true, 0, 3000000000 },
		{ "0..3", true, 0, 3000000000 },
		{ "2..", true, 2000000000, UINT64_MAX },
		{ "0..", true, 0, UINT64_MAX },
		{ "0.000000001..", true, 1, UINT64_MAX },
		{ "0.0000000019..2", false, 0, 0 },
		{ "..", false, 0, 0 },
		{ "", false, 0, 0 },
		{ "1", false, 0, 0 },
		{ "1.2", false, 0, 0 },
		{ "1...2", false, 0, 0 },
		{ "2..1", false, 0, 0 },
		{ "1..1", false, 0, 0 },
		{ "-1..1", false, 0, 0 },
		{ "1..2x", false, 0, 0 },
		{ "1..0x2", false, 0, 0 },
		{ "99999999999999999999..", false, 0, 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t begin_ns, end_ns;

		ck_assert_msg(vg_time_range_parse(cases[i].text, &begin_ns, &end_ns) == cases[i].good, "%s",
			      cases[i].text);
		if (cases[i].good)
			ck_assert_msg(begin_ns == cases[i].begin_ns && end_ns == cases[i].end_ns, "%s: %lu to %lu",
				      cases[i].text, begin_ns, end_ns);
	}
}
END_TEST

START_TEST(text_that_fits)
{
	static const struct { const char *text; size_t columns; const char *printed; } cases[] = {
		{ "abcdefghij", 10, "abcdefghij" },
		{ "abcdefghij", 9, "abc...hij" },
		{ "abcdefghij", 8, "abc...ij" },
		{ "abcdefghij", 4, "a..." },
		{ "abcdefghij", 3, "..." },
		{ "", 3, "" },
		{ "\u00e4\u00f6\u00fc", 3, "\u00e4\u00f6\u00fc" },
		{ "\u00e4\u00f6\u00fcabcd", 5, "\u00e4...d" },
		{ "\u4e2d\u6587\u4e2d\u6587", 8, "\u4e2d\u6587\u4e2d\u6587" },
		{ "\u4e2d\u6587\u4e2d\u6587", 7, "\u4e2d...\u6587" },
		{ "\u4e2d\u6587\u4e2d\u6587", 6, "\u4e2d..." },
		{ "\033[1mabcd", 10, "\\x1b...bcd" },
		{ "\377abc", 7, "\\xffabc" },
		{ "\377abc", 6, "...c" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = NULL;
		size_t length;
		FILE *file = open_memstream(&text, &length);

		vg_terminal_fit(file, cases[i].text, cases[i].columns);
		fclose(file);
		ck_assert_msg(strcmp(text, cases[i].printed) == 0, "%s in %zu: %s", cases[i].text, cases[i].columns,
			      text);
		ck_assert_uint_le(vg_terminal_width(text), cases[i].columns);
		free(text);
	}
}
END_TEST

START_TEST(cpu_time_first)
{
	static const struct { uint64_t wall_ns, cpu_ns; bool first; } cases[] = {
		{ 0, 0, false }, { 100, 0, false }, { 100, 1, true }, { 100, 49, true }, { 100, 50, false },
		{ 100, 100, false }, { 0, 5, false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert(vg_report_cpu_first(&(struct vg_report_sums){ .wall_ns = cases[i].wall_ns,
									.cpu_ns = cases[i].cpu_ns }) == cases[i].first);
}
END_TEST

Suite *report_suite(void)
{
	Suite *suite = suite_create("report");
	TCase *cases = tcase_create("report");

	tcase_add_test(cases, trees);
	tcase_add_test(cases, tree_without_samples);
	tcase_add_test(cases, deepest_stack);
	tcase_add_test(cases, too_many_rows);
	tcase_add_test(cases, names_that_match);
	tcase_add_test(cases, kinds_of_rows);
	tcase_add_test(cases, filters);
	tcase_add_test(cases, ranges_of_time);
	tcase_add_test(cases, text_that_fits);
	tcase_add_test(cases, cpu_time_first);
	suite_add_tcase(suite, cases);
	return suite;
}
