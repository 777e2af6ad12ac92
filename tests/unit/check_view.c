/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fixture.h"
#include "vgtool/output/base64.h"
#include "vgtool/views/flamegraph.h"
#include "vgtool/views/view_nodes.h"
#include "vgtool/views/view_page.h"

enum { MS = 1000000 };
static struct fixture fixture;
static char *view;
static size_t view_bytes;

static FILE *view_open(void)
{
	FILE *file = open_memstream(&view, &view_bytes);

	ck_assert_ptr_nonnull(file);
	return file;
}

static void data_write(const struct vg_view_page *page)
{
	FILE *file = view_open();

	ck_assert_int_eq(vg_view_page_data(&fixture.profile, page, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void picture_write(const struct vg_flamegraph *flamegraph)
{
	FILE *file = view_open();

	ck_assert_int_eq(vg_flamegraph_write(&fixture.profile, flamegraph, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void expect_part(const char *part)
{
	ck_assert_msg(strstr(view, part) != NULL, "no %s in:\n%s", part, view);
}

/* ---- base64 ---- */

static void expect_base64(const char *text, size_t piece, const char *expected)
{
	struct vg_base64 base64;
	FILE *to = view_open(), *file = vg_base64_open(&base64, to);

	ck_assert_ptr_nonnull(file);
	for (size_t at = 0; at < strlen(text); at += piece) {
		size_t left = strlen(text) - at;

		fwrite(text + at, 1, left < piece ? left : piece, file);
		fflush(file);
	}
	ck_assert_int_eq(vg_base64_close(&base64, file), 0);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_str_eq(view, expected);
	free(view);
}

/* The examples of RFC 4648. */
START_TEST(base64_examples)
{
	for (size_t piece = 1; piece <= 6; piece++) {
		expect_base64("", piece, "");
		expect_base64("f", piece, "Zg==");
		expect_base64("fo", piece, "Zm8=");
		expect_base64("foo", piece, "Zm9v");
		expect_base64("foob", piece, "Zm9vYg==");
		expect_base64("fooba", piece, "Zm9vYmE=");
		expect_base64("foobar", piece, "Zm9vYmFy");
	}
	expect_base64("\xfb\xff\xbf", 3, "+/+/");
}
END_TEST

START_TEST(base64_write_error)
{
	struct vg_base64 base64;
	FILE *to = fopen("/dev/full", "w"), *file;

	ck_assert_ptr_nonnull(to);
	setvbuf(to, NULL, _IONBF, 0);
	file = vg_base64_open(&base64, to);
	ck_assert_ptr_nonnull(file);
	fputs("foobar", file);
	ck_assert_int_eq(vg_base64_close(&base64, file), -EIO);
	fclose(to);
}
END_TEST

/* ---- the page ---- */

/* Nodes: 0 to 8 the reasons of incomplete stacks, 9 main, 10 work, 11 inner, 12 libx.so, 13 work, 14 inner, 15 0x7f00 */
START_TEST(demo_data)
{
	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	data_write(&(struct vg_view_page){ .exporter = "vignette 0", .weight = VG_WEIGHT_CPU });
	expect_part("{\"version\":1,\"exporter\":\"vignette 0\",\"title\":\"demo\",\"recorded\":");
	expect_part("\"weight\":1,\"comparison\":false,\n\"classes\":[\"program\",\"library\",");
	expect_part("\"parent\":[-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,9,10,11,11,13,1],");
	expect_part("{\"name\":\"main\",\"tid\":100,\"group\":0,\n\"node\":[12,14],\n\"end\":[2000,1000],\n\"wall\":[2000,1000],\n"
		    "\"cpu\":[1000,500],\n\"path\":[-1,-1]}");
	expect_part("{\"name\":\"worker\",\"tid\":101,\"group\":0,\n\"node\":[15,9],\n\"end\":[2000,2000],");
	expect_part("\"sources\":[]");
	free(view);
	fixture_close(&fixture);
}
END_TEST

START_TEST(rounding_is_carried)
{
	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 1, "main");
	fixture_sample(&fixture, 0, VG_WALK_ROOT, 10 * MS, 10 * MS, 600);
	fixture_read(&fixture, false);
	for (int i = 1; i < 3; i++) {
		struct vg_sample sample = fixture.profile.samples.items[0];

		/* not neighbours: the time between them is missing */
		sample.time_ns += (uint64_t)i * 50 * MS;
		ck_assert_int_eq(vg_array_push(&fixture.profile.samples, &sample), 0);
	}
	for (size_t i = 0; i < 3; i++)
		fixture.profile.samples.items[i].cpu_ns = 600;
	data_write(&(struct vg_view_page){ .exporter = "" });
	expect_part("\"end\":[10000,50000,50000],\n\"wall\":[10000,10000,10000],\n\"cpu\":[0,1,0]");
	free(view);
	fixture_close(&fixture);
}
END_TEST

/* Stacks of a hostile profile: each node has 1000 inlined functions. */
START_TEST(nodes_are_limited)
{
	struct vg_symbol_line lines[VG_FRAME_INLINES_MAX];
	struct vg_frames frames;
	struct vg_view_nodes nodes;

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	vg_writer_function(&fixture.writer, 0, "f", NULL, 0);
	for (uint32_t i = 0; i < VG_FRAME_INLINES_MAX; i++)
		lines[i] = (struct vg_symbol_line){ 0, i };
	vg_writer_symbol(&fixture.writer, 0, 0x10, lines, VG_FRAME_INLINES_MAX);
	for (uint32_t i = 0; i < 100; i++)
		vg_writer_stack(&fixture.writer, VG_STACK_ROOTS + i, i == 0 ? VG_WALK_ROOT : VG_STACK_ROOTS + i - 1, 0,
				0x10, VG_FOUND_BY_CFI);
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_frames_build(&frames, &fixture.profile), 0);
	ck_assert_int_eq(vg_view_nodes_build(&nodes, &frames, 100000), -EFBIG);
	vg_view_nodes_free(&nodes);
	ck_assert_int_eq(vg_view_nodes_build(&nodes, &frames, 100009), 0);
	ck_assert_uint_eq(nodes.parents.count, 100009);
	vg_view_nodes_free(&nodes);
	vg_frames_free(&frames);
	fixture_close(&fixture);
}
END_TEST

/* ---- the picture ---- */

START_TEST(demo_picture)
{
	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	picture_write(&(struct vg_flamegraph){ .weight = VG_WEIGHT_WALL });
	expect_part(">demo: 7.00 ms of wall time</text>");
	expect_part("<title>all\n7.00 ms, 100.00 %</title><rect x=\"0.00\" y=\"113\" width=\"1199.50\"");
	expect_part("<title>main  [demo]\n5.00 ms, 71.43 %</title><rect x=\"0.00\" y=\"96\" width=\"856.64\"");
	expect_part("<title>libx.so+0x30  [libx.so]\n2.00 ms, 28.57 %</title><rect x=\"0.00\" y=\"45\"");
	expect_part("fill=\"#f2b45f\"/><text x=\"17\" y=\"144\"><title>");
	expect_part("<title>libx.so</title>libx.so</text>\n");
	free(view);
	fixture_close(&fixture);
}
END_TEST

START_TEST(names_are_xml)
{
	uint32_t name;

	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	ck_assert_int_ge(vg_intern_string(&fixture.profile.strings, "<a\x01\n\"&\xef\xbf\xbf\xff\xe4\xbd\xa0>", &name), 0);
	for (size_t i = 0; i < fixture.profile.functions.count; i++)
		fixture.profile.functions.items[i].name = name;
	picture_write(&(struct vg_flamegraph){ .weight = VG_WEIGHT_WALL });
	expect_part("<title>&lt;a\xef\xbf\xbd\xef\xbf\xbd&quot;&amp;\xef\xbf\xbd\xef\xbf\xbd\xe4\xbd\xa0&gt;  [");
	free(view);
	fixture_close(&fixture);
}
END_TEST

Suite *view_suite(void)
{
	Suite *suite = suite_create("view");
	TCase *base64 = tcase_create("base64"), *page = tcase_create("page"), *picture = tcase_create("picture");

	tcase_add_test(base64, base64_examples);
	tcase_add_test(base64, base64_write_error);
	suite_add_tcase(suite, base64);
	tcase_add_test(page, demo_data);
	tcase_add_test(page, rounding_is_carried);
	tcase_add_test(page, nodes_are_limited);
	suite_add_tcase(suite, page);
	tcase_add_test(picture, demo_picture);
	tcase_add_test(picture, names_are_xml);
	suite_add_tcase(suite, picture);
	return suite;
}
