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

/* The id is that of the fixture's module "demo"; the last function covers nothing of it. */
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
static struct vg_names names;
static struct vg_wanted wanted;
static struct vg_resolve resolve;
static struct vg_profile named;
static struct vg_infile named_file;

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

/* Resolves the fixture's profile, and reads what comes of it into `named`. */
static void resolve_run(void)
{
	static const char *stores[] = { root };
	struct vg_writer writer;
	struct vg_err err;
	char path[64];
	int fd = memfd_create("named", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	names = (struct vg_names){ .stores = stores, .store_count = 1 };
	wanted = (struct vg_wanted){ 0 };
	resolve = (struct vg_resolve){ .names = &names };
	ck_assert_int_eq(vg_wanted_collect(&wanted, &fixture.profile), 0);
	ck_assert_int_eq(vg_resolve_add(&resolve, &wanted), 0);
	ck_assert_int_eq(vg_resolve_read(&resolve), 0);
	vg_writer_open(&writer, fd, 0);
	ck_assert_int_eq(vg_resolve_write(&resolve, &fixture.file, &wanted, &writer), 0);
	vg_writer_close(&writer);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	ck_assert_int_eq(vg_infile_open(&named_file, path, &err), 0);
	close(fd);
	memset(&named, 0, sizeof named);
	ck_assert_int_eq(vg_profile_read(&named, &named_file, &err), 0);
}

static void resolve_close(void)
{
	vg_profile_free(&named);
	vg_infile_close(&named_file);
	vg_resolve_free(&resolve);
	vg_wanted_free(&wanted);
	vg_names_free(&names);
	fixture_close(&fixture);
}

static void frame_expect(uint64_t address, size_t i, const char *name, const char *file,
			 uint32_t line)
{
	const struct vg_function *function;
	const struct vg_symbol_line *lines;
	size_t count;

	lines = vg_profile_symbol(&named, 0, address, &count);
	ck_assert_uint_lt(i, count);
	function = &named.functions.items[lines[i].function];
	ck_assert_str_eq(vg_profile_text(&named, function->name), name);
	ck_assert_str_eq(vg_profile_text(&named, function->file), file);
	ck_assert_uint_eq(lines[i].line, line);
	ck_assert_uint_eq(function->module, 0);
}

static uint64_t named_in(size_t module)
{
	const struct vg_answers *answers = &resolve.modules.items[module].answers;
	uint64_t count = 0;

	for (size_t i = 0; i < answers->count; i++)
		count += answers->items[i].function != VG_ANSWER_NONE;
	return count;
}

static void names_expect(void)
{
	size_t count;

	frame_expect(0x10, 0, "main", "m.c", 7);
	frame_expect(0x20, 0, "inner", "m.c", 3);
	frame_expect(0x20, 1, "work", "w.c", 12);
	ck_assert_ptr_null(vg_profile_symbol(&named, 1, 0x30, &count));
	ck_assert_uint_eq(named.functions.count, 3);
	ck_assert_uint_eq(named.symbols.count, 2);
	ck_assert(named.resolved && named.modules.items[1].unresolved);
}

START_TEST(names_and_what_is_missing)
{
	fixture_demo(&fixture);
	fixture_read(&fixture, false);
	resolve_run();
	names_expect();
	ck_assert_uint_eq(resolve.modules.count, 2);
	ck_assert(!resolve.modules.items[0].missing);
	ck_assert_uint_eq(resolve.modules.items[0].samples, 4);
	ck_assert_uint_eq(named_in(0), 2);
	ck_assert(resolve.modules.items[1].missing);
	ck_assert_uint_eq(resolve.modules.items[1].samples, 2);
	ck_assert_uint_eq(resolve.addresses, 3);
	ck_assert_uint_eq(resolve.named, 2);
	/* What was there is there, the end behind it all. */
	ck_assert_uint_eq(named.samples.count, 5);
	ck_assert_mem_eq(named.samples.items, fixture.profile.samples.items,
			 5 * sizeof *named.samples.items);
	ck_assert_str_eq(vg_profile_text(&named, named.end_reason), "done");
	ck_assert_uint_eq(named.duration_ns, fixture.profile.duration_ns);
	ck_assert_uint_eq(named.damage.count, 0);
	resolve_close();
}
END_TEST

START_TEST(earlier_names_give_way)
{
	fixture_demo_names(&fixture);
	fixture_read(&fixture, false);
	resolve_run();
	names_expect();
	resolve_close();
}
END_TEST

START_TEST(unknown_records_stay)
{
	static const unsigned char unknown[] = { 0x93, 99, 0xa3, 'k', 'e', 'y', 0x81, 1, 2 };

	fixture_demo(&fixture);
	ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
	ck_assert_int_eq(vg_writer_copy(&fixture.writer, unknown, sizeof unknown), 0);
	ck_assert_int_eq(vg_writer_flush(&fixture.writer), 0);
	fixture_read(&fixture, false);
	resolve_run();
	names_expect();
	ck_assert_ptr_nonnull(memmem(named_file.bytes, named_file.length, unknown, sizeof unknown));
	resolve_close();
}
END_TEST

START_TEST(truncated_stays_truncated)
{
	fixture_demo(&fixture);
	fixture_read(&fixture, true);
	resolve_run();
	names_expect();
	ck_assert_uint_eq(named.end_reason, VG_NONE);
	ck_assert_uint_eq(fixture.profile.duration_ns, 4000000);
	ck_assert_uint_eq(named.duration_ns, 4000000);
	ck_assert_uint_eq(named.samples.count, 5);
	resolve_close();
}
END_TEST

/* Damage becomes a mark of as many bytes, and breaks wall times as it did. */
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
	names_expect();
	ck_assert_uint_eq(named.damaged_bytes, fixture.profile.damaged_bytes);
	ck_assert_uint_eq(named.samples.count, 6);
	ck_assert_mem_eq(named.samples.items, fixture.profile.samples.items,
			 6 * sizeof *named.samples.items);
	resolve_close();
}
END_TEST

