/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <string.h>

#include "tests/unit/fixture.h"
#include "vgtool/analysis/chains.h"
#include "vgtool/analysis/frames.h"
#include "vgtool/analysis/instruction_frames.h"
#include "vgtool/views/trimmed_stack.h"

static struct fixture fixture;
static struct vg_frames frames;

static void frames_open(void)
{
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_frames_build(&frames, &fixture.profile), 0);
}

static void frames_close(void)
{
	vg_frames_free(&frames);
	fixture_close(&fixture);
}

static const char *name_at(uint32_t node, size_t i)
{
	return vg_frames_function(&frames, vg_frames_at(&frames, node, i).function).name;
}

START_TEST(addresses_without_names)
{
	fixture_demo(&fixture);
	frames_open();
	ck_assert_str_eq(name_at(0, 0), "demo+0x10");
	ck_assert_str_eq(name_at(2, 0), "libx.so+0x30");
	ck_assert_str_eq(name_at(4, 0), "0x7f00");
	ck_assert_ptr_null(vg_frames_function(&frames, vg_frames_at(&frames, 4, 0).function).module);
	/* Stacks 17 and 19 have the same address at two depths: both are one function. */
	ck_assert_uint_eq(vg_frames_at(&frames, 1, 0).function, vg_frames_at(&frames, 3, 0).function);
	ck_assert_uint_eq(frames.count, 4);
	frames_close();
}
END_TEST

START_TEST(modules_without_names)
{
	struct vg_function_view view;

	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_frames_build_rows(&frames, &fixture.profile, VG_FRAMES_FUNCTION, true), 0);
	ck_assert_str_eq(name_at(1, 0), "inner");
	ck_assert_str_eq(name_at(2, 0), "[libx.so]");
	view = vg_frames_function(&frames, vg_frames_at(&frames, 2, 0).function);
	ck_assert(view.is_module);
	ck_assert_str_eq(view.module, "libx.so");
	ck_assert(!vg_frames_function(&frames, vg_frames_at(&frames, 1, 0).function).is_module);
	ck_assert_str_eq(name_at(4, 0), "0x7f00");
	frames_close();
}
END_TEST

START_TEST(names_and_inlines)
{
	struct vg_function_view view;

	fixture_demo_names(&fixture);
	frames_open();
	ck_assert_uint_eq(vg_frames_count(&frames, 1), 2);
	ck_assert_str_eq(name_at(1, 0), "inner");
	ck_assert_str_eq(name_at(1, 1), "work");
	ck_assert(vg_frames_at(&frames, 1, 0).is_inline);
	ck_assert(!vg_frames_at(&frames, 1, 1).is_inline);
	ck_assert_uint_eq(vg_frames_at(&frames, 1, 1).line, 12);
	view = vg_frames_function(&frames, vg_frames_at(&frames, 1, 1).function);
	ck_assert_str_eq(view.file, "w.c");
	ck_assert_str_eq(view.module, "demo");
	ck_assert_ptr_null(vg_frames_function(&frames, vg_frames_at(&frames, 1, 0).function).file);
	/* A module without symbols keeps its addresses. */
	ck_assert_str_eq(name_at(2, 0), "libx.so+0x30");
	frames_close();
}
END_TEST

START_TEST(equal_functions_of_different_ids_are_one)
{
	struct vg_symbol_line again = { 3, 99 };
	struct vg_chains chains;

	fixture_demo_names(&fixture);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 21, VG_WALK_ROOT, 0, 0x18, 0), 0);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 22, 21, 1, 0x30, 0), 0);
	ck_assert_int_eq(vg_writer_stack(&fixture.writer, 23, 16, 1, 0x30, 0), 0);
	ck_assert_int_eq(vg_writer_function(&fixture.writer, 3, "main", "m.c", 0), 0);
	ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, 0x18, &again, 1), 0);
	frames_open();
	ck_assert_uint_eq(vg_frames_at(&frames, 0, 0).function, vg_frames_at(&frames, 5, 0).function);
	ck_assert_int_eq(vg_chains_build(&chains, &frames), 0);
	ck_assert_uint_eq(chains.by_node[0], chains.by_node[5]);
	ck_assert_uint_eq(chains.by_node[6], chains.by_node[7]);
	ck_assert_uint_ne(chains.by_node[6], chains.by_node[5]);
	ck_assert_uint_ne(chains.by_node[2], chains.by_node[7]);
	vg_chains_free(&chains);
	frames_close();
}
END_TEST

enum { DEEP_NODES = 9000, MANY_INLINES = 700 };

