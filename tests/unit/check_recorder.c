/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a recorder writes of modules that are unloaded and loaded again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"
#include "vignetted/output/recorder.h"

enum { MS = 1000 * 1000, MODULE_BASE = 0x400000 };

static struct vg_modules modules;
static struct vg_recorder recorder;
static struct fixture fixture;

/* The process has one module, whose id in the profile is 0. */
static void setup(void)
{
	const struct vg_writer_header header = { .period_ns = MS, .mode = "wall", .writer = "w", .arch = "x86_64",
						 .program = "demo" };
	const struct vg_process_module module = {
		.name = "libx.so", .loaded = true, .image = { .base = MODULE_BASE, .end = MODULE_BASE + 4096 },
	};

	memset(&modules, 0, sizeof modules);
	ck_assert_int_eq(vg_array_push(&modules.items, &module), 0);
	fixture_open(&fixture);
	vg_recorder_open(&recorder, fixture.fd, 0, UINT64_MAX, &modules);
	ck_assert_int_eq(vg_writer_header(&recorder.writer, &header), 0);
}

static void teardown(void)
{
	fixture_close(&fixture);
	vg_recorder_free(&recorder);
	vg_modules_free(&modules);
}

/* A stack with one frame, in the module. */
static uint32_t stack_at(uint64_t time_ns)
{
	struct vg_frame frame = { .address = MODULE_BASE + 0x10, .module = 0, .found = VG_FOUND_BY_CFI };
	const struct vg_walk walk = { .frames = &frame, .count = 1, .end = VG_WALK_ROOT };
	uint32_t stack;

	ck_assert_int_eq(vg_recorder_stack(&recorder, &walk, -1, time_ns, &stack), 0);
	return stack;
}

static void unloads_write(bool loaded, uint64_t time_ns)
{
	modules.items.items[0].loaded = loaded;
	ck_assert_int_eq(vg_recorder_unloads_write(&recorder, time_ns), 0);
}

static void profile_read(void)
{
	unsigned char *bytes;
	off_t length;

	ck_assert_int_eq(vg_recorder_finish(&recorder, "over", 100 * MS), 0);
	length = lseek(fixture.fd, 0, SEEK_END);
	bytes = malloc((size_t)length + 1);
	ck_assert_int_eq(pread(fixture.fd, bytes, (size_t)length, 0), length);
	ck_assert_int_eq(fixture_read_bytes(&fixture, bytes, (size_t)length), 0);
	ck_assert_uint_eq(fixture.profile.damage.count, 0);
}

static const struct vg_module *module_read(void)
{
	profile_read();
	ck_assert_uint_eq(fixture.profile.modules.count, 1);
	return &fixture.profile.modules.items[0];
}

START_TEST(unload_is_written_once)
{
	const struct vg_module *module;

	stack_at(10 * MS);
	unloads_write(true, 20 * MS);
	unloads_write(false, 30 * MS);
	unloads_write(false, 40 * MS);
	module = module_read();
	ck_assert_uint_eq(module->load_ns, 10 * MS);
	ck_assert_uint_eq(module->unload_ns, 30 * MS);
}
END_TEST