START_TEST(broken_symbols_are_said)
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
	ck_assert_ptr_nonnull(resolve.modules.items[0].text);
	ck_assert_ptr_nonnull(strstr(resolve.modules.items[0].text, "line 2"));
	ck_assert_uint_eq(named_in(0), 1);
	resolve_close();
}
END_TEST

/* Two profiles, one of which knows the other's module by another name: one module to look up. */
START_TEST(gathers_what_profiles_share)
{
	struct vg_wanted other = { 0 };

	fixture_demo(&fixture);
	fixture_read(&fixture, false);
	ck_assert_int_eq(vg_wanted_collect(&other, &fixture.profile), 0);
	free(other.modules.items[0].name);
	other.modules.items[0].name = strdup("renamed");
	other.addresses.items[other.modules.items[0].first + 1] = 0x24;
	resolve_run();
	ck_assert_int_eq(vg_resolve_add(&resolve, &other), 0);
	ck_assert_uint_eq(resolve.modules.count, 2);
	ck_assert_str_eq(resolve.modules.items[0].name, "demo");
	ck_assert_uint_eq(resolve.modules.items[0].samples, 8);
	ck_assert_uint_eq(resolve.samples, 10);
	vg_answers_free(&resolve.modules.items[0].answers);
	ck_assert_int_eq(vg_resolve_read(&resolve), 0);
	ck_assert_uint_eq(resolve.modules.items[0].addresses.count, 3);
	ck_assert_uint_eq(named_in(0), 3);
	vg_wanted_free(&other);
	resolve_close();
}
END_TEST

/* A file without a chunk is no profile. */
START_TEST(empty_chunks_stay_a_profile)
{
	unsigned char *bytes = malloc(VG_CHUNK_HEADER_BYTES);

	fixture_open(&fixture);
	vg_chunk_header(bytes, 0, "", 0);
	ck_assert_int_eq(fixture_read_bytes(&fixture, bytes, VG_CHUNK_HEADER_BYTES), 0);
	resolve_run();
	ck_assert_uint_eq(named.damage.count, 0);
	ck_assert_uint_eq(named_file.length, VG_CHUNK_HEADER_BYTES);
	resolve_close();
}
END_TEST

START_TEST(a_stranger_in_our_folder_is_not_believed)
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
	ck_assert_ptr_nonnull(strstr(resolve.modules.items[0].text, paths[2]));
	ck_assert_uint_eq(resolve.named, 0);
	ck_assert(named.modules.items[0].unresolved);
	resolve_close();
}
END_TEST

START_TEST(nothing_to_resolve)
{
	fixture_open(&fixture);
	fixture_read(&fixture, false);
	resolve_run();
	ck_assert_uint_eq(resolve.modules.count, 0);
	ck_assert_str_eq(vg_profile_text(&named, named.end_reason), "done");
	resolve_close();
}
END_TEST

Suite *resolve_suite(void)
{
	Suite *suite = suite_create("resolve");
	TCase *cases = tcase_create("resolve");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, names_and_what_is_missing);
	tcase_add_test(cases, earlier_names_give_way);
	tcase_add_test(cases, unknown_records_stay);
	tcase_add_test(cases, truncated_stays_truncated);
	tcase_add_test(cases, damage_becomes_a_gap);
	tcase_add_test(cases, broken_symbols_are_said);
	tcase_add_test(cases, gathers_what_profiles_share);
	tcase_add_test(cases, empty_chunks_stay_a_profile);
	tcase_add_test(cases, a_stranger_in_our_folder_is_not_believed);
	tcase_add_test(cases, nothing_to_resolve);
	suite_add_tcase(suite, cases);
	return suite;
}