/* A chain of nodes. Every 1000th node, node 0 included, has 700 functions. Every 7th of the others has 3. */
static void deep_open(void)
{
	static struct vg_symbol_line lines[MANY_INLINES];

	fixture_open(&fixture);
	fixture_module(&fixture, 0, "demo");
	for (uint32_t i = 0; i < MANY_INLINES; i++) {
		char name[16];

		snprintf(name, sizeof name, "f%u", i);
		lines[i] = (struct vg_symbol_line){ i, 1 };
		ck_assert_int_eq(vg_writer_function(&fixture.writer, i, name, NULL, 0), 0);
	}
	for (uint32_t i = 0; i < DEEP_NODES; i++) {
		uint32_t id = VG_STACK_ROOTS + i, count = i % 1000 == 0 ? MANY_INLINES : i % 7 == 0 ? 3 : 0;

		if (count > 0)
			ck_assert_int_eq(vg_writer_symbol(&fixture.writer, 0, i, lines, count), 0);
		ck_assert_int_eq(vg_writer_stack(&fixture.writer, id, i == 0 ? VG_WALK_ROOT : id - 1, 0, i, 0), 0);
	}
	frames_open();
}

/* Collects the functions of the whole stack, frame by frame. */
static uint32_t stack_functions(uint32_t node, uint32_t *functions)
{
	uint32_t count = 0;

	for (; node != VG_NONE; node = fixture.profile.stacks.items[node].parent) {
		for (size_t i = 0; i < vg_frames_count(&frames, node); i++)
			functions[count++] = vg_frames_at(&frames, node, i).function;
	}
	return count;
}

START_TEST(middle_of_a_deep_stack_is_left_out)
{
	static uint32_t whole[DEEP_NODES + 10 * MANY_INLINES + DEEP_NODES];
	static struct vg_trimmed_stack trimmed;

	deep_open();
	ck_assert_int_eq(vg_trimmed_stack_build(&trimmed, &frames), 0);
	for (uint32_t node = 0; node < DEEP_NODES; node += node % 1000 > 10 && node % 1000 < 990 ? 10 : 1) {
		uint32_t depth = stack_functions(node, whole);

		for (uint32_t room = VG_TRIMMED_STACK_MAX - 1; room <= VG_TRIMMED_STACK_MAX; room++) {
			uint32_t inner = room / 2, outermost = room - 1 - inner;

			vg_trimmed_stack_fill(&trimmed, node, room);
			if (depth <= room) {
				ck_assert_uint_eq(trimmed.cut, 0);
				ck_assert_uint_eq(trimmed.count, depth);
				ck_assert_mem_eq(trimmed.functions, whole, depth * sizeof *whole);
				continue;
			}
			ck_assert_uint_eq(trimmed.cut, depth - (room - 1));
			ck_assert_uint_eq(trimmed.count, room);
			ck_assert_mem_eq(trimmed.functions, whole, inner * sizeof *whole);
			ck_assert_uint_eq(trimmed.functions[inner], VG_TRIMMED_STACK_GAP);
			ck_assert_mem_eq(trimmed.functions + inner + 1, whole + depth - outermost,
					 outermost * sizeof *whole);
		}
	}
	vg_trimmed_stack_fill(&trimmed, VG_NONE, VG_TRIMMED_STACK_MAX);
	ck_assert_uint_eq(trimmed.count, 0);
	vg_trimmed_stack_free(&trimmed);
	frames_close();
}
END_TEST

/* The nodes in the middle lose their callers. If vg_trimmed_stack_fill() walked through the middle, it would end
 * there. */
START_TEST(middle_of_a_deep_stack_is_not_walked)
{
	static uint32_t before[VG_TRIMMED_STACK_MAX];
	static struct vg_trimmed_stack trimmed;

	deep_open();
	ck_assert_int_eq(vg_trimmed_stack_build(&trimmed, &frames), 0);
	vg_trimmed_stack_fill(&trimmed, DEEP_NODES - 1, VG_TRIMMED_STACK_MAX);
	memcpy(before, trimmed.functions, sizeof before);
	for (uint32_t node = VG_TRIMMED_STACK_MAX; node < DEEP_NODES - VG_TRIMMED_STACK_MAX; node++)
		fixture.profile.stacks.items[node].parent = VG_NONE;
	vg_trimmed_stack_fill(&trimmed, DEEP_NODES - 1, VG_TRIMMED_STACK_MAX);
	ck_assert_uint_eq(trimmed.count, VG_TRIMMED_STACK_MAX);
	ck_assert_mem_eq(trimmed.functions, before, sizeof before);
	vg_trimmed_stack_free(&trimmed);
	frames_close();
}
END_TEST

