/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a recorder writes of modules that are unloaded and loaded again. */
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
	vg_recorder_open(&recorder, fixture.fd, 0, &modules);
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

static const struct vg_module *module_read(void)
{
	unsigned char *bytes;
	off_t length;

	ck_assert_int_eq(vg_recorder_finish(&recorder, "over", 100 * MS), 0);
	length = lseek(fixture.fd, 0, SEEK_END);
	bytes = malloc((size_t)length + 1);
	ck_assert_int_eq(pread(fixture.fd, bytes, (size_t)length, 0), length);
	ck_assert_int_eq(fixture_read_bytes(&fixture, bytes, (size_t)length), 0);
	ck_assert_uint_eq(fixture.profile.damage.count, 0);
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

Suite *recorder_suite(void)
{
	Suite *suite = suite_create("recorder");
	TCase *tests = tcase_create("recorder");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, unload_is_written_once);
	tcase_add_test(tests, module_is_loaded_again);
	tcase_add_test(tests, module_without_a_stack);
	suite_add_tcase(suite, tests);
	return suite;
}
