/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/chunk.h"
#include "profile/reader.h"
#include "tests/unit/fixture.h"
#include "vgtool/resolve/resolve.h"

Suite *resolve_suite(void);

/* The id is that of the fixture's module "demo". No sample is in the last function. */
static const char debug_id[] = "040302010000000000000000000000000";
static const char sym[] =
	"MODULE Linux x86_64 040302010000000000000000000000000 demo\n"
	"FILE 0 m.c\nFILE 1 w.c\n"
	"INLINE_ORIGIN 0 inner\n"
	"FUNC 10 8 0 main\n10 8 7 0\n"
	"FUNC 20 10 0 work\nINLINE 0 12 1 0 20 4\n20 4 3 0\n24 c 13 1\n"
	"FUNC 100 10 0 elsewhere\n100 10 1 0\n";

static struct fixture fixture;
static char root[] = "/tmp/check_resolve.XXXXXX";
static char paths[3][256];
static struct vg_symbol_finder finder;
static struct vg_address_list list;
static struct vg_resolve resolve;
static struct vg_profile resolved;
static struct vg_infile resolved_file;

static void setup(void)
{
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(root));
	snprintf(paths[0], sizeof paths[0], "%s/demo", root);
	snprintf(paths[1], sizeof paths[1], "%s/demo/%s", root, debug_id);
	snprintf(paths[2], sizeof paths[2], "%s/demo/%s/demo.sym", root, debug_id);
	ck_assert_int_eq(mkdir(paths[0], 0700), 0);
	ck_assert_int_eq(mkdir(paths[1], 0700), 0);
	file = fopen(paths[2], "w");
	ck_assert_ptr_nonnull(file);
	fputs(sym, file);
	ck_assert_int_eq(fclose(file), 0);
}

static void teardown(void)
{
	unlink(paths[2]);
	rmdir(paths[1]);
	rmdir(paths[0]);
	rmdir(root);
}