/* Stacks with instruction frames: ids begin with 16.  What each node is after their removal. */
static const struct {
	uint32_t parent;
	enum vg_found_by found_by;
	uint32_t new_parent, depth;
	enum vg_walk_end end;
} shortened[] = {
	{ VG_WALK_ROOT, VG_FOUND_BY_CFI, VG_NONE, 1, VG_WALK_ROOT },
	{ 16, VG_FOUND_BY_INSTRUCTIONS, 0, 2, VG_WALK_ROOT },
	/* Calls of an instruction frame lose it, and its caller. */
	{ 17, VG_FOUND_BY_CFI, VG_NONE, 1, VG_WALK_NO_INFO },
	{ 18, VG_FOUND_BY_FRAME_POINTER, 2, 2, VG_WALK_NO_INFO },
	{ 19, VG_FOUND_BY_SYSTEM_CALL, 3, 3, VG_WALK_NO_INFO },
	/* Frames that were found otherwise stay. */
	{ 16, VG_FOUND_BY_FRAME_POINTER, 0, 2, VG_WALK_ROOT },
	{ 21, VG_FOUND_BY_SCAN, 5, 3, VG_WALK_ROOT },
	/* Two instruction frames: the stack ends below the inner one. */
	{ 19, VG_FOUND_BY_INSTRUCTIONS, 3, 3, VG_WALK_NO_INFO },
	{ 23, VG_FOUND_BY_CFI, VG_NONE, 1, VG_WALK_NO_INFO },
	/* The outermost frame of an incomplete stack. */
	{ VG_WALK_TRUNCATED, VG_FOUND_BY_INSTRUCTIONS, VG_NONE, 1, VG_WALK_TRUNCATED },
	{ 25, VG_FOUND_IN_KERNEL, VG_NONE, 1, VG_WALK_NO_INFO },
};

enum { SHORTENED = sizeof shortened / sizeof *shortened };

/* Samples: the nodes before and after the removal. */
static const struct {
	uint32_t stack, node;
	enum vg_walk_end end;
} shortened_samples[] = {
	{ 20, 4, VG_WALK_NO_INFO }, { 22, 6, VG_WALK_ROOT }, { 24, 8, VG_WALK_NO_INFO }, { 26, 10, VG_WALK_NO_INFO },
	{ VG_WALK_UNREADABLE, VG_NONE, VG_WALK_UNREADABLE },
	/* Our recorder writes no such leaf frame. */
	{ 25, VG_NONE, VG_WALK_NO_INFO },
};

enum { SHORTENED_SAMPLES = sizeof shortened_samples / sizeof *shortened_samples };

static void shortened_check(void)
{
	const struct vg_profile *profile = &fixture.profile;
	uint64_t count;

	for (uint32_t i = 0; i < SHORTENED; i++) {
		ck_assert_uint_eq(profile->stacks.items[i].parent, shortened[i].new_parent);
		ck_assert_uint_eq(profile->stacks.items[i].depth, shortened[i].depth);
		ck_assert_uint_eq(profile->stacks.items[i].end, shortened[i].end);
	}
	for (uint32_t i = 0; i < SHORTENED_SAMPLES; i++) {
		ck_assert_uint_eq(profile->samples.items[i].stack, shortened_samples[i].node);
		ck_assert_uint_eq(profile->samples.items[i].end, shortened_samples[i].end);
	}
	ck_assert_int_eq(vg_instruction_frames_count(profile, &count), 0);
	ck_assert_uint_eq(count, 0);
}

START_TEST(instruction_frames_are_removed)
{
	uint64_t count;

	fixture_open(&fixture);
	fixture_thread(&fixture, 0, 1, "main");
	for (uint32_t i = 0; i < SHORTENED; i++)
		ck_assert_int_eq(vg_writer_stack(&fixture.writer, VG_STACK_ROOTS + i, shortened[i].parent, VG_NONE, i,
						 shortened[i].found_by), 0);
	for (uint32_t i = 0; i < SHORTENED_SAMPLES; i++)
		fixture_sample(&fixture, 0, shortened_samples[i].stack, 1000000 * (i + 1), 1000000, 0);
	fixture_read(&fixture, false);
	fixture.profile.samples.items[0].count = 3;
	ck_assert_int_eq(vg_instruction_frames_count(&fixture.profile, &count), 0);
	ck_assert_uint_eq(count, 3 + 1 + 1 + 1);
	/* vgtool top removes them again and again, while the profile grows. */
	for (int i = 0; i < 2; i++) {
		vg_instruction_frames_remove(&fixture.profile);
		shortened_check();
	}
	fixture_close(&fixture);
}
END_TEST

Suite *frames_suite(void)
{
	Suite *suite = suite_create("frames");
	TCase *cases = tcase_create("frames");

	tcase_add_test(cases, addresses_without_names);
	tcase_add_test(cases, modules_without_names);
	tcase_add_test(cases, names_and_inlines);
	tcase_add_test(cases, equal_functions_of_different_ids_are_one);
	tcase_add_test(cases, middle_of_a_deep_stack_is_left_out);
	tcase_add_test(cases, middle_of_a_deep_stack_is_not_walked);
	tcase_add_test(cases, instruction_frames_are_removed);
	suite_add_tcase(suite, cases);
	return suite;
}