/* After a restart a stack of the table before is written again, with its module and a new id. */
START_TEST(stack_is_written_again)
{
	struct vg_frame frames[2] = {
		{ .address = MODULE_BASE + 0x20, .module = 0, .found = VG_FOUND_BY_CFI },
		{ .address = 0x7000, .module = VG_NONE, .found = VG_FOUND_BY_CFI },
	};
	const struct vg_walk walk = { .frames = frames, .count = 2, .end = VG_WALK_ROOT };
	uint32_t stack, again, root = VG_WALK_ROOT;

	stack_at(5 * MS);
	ck_assert_int_eq(vg_recorder_stack(&recorder, &walk, -1, 10 * MS, &stack), 0);
	vg_recorder_restart(&recorder);
	again = stack;
	ck_assert_int_eq(vg_recorder_stack_again(&recorder, 20 * MS, &again), 0);
	ck_assert_uint_gt(again, stack);
	ck_assert_int_eq(vg_recorder_stack_again(&recorder, 20 * MS, &root), 0);
	ck_assert_uint_eq(root, VG_WALK_ROOT);
	vg_recorder_restart_end(&recorder);
	ck_assert_int_eq(vg_recorder_stack_again(&recorder, 20 * MS, &stack), -ENOENT);
	/* The walk finds the stack that was written again. */
	ck_assert_int_eq(vg_recorder_stack(&recorder, &walk, -1, 30 * MS, &stack), 0);
	ck_assert_uint_eq(stack, again);
	ck_assert_uint_eq(recorder.reported_modules.items[0].restarts, 1);
	ck_assert_uint_eq(module_read()->load_ns, 5 * MS);
	/* one frame; two frames; two frames again */
	ck_assert_uint_eq(fixture.profile.stacks.count, 5);
	for (size_t i = 1; i <= 3; i += 2) {
		const struct vg_stack *first = &fixture.profile.stacks.items[i], *leaf = first + 1;

		ck_assert_uint_eq(first->address, 0x7000);
		ck_assert_uint_eq(first->module, VG_NONE);
		ck_assert_uint_eq(leaf->address, 0x20);
		ck_assert_uint_eq(leaf->module, 0);
		ck_assert_uint_eq(leaf->parent, i);
	}
}
END_TEST

/* A module that was written before a restart is written again, before its unload or with it. */
START_TEST(module_after_a_restart)
{
	const struct vg_module *module;

	stack_at(10 * MS);
	vg_recorder_restart(&recorder);
	vg_recorder_restart_end(&recorder);
	unloads_write(false, 30 * MS);
	ck_assert_uint_eq(recorder.reported_modules.items[0].restarts, 1);
	vg_recorder_restart(&recorder);
	vg_recorder_restart_end(&recorder);
	/* A sample from before the unload comes late. */
	stack_at(40 * MS);
	unloads_write(false, 50 * MS);
	ck_assert_uint_eq(recorder.reported_modules.items[0].restarts, 2);
	module = module_read();
	ck_assert_uint_eq(module->load_ns, 10 * MS);
	ck_assert_uint_eq(module->unload_ns, 30 * MS);
}
END_TEST

/* The profile does not say that a module was unloaded if it has samples in this module after that. */
START_TEST(module_is_loaded_again)
{
	const struct vg_module *module;
	uint32_t stack = stack_at(10 * MS);

	unloads_write(false, 30 * MS);
	unloads_write(true, 40 * MS);
	ck_assert_uint_eq(stack_at(50 * MS), stack);
	unloads_write(true, 60 * MS);
	module = module_read();
	ck_assert_uint_eq(module->load_ns, 50 * MS);
	ck_assert_uint_eq(module->unload_ns, UINT64_MAX);
	ck_assert_uint_eq(module->base, MODULE_BASE);
}
END_TEST

/* A module that no stack names is not in the profile, and neither is its unload. */
START_TEST(module_without_a_stack)
{
	unloads_write(false, 30 * MS);
	unloads_write(true, 40 * MS);
	stack_at(50 * MS);
	ck_assert_uint_eq(module_read()->unload_ns, UINT64_MAX);
}
END_TEST