/* Resolves the fixture's profile, and reads the result into `resolved`. */
static void resolve_run(void)
{
	static const char *stores[] = { root };
	struct vg_writer writer;
	struct vg_err err;
	char path[64];
	int fd = memfd_create("named", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	finder = (struct vg_symbol_finder){ .stores = stores, .store_count = 1 };
	list = (struct vg_address_list){ 0 };
	resolve = (struct vg_resolve){ .finder = &finder };
	ck_assert_int_eq(vg_address_list_collect(&list, &fixture.profile), 0);
	ck_assert_int_eq(vg_resolve_add(&resolve, &list), 0);
	ck_assert_int_eq(vg_resolve_read(&resolve), 0);
	vg_writer_open(&writer, fd, 0);
	ck_assert_int_eq(vg_resolve_write(&resolve, &fixture.file, &list, &writer), 0);
	vg_writer_close(&writer);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	ck_assert_int_eq(vg_infile_open(&resolved_file, path, &err), 0);
	close(fd);
	memset(&resolved, 0, sizeof resolved);
	ck_assert_int_eq(vg_profile_read(&resolved, &resolved_file, &err), 0);
}

static void resolve_close(void)
{
	vg_profile_free(&resolved);
	vg_infile_close(&resolved_file);
	vg_resolve_free(&resolve);
	vg_address_list_free(&list);
	vg_symbol_finder_free(&finder);
	fixture_close(&fixture);
}

static void expect_frame(uint64_t address, size_t i, const char *name, const char *file,
			 uint32_t line)
{
	const struct vg_function *function;
	const struct vg_symbol_line *lines;
	size_t count;

	lines = vg_profile_symbol(&resolved, 0, address, &count);
	ck_assert_uint_lt(i, count);
	function = &resolved.functions.items[lines[i].function];
	ck_assert_str_eq(vg_profile_text(&resolved, function->name), name);
	ck_assert_str_eq(vg_profile_text(&resolved, function->file), file);
	ck_assert_uint_eq(lines[i].line, line);
	ck_assert_uint_eq(function->module, 0);
}

static uint64_t symbolized_count(size_t module)
{
	const struct vg_symbolization *symbolization = &resolve.modules.items[module].symbolization;
	uint64_t count = 0;

	for (size_t i = 0; i < symbolization->count; i++)
		count += symbolization->items[i].function != VG_SYMBOLIZED_NONE;
	return count;
}

static void expect_names(void)
{
	size_t count;

	expect_frame(0x10, 0, "main", "m.c", 7);
	expect_frame(0x20, 0, "inner", "m.c", 3);
	expect_frame(0x20, 1, "work", "w.c", 12);
	ck_assert_ptr_null(vg_profile_symbol(&resolved, 1, 0x30, &count));
	ck_assert_uint_eq(resolved.functions.count, 3);
	ck_assert_uint_eq(resolved.symbols.count, 2);
	ck_assert(resolved.resolved && resolved.modules.items[1].unresolved);
}

/* The strings have other ids, because their order differs. */
static void expect_same_functions(const struct vg_profile *memory)
{
	ck_assert_uint_eq(memory->functions.count, resolved.functions.count);
	for (size_t i = 0; i < resolved.functions.count; i++) {
		const struct vg_function *ours = &memory->functions.items[i], *theirs = &resolved.functions.items[i];

		ck_assert_uint_eq(ours->id, theirs->id);
		ck_assert_uint_eq(ours->module, theirs->module);
		ck_assert_str_eq(vg_profile_text(memory, ours->name), vg_profile_text(&resolved, theirs->name));
		ck_assert_pstr_eq(vg_profile_text(memory, ours->file), vg_profile_text(&resolved, theirs->file));
	}
}

/* A profile that is symbolized in memory is the same as the resolved file. */
static void expect_same_in_memory(void)
{
	struct vg_profile *memory = &fixture.profile;
	size_t symbols = resolved.symbols.count, lines = resolved.symbol_lines.count;

	ck_assert_int_eq(vg_resolve_into(&resolve, &list, memory), 0);
	expect_same_functions(memory);
	ck_assert_uint_eq(memory->symbols.count, symbols);
	ck_assert_mem_eq(memory->symbols.items, resolved.symbols.items, symbols * sizeof *memory->symbols.items);
	ck_assert_uint_eq(memory->symbol_lines.count, lines);
	ck_assert_mem_eq(memory->symbol_lines.items, resolved.symbol_lines.items,
			 lines * sizeof *memory->symbol_lines.items);
	ck_assert_uint_eq(memory->resolved, resolved.resolved);
	for (size_t i = 0; i < memory->modules.count; i++)
		ck_assert_uint_eq(memory->modules.items[i].unresolved, resolved.modules.items[i].unresolved);
}

START_TEST(module_with_symbols_and_one_without)
{
	fixture_demo(&fixture);
	fixture_read(&fixture, false);
	resolve_run();
	expect_names();
	expect_same_in_memory();
	ck_assert_uint_eq(resolve.modules.count, 2);
	ck_assert(!resolve.modules.items[0].missing);
	ck_assert_uint_eq(resolve.modules.items[0].samples, 4);
	ck_assert_uint_eq(symbolized_count(0), 2);
	ck_assert(resolve.modules.items[1].missing);
	ck_assert_uint_eq(resolve.modules.items[1].samples, 2);
	ck_assert_uint_eq(resolve.addresses, 3);
	ck_assert_uint_eq(resolve.symbolized, 2);
	/* All other records are copied, and the end record is the last one. */
	ck_assert_uint_eq(resolved.samples.count, 5);
	ck_assert_mem_eq(resolved.samples.items, fixture.profile.samples.items,
			 5 * sizeof *resolved.samples.items);
	ck_assert_str_eq(vg_profile_text(&resolved, resolved.end_reason), "done");
	ck_assert_uint_eq(resolved.duration_ns, fixture.profile.duration_ns);
	ck_assert_uint_eq(resolved.damage.count, 0);
	resolve_close();
}
END_TEST

START_TEST(earlier_names_are_replaced)
{
	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	resolve_run();
	expect_names();
	resolve_close();
}
END_TEST

START_TEST(unknown_records_are_copied)
{
	static const unsigned char unknown[] = { 0x93, 99, 0xa3, 'k', 'e', 'y', 0x81, 1, 2 };

	fixture_demo(&fixture);
	ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
	ck_assert_int_eq(vg_writer_copy(&fixture.writer, unknown, sizeof unknown), 0);
	ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
	fixture_read(&fixture, false);
	resolve_run();
	expect_names();
	ck_assert_ptr_nonnull(memmem(resolved_file.bytes, resolved_file.length, unknown, sizeof unknown));
	resolve_close();
}
END_TEST

START_TEST(truncated_profile)
{
	fixture_demo(&fixture);
	fixture_read(&fixture, true);
	resolve_run();
	expect_names();
	ck_assert_uint_eq(resolved.end_reason, VG_NONE);
	ck_assert_uint_eq(fixture.profile.duration_ns, 4000000);
	ck_assert_uint_eq(resolved.duration_ns, 4000000);
	ck_assert_uint_eq(resolved.samples.count, 5);
	resolve_close();
}
END_TEST

/* Damage becomes a gap record with the number of damaged bytes. Wall times after it are as before. */
START_TEST(damage_becomes_a_gap)
{
	size_t length, second;
	unsigned char *bytes;

	fixture_demo(&fixture);
	ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
	second = (size_t)lseek(fixture.fd, 0, SEEK_END);
	fixture_sample(&fixture, 0, 18, 6000000, 3000000, 0);
	ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
	fixture_sample(&fixture, 0, 18, 8000000, 2000000, 0);
	bytes = fixture_bytes(&fixture, &length);
	bytes[second + VG_CHUNK_HEADER_BYTES] ^= 1;
	ck_assert_int_eq(fixture_read_bytes(&fixture, bytes, length), 0);
	ck_assert_uint_eq(fixture.profile.damage.count, 1);
	resolve_run();
	expect_names();
	ck_assert_uint_eq(resolved.damaged_bytes, fixture.profile.damaged_bytes);
	ck_assert_uint_eq(resolved.samples.count, 6);
	ck_assert_mem_eq(resolved.samples.items, fixture.profile.samples.items,
			 6 * sizeof *resolved.samples.items);
	resolve_close();
}
END_TEST

START_TEST(damaged_symbol_file)
{
	FILE *file = fopen(paths[2], "w");

	ck_assert_ptr_nonnull(file);
	fputs("MODULE Linux x86_64 040302010000000000000000000000000 demo\nFUNC zz\n"
	      "FUNC 10 8 0 main\n", file);
	ck_assert_int_eq(fclose(file), 0);
	fixture_demo(&fixture);
	fixture_read(&fixture, false);
	resolve_run();
	ck_assert(!resolve.modules.items[0].missing);
	ck_assert_ptr_nonnull(resolve.modules.items[0].problem);
	ck_assert_ptr_nonnull(strstr(resolve.modules.items[0].problem, "line 2"));
	ck_assert_uint_eq(symbolized_count(0), 1);
	resolve_close();
}
END_TEST

/* The other profile has the same module with another name and another address. The module is read once. */
START_TEST(module_of_two_profiles)
{
	struct vg_address_list other = { 0 };

	fixture_demo(&fixture);
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_address_list_collect(&other, &fixture.profile), 0);
	free(other.modules.items[0].name);
	other.modules.items[0].name = strdup("renamed");
	other.addresses.items[other.modules.items[0].first + 1] = 0x24;
	resolve_run();
	ck_assert_int_eq(vg_resolve_add(&resolve, &other), 0);
	ck_assert_uint_eq(resolve.modules.count, 2);
	ck_assert_str_eq(resolve.modules.items[0].name, "demo");
	ck_assert_uint_eq(resolve.modules.items[0].samples, 8);
	ck_assert_uint_eq(resolve.samples, 10);
	vg_symbolization_free(&resolve.modules.items[0].symbolization);
	ck_assert_int_eq(vg_resolve_read(&resolve), 0);
	ck_assert_uint_eq(resolve.modules.items[0].addresses.count, 3);
	ck_assert_uint_eq(symbolized_count(0), 3);
	vg_address_list_free(&other);
	resolve_close();
}
END_TEST

/* A file without any chunk would not be a profile. */
START_TEST(empty_chunk)
{
	unsigned char *bytes = malloc(VG_CHUNK_HEADER_BYTES);

	fixture_open(&fixture);
	vg_chunk_header(bytes, 0, "", 0);
	ck_assert_int_eq(fixture_read_bytes(&fixture, bytes, VG_CHUNK_HEADER_BYTES), 0);
	resolve_run();
	ck_assert_uint_eq(resolved.damage.count, 0);
	ck_assert_uint_eq(resolved_file.length, VG_CHUNK_HEADER_BYTES);
	resolve_close();
}
END_TEST

START_TEST(symbol_file_with_another_id)
{
	FILE *file = fopen(paths[2], "w");

	ck_assert_ptr_nonnull(file);
	fputs("MODULE Linux x86_64 140302010000000000000000000000000 demo\n"
	      "FUNC 10 18 0 wrong\n", file);
	ck_assert_int_eq(fclose(file), 0);
	fixture_demo(&fixture);
	fixture_read(&fixture, false);
	resolve_run();
	ck_assert(resolve.modules.items[0].missing);
	ck_assert_ptr_nonnull(strstr(resolve.modules.items[0].problem, paths[2]));
	ck_assert_uint_eq(resolve.symbolized, 0);
	ck_assert(resolved.modules.items[0].unresolved);
	resolve_close();
}
END_TEST

START_TEST(nothing_to_resolve)
{
	fixture_open(&fixture);
	fixture_read(&fixture, false);
	resolve_run();
	ck_assert_uint_eq(resolve.modules.count, 0);
	ck_assert_str_eq(vg_profile_text(&resolved, resolved.end_reason), "done");
	resolve_close();
}
END_TEST

Suite *resolve_suite(void)
{
	Suite *suite = suite_create("resolve");
	TCase *cases = tcase_create("resolve");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, module_with_symbols_and_one_without);
	tcase_add_test(cases, earlier_names_are_replaced);
	tcase_add_test(cases, unknown_records_are_copied);
	tcase_add_test(cases, truncated_profile);
	tcase_add_test(cases, damage_becomes_a_gap);
	tcase_add_test(cases, damaged_symbol_file);
	tcase_add_test(cases, module_of_two_profiles);
	tcase_add_test(cases, empty_chunk);
	tcase_add_test(cases, symbol_file_with_another_id);
	tcase_add_test(cases, nothing_to_resolve);
	suite_add_tcase(suite, cases);
	return suite;
}