/* Kernel frames have numbers in place of addresses. Their names are written once. */
START_TEST(kernel_frames)
{
	static char names[] = "entry\0hook";
	struct vg_kernel_symbol symbols[] = { { UINT64_C(0xffffffff81000000), 0, 0, VG_NONE },
					      { UINT64_C(0xffffffffc0000000), 6, 1, VG_NONE } };
	struct vg_kernel_symbols kernel = { .symbols = { symbols, 2, 2 }, .text = { names, sizeof names, sizeof names } };
	const uint64_t addresses[] = { symbols[1].address + 8, symbols[0].address, symbols[0].address + 9, 0x1000,
				       UINT64_C(0xffffffff90000000) };
	const uint32_t numbers[] = { 1, 2, 2, 0, 0 };
	struct vg_frame frames[6] = { [5] = { MODULE_BASE + 0x10, 0, VG_FOUND_BY_CFI } };
	const struct vg_walk walk = { .frames = frames, .count = 6, .end = VG_WALK_ROOT };
	const struct vg_profile *profile = &fixture.profile;
	uint32_t id, stack, again;
	size_t count;

	ck_assert_int_eq(vg_intern_string(&kernel.modules, "[kernel]", &id), 1);
	ck_assert_int_eq(vg_intern_string(&kernel.modules, "[hooks]", &id), 1);
	recorder.kernel = &kernel;
	modules.max = 5;
	for (size_t i = 0; i < 5; i++) {
		ck_assert_int_eq(vg_kernel_symbols_number(&kernel, addresses[i], &id), 0);
		ck_assert_uint_eq(id, numbers[i]);
		frames[i] = (struct vg_frame){ id, VG_NONE, VG_FOUND_IN_KERNEL };
	}
	ck_assert_int_eq(vg_recorder_stack(&recorder, &walk, -1, 0, &stack), 0);
	ck_assert_int_eq(vg_recorder_stack(&recorder, &walk, -1, 0, &again), 0);
	ck_assert_uint_eq(stack, again);
	profile_read();
	ck_assert_uint_eq(profile->modules.count, 3);
	ck_assert_uint_eq(profile->functions.count, 3);
	for (uint32_t i = stack - VG_STACK_ROOTS, at = 0; at < 5; at++, i = profile->stacks.items[i].parent) {
		const struct vg_stack *node = &profile->stacks.items[i];
		const struct vg_symbol_line *line = vg_profile_symbol(profile, node->module, node->address, &count);

		ck_assert_uint_eq(node->found_by, VG_FOUND_IN_KERNEL);
		ck_assert_uint_eq(node->address, numbers[at]);
		ck_assert_uint_eq(count, 1);
		ck_assert_str_eq(vg_profile_text(profile, profile->functions.items[line->function].name),
				 numbers[at] == 0 ? "[unknown]" : numbers[at] == 1 ? "hook" : "entry");
		ck_assert_str_eq(vg_profile_text(profile, profile->modules.items[node->module].name),
				 numbers[at] == 1 ? "[hooks]" : "[kernel]");
	}
	vg_intern_free(&kernel.modules);
	vg_array_free(&kernel.found);
}
END_TEST

START_TEST(long_names_are_truncated)
{
	const struct vg_thread thread = { .tid = 7 };
	struct vg_profile *profile = &fixture.profile;

	recorder.writer.name_max_bytes = 5;
	stack_at(MS);                /* names libx.so */
	ck_assert_int_eq(vg_writer_thread(&recorder.writer, &thread, "worker"), 0);
	ck_assert_int_eq(vg_writer_thread_name(&recorder.writer, 0, MS, "short"), 0);
	ck_assert_uint_eq(recorder.writer.names_truncated, 2);
	profile_read();
	ck_assert_str_eq(vg_profile_text(profile, profile->modules.items[0].name), "libx.");
	ck_assert_str_eq(vg_profile_text(profile, profile->threads.items[0].name), "short");
}
END_TEST

Suite *recorder_suite(void)
{
	Suite *suite = suite_create("recorder");
	TCase *tests = tcase_create("recorder");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, unload_is_written_once);
	tcase_add_test(tests, stack_is_written_again);
	tcase_add_test(tests, module_after_a_restart);
	tcase_add_test(tests, module_is_loaded_again);
	tcase_add_test(tests, module_without_a_stack);
	tcase_add_test(tests, kernel_frames);
	tcase_add_test(tests, long_names_are_truncated);
	suite_add_tcase(suite, tests);
	return suite;
}
