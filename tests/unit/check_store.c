/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/build_id.h"
#include "base/descriptor.h"
#include "symbols/store/store.h"
#include "symbols/store/store_index.h"
#include "symbols/store/store_prune.h"
#include "symbols/table/debug_id.h"


static char root[64];
static struct vg_err err;
static const unsigned char id[20] = {
	0x13, 0xca, 0xef, 0x43, 0xe1, 0x9d, 0x81, 0xa5, 0xbd, 0x3b,
	0x97, 0x2d, 0xf3, 0x5e, 0xa4, 0x3c, 0x3b, 0x61, 0xf2, 0xb3
};
#define DEBUG_ID "43EFCA139DE1A581BD3B972DF35EA43C0"
#define CODE_ID "13CAEF43E19D81A5BD3B972DF35EA43C3B61F2B3"

static void setup(void)
{
	strcpy(root, "/tmp/check_store.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf '%s'", root);
	ck_assert_int_eq(system(command), 0);
}

static void table_make(struct vg_symbols *table, const char *module_name, unsigned functions,
		       unsigned linker_symbols)
{
	memset(table, 0, sizeof *table);
	table->module_name = strdup(module_name);
	table->os = strdup("Linux");
	table->arch = strdup("x86_64");
	memcpy(table->build_id, id, sizeof id);
	table->build_id_bytes = sizeof id;
	vg_debug_id_text(id, sizeof id, table->debug_id);
	for (unsigned i = 0; i < functions; i++) {
		struct vg_symbol_function function = { .address = 0x1000 + 16 * i, .size_bytes = 16 };

		ck_assert_int_ge(vg_intern_string(&table->strings, "function", &function.name), 0);
		ck_assert_int_eq(vg_array_push(&table->functions, &function), 0);
	}
	for (unsigned i = 0; i < linker_symbols; i++) {
		struct vg_linker_symbol symbol = { .address = 0x2000 + 16 * i };

		ck_assert_int_ge(vg_intern_string(&table->strings, "public", &symbol.name), 0);
		ck_assert_int_eq(vg_array_push(&table->linker_symbols, &symbol), 0);
	}
	ck_assert_int_eq(vg_symbols_finish(table), 0);
}

/* Adds a module and returns what vg_store_add() returned. The caller frees *path. */
static int add(const char *module_name, unsigned functions, unsigned linker_symbols, char **path)
{
	struct vg_symbols table;
	int rc;

	table_make(&table, module_name, functions, linker_symbols);
	rc = vg_store_add(root, &table, path, &err);
	vg_symbols_free(&table);
	return rc;
}

static char *find(const char *name)
{
	const char *roots[] = { "/nowhere", root };
	char *path;
	bool has_functions;
	int rc = vg_store_find(roots, 2, name, id, sizeof id, &path, &has_functions, &err);

	ck_assert(rc == 0 || rc == -ENOENT);
	ck_assert_int_eq(path != NULL, rc == 0);
	return path;
}

static void expect_found(const char *name, const char *below_root)
{
	char expected[512], *path = find(name);

	snprintf(expected, sizeof expected, "%s/%s", root, below_root);
	ck_assert_ptr_nonnull(path);
	ck_assert_str_eq(path, expected);
	free(path);
}

static void file_put(const char *below_root, const char *text)
{
	char command[1024];

	snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s/%s')\" && printf '%s' > '%s/%s'",
		 root, below_root, text, root, below_root);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(add_and_find)
{
	char *path, *again;

	ck_assert_int_eq(add("libone.so.1", 2, 0, &path), 0);
	expect_found("libone.so.1", "libone.so.1/" DEBUG_ID "/libone.so.1.sym");
	ck_assert_int_eq(add("libone.so.1", 2, 0, &again), 0);
	ck_assert_str_eq(path, again);
	expect_found("another name", "libone.so.1/" DEBUG_ID "/libone.so.1.sym");
	expect_found("", "libone.so.1/" DEBUG_ID "/libone.so.1.sym");
	free(path);
	free(again);
}
END_TEST

START_TEST(other_ids_are_not_found)
{
	const char *roots[] = { root };
	unsigned char other[20] = { 1 };
	bool has_functions;
	char *path;

	ck_assert_int_eq(add("program", 1, 0, NULL), 0);
	ck_assert_int_eq(vg_store_find(roots, 1, "program", other, sizeof other, &path, &has_functions, &err), -ENOENT);
	ck_assert_ptr_null(path);
	ck_assert_int_eq(vg_store_find(roots, 1, "program", id, 0, &path, &has_functions, &err), -ENOENT);
	ck_assert_int_eq(vg_store_find(roots, 0, "program", id, sizeof id, &path, &has_functions, &err), -ENOENT);
}
END_TEST

START_TEST(file_with_less_does_not_replace_one_with_more)
{
	char *path;

	ck_assert_int_eq(add("program", 0, 3, NULL), 0);
	ck_assert_int_eq(add("program", 0, 2, &path), 1);
	ck_assert_ptr_nonnull(path);
	free(path);
	ck_assert_int_eq(add("program", 0, 3, NULL), 0);
	ck_assert_int_eq(add("program", 1, 0, NULL), 0);
	ck_assert_int_eq(add("program", 0, 9, NULL), 1);
	ck_assert_int_eq(add("program", 2, 0, NULL), 0);
}
END_TEST

START_TEST(file_with_functions_is_preferred)
{
	ck_assert_int_eq(add("program", 0, 5, NULL), 0);
	expect_found("program", "program/" DEBUG_ID "/program.sym");
	ck_assert_int_eq(add("program.debug", 5, 0, NULL), 0);
	expect_found("program", "program.debug/" DEBUG_ID "/program.debug.sym");
	ck_assert_int_eq(add("program", 5, 0, NULL), 0);
	expect_found("program", "program/" DEBUG_ID "/program.sym");
}
END_TEST

START_TEST(find_by_code_id)
{
	file_put("old/" CODE_ID "/old.sym", "MODULE Linux x86_64 " DEBUG_ID " old\\nFUNC x");
	expect_found("old", "old/" CODE_ID "/old.sym");
	expect_found("renamed", "old/" CODE_ID "/old.sym");
	ck_assert_int_eq(add("old", 0, 1, NULL), 0);
	expect_found("old", "old/" CODE_ID "/old.sym");
}
END_TEST

START_TEST(root_may_be_a_file)
{
	char file[128], *path;
	const char *roots[] = { file };
	bool has_functions;

	snprintf(file, sizeof file, "%s/alone.sym", root);
	file_put("alone.sym", "MODULE Linux x86_64 " DEBUG_ID " whatever\\nFUNC 1 1 0 f\\n");
	ck_assert_int_eq(vg_store_find(roots, 1, "x", id, sizeof id, &path, &has_functions, &err), 0);
	ck_assert_str_eq(path, file);
	free(path);
	file_put("alone.sym", "MODULE Linux x86_64 0 w\\nINFO CODE_ID " CODE_ID "\\nFUNC 1 1 0 f\\n");
	ck_assert_int_eq(vg_store_find(roots, 1, "x", id, sizeof id, &path, &has_functions, &err), 0);
	free(path);
	file_put("alone.sym", "MODULE Linux x86_64 0 w\\nFUNC 1 1 0 f\\n");
	ck_assert_int_eq(vg_store_find(roots, 1, "x", id, sizeof id, &path, &has_functions, &err), -ENOENT);
}
END_TEST

START_TEST(hostile_names_stay_in_the_store)
{
	static const char *const names[] = {
		"../../../../tmp/escape", "..", ".", "", "/etc/passwd", "a/../b", "new\nline", "a/b",
	};
	char long_name[5000], *path;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		ck_assert_int_eq(add(names[i], 1, 0, &path), 0);
		ck_assert_int_eq(strncmp(path, root, strlen(root)), 0);
		ck_assert_ptr_null(strstr(path, "/../"));
		ck_assert_ptr_null(strstr(path, "/./"));
		ck_assert_ptr_null(strchr(path, '\n'));
		ck_assert_int_eq(access(path, R_OK), 0);
		free(path);
		path = find(names[i]);
		ck_assert_ptr_nonnull(path);
		free(path);
	}
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = '\0';
	ck_assert_int_eq(add(long_name, 1, 0, NULL), 0);
	path = find(long_name);
	ck_assert_ptr_nonnull(strstr(path, "/xxxxx"));
	free(path);
	path = find(NULL);
	ck_assert_ptr_nonnull(path);
	free(path);
}
END_TEST

START_TEST(path_out_of_the_store_is_not_found)
{
	char name[128];

	/* With this module name, the path <root>/<name>/... leads out of the root by "..", and back to the added file.
	 * The store does not use such a path: it finds the file by its build id. */
	ck_assert_int_eq(add("inside", 1, 0, NULL), 0);
	snprintf(name, sizeof name, "..%s/inside", strrchr(root, '/'));
	expect_found(name, "inside/" DEBUG_ID "/inside.sym");
}
END_TEST

/* A symbolic link to itself cannot be opened. A file without permission would not do, because root can read it. */
START_TEST(unreadable_file_is_found_last)
{
	char command[512];

	snprintf(command, sizeof command, "mkdir -p '%s/program/" DEBUG_ID "' && ln -s program.sym "
		 "'%s/program/" DEBUG_ID "/program.sym'", root, root);
	ck_assert_int_eq(system(command), 0);
	expect_found("program", "program/" DEBUG_ID "/program.sym");
	ck_assert_int_eq(add("other", 0, 1, NULL), 0);
	expect_found("program", "other/" DEBUG_ID "/other.sym");
	ck_assert_int_eq(add("program", 1, 0, NULL), 0);
	expect_found("program", "program/" DEBUG_ID "/program.sym");
}
END_TEST

/* Eight processes add the same symbol file at the same time. The result is one complete file. */
START_TEST(many_writers)
{
	pid_t children[8];

	for (int i = 0; i < 8; i++) {
		children[i] = fork();
		ck_assert_int_ge(children[i], 0);
		if (children[i] == 0) {
			int rc;

			/* A writer waits for the others, but not for ever. */
			do
				rc = add("program", i % 2 == 0 ? 60000 : 0, 1, NULL);
			while (rc == -EBUSY);
			_exit(rc < 0);
		}
	}
	for (int i = 0; i < 8; i++) {
		int status;

		ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
		ck_assert_int_eq(status, 0);
	}
	expect_found("program", "program/" DEBUG_ID "/program.sym");
	ck_assert_int_eq(add("program", 0, 1, NULL), 1);
}
END_TEST

START_TEST(write_errors)
{
	struct vg_symbols table;

	table_make(&table, "program", 1, 0);
	ck_assert_int_eq(vg_store_add("/proc/nowhere", &table, NULL, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "/proc/nowhere"));
	table.debug_id[0] = '\0';
	ck_assert_int_eq(vg_store_add(root, &table, NULL, &err), -EINVAL);
	vg_symbols_free(&table);
}
END_TEST

/* Makes <root>/<name>/0/<name>.sym of 10 bytes, which was saved at this time. */
static void aged_make(const char *name, time_t seconds)
{
	const struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };
	char command[256], path[128];

	snprintf(path, sizeof path, "%s/%s/0/%s.sym", root, name, name);
	snprintf(command, sizeof command, "mkdir -p '%s/%s/0' && printf 0123456789 >'%s'", root, name, path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool aged_exists(const char *directory, const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s/0/%s.sym", root, directory, name);
	return access(path, F_OK) == 0;
}

/* Runs the command in the context after the first removal. */
static void removed_run(void *context, const char *path, uint64_t bytes, uint64_t age_ns)
{
	char **command = context;

	(void)path;
	ck_assert_uint_eq(bytes, 10);
	ck_assert_uint_gt(age_ns, 0);
	if (*command != NULL)
		ck_assert_int_eq(system(*command), 0);
	*command = NULL;
}

static void prune_to(uint64_t max_bytes, char *command, uint64_t removed_files)
{
	struct vg_store_prune prune = { .older_than_ns = UINT64_MAX, .max_bytes = max_bytes,
					.removed = removed_run, .context = &command };

	ck_assert_msg(vg_store_prune(root, &prune, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(prune.removed_files, removed_files);
	ck_assert_uint_eq(prune.removed_bytes, 10 * removed_files);
}

/* A file that another process removes while files are pruned counts, too. */
START_TEST(prune_counts_what_others_remove)
{
	char command[256];

	for (int i = 0; i < 4; i++)
		aged_make((const char *[]){ "a", "b", "c", "d" }[i], 1000 + i);
	snprintf(command, sizeof command, "rm '%s/b/0/b.sym'; rm -r '%s/c'", root, root);
	prune_to(10, command, 1);
	ck_assert(aged_exists("d", "d"));
}
END_TEST

/* A directory that is replaced by a symbolic link does not lead prune out of the store. */
START_TEST(prune_stays_in_the_store)
{
	char command[256];

	aged_make("a", 1000);
	aged_make("b", 1001);
	aged_make("c", 1002);
	snprintf(command, sizeof command, "cd '%s' && mkdir out && mv b out/b && ln -s out/b b && mv c/0 out/0 && "
		 "ln -s ../out/0 c/0", root);
	prune_to(0, command, 1);
	ck_assert(aged_exists("b", "b"));
	ck_assert(aged_exists("c", "c"));
}
END_TEST

/* Times that do not fit in 64 bits of nanoseconds keep their order. */
START_TEST(prune_far_times)
{
	aged_make("future", INT64_C(10413792000));    /* the year 2300 */
	aged_make("past", -INT64_C(2000000000));      /* 1906 */
	aged_make("now", time(NULL) - 10);
	prune_to(20, NULL, 1);
	ck_assert(!aged_exists("past", "past"));
	prune_to(10, NULL, 1);
	ck_assert(aged_exists("future", "future"));
}
END_TEST

/* A file that is kept because it has more symbols was saved again, too. */
START_TEST(file_with_more_is_as_new_as_the_last_save)
{
	const struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct stat before, after;
	char *path;

	ck_assert_int_eq(add("program", 2, 0, &path), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	ck_assert_int_eq(stat(path, &before), 0);
	free(path);
	ck_assert_int_eq(add("program", 0, 1, &path), 1);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_int_gt(after.st_mtim.tv_sec, 1000);
	ck_assert(before.st_ino == after.st_ino && before.st_size == after.st_size);
	free(path);
}
END_TEST

static int entry_count(void *context, const struct vg_store_index_entry *entry)
{
	ck_assert_uint_gt(entry->id_bytes, 0);
	ck_assert_uint_le(entry->id_bytes, VG_BUILD_ID_MAX_BYTES);
	ck_assert_uint_lt(strlen(entry->path), PATH_MAX);
	++*(int *)context;
	return 0;
}

/* Writes the bytes to the file, and reads it as an index. */
static int index_read(const char *path, const unsigned char *bytes, size_t count, int *entries)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), rc;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(vg_write_all(fd, bytes, count), 0);
	*entries = 0;
	rc = vg_store_index_read(fd, entry_count, entries);
	close(fd);
	return rc;
}

START_TEST(damaged_index)
{
	static unsigned char bytes[4096];
	char command[512], path[128];
	int fd, entries, whole = 0;
	ssize_t count;

	snprintf(command, sizeof command, "mkdir '%s/libraries' && cp '%s' '%s' '%s/libraries' && echo text "
		 ">'%s/libraries/text'", root, FIXTURE_A, FIXTURE_B, root, root);
	ck_assert_int_eq(system(command), 0);
	snprintf(path, sizeof path, "%s/index", root);
	snprintf(command, sizeof command, "%s/libraries", root);
	ck_assert_int_eq(vg_store_index_update(command, path, &err), 0);
	fd = open(path, O_RDONLY);
	count = read(fd, bytes, sizeof bytes);
	close(fd);
	ck_assert_int_gt(count, 0);
	ck_assert_int_lt(count, (ssize_t)sizeof bytes);
	ck_assert_int_eq(index_read(path, bytes, (size_t)count, &entries), 0);
	ck_assert_int_eq(entries, 2);
	/* A record for the directory, and for each file. */
	for (size_t length = 0; length < (size_t)count; length++) {
		int rc = index_read(path, bytes, length, &entries);

		ck_assert(rc == 0 || (rc == -EBADMSG && entries == 0));
		whole += rc == 0;
	}
	ck_assert_int_eq(whole, 4);
	for (ssize_t i = 0; i < count; i++) {
		for (int bit = 0; bit < 8; bit++) {
			bytes[i] ^= (unsigned char)(1 << bit);
			ck_assert_int_le(index_read(path, bytes, (size_t)count, &entries), 0);
			bytes[i] ^= (unsigned char)(1 << bit);
		}
	}
	bytes[0] ^= 1;
	ck_assert_int_eq(index_read(path, bytes, (size_t)count, &entries), -EBADMSG);
	ck_assert_int_eq(vg_store_index_update(command, path, &err), 0);
	fd = open(path, O_RDONLY);
	ck_assert_int_eq(vg_store_index_read(fd, entry_count, &entries), 0);
	close(fd);
	ck_assert_int_eq(entries, 2);
}
END_TEST

Suite *store_suite(void)
{
	Suite *suite = suite_create("store");
	TCase *tests = tcase_create("store");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, add_and_find);
	tcase_add_test(tests, other_ids_are_not_found);
	tcase_add_test(tests, file_with_less_does_not_replace_one_with_more);
	tcase_add_test(tests, file_with_functions_is_preferred);
	tcase_add_test(tests, find_by_code_id);
	tcase_add_test(tests, root_may_be_a_file);
	tcase_add_test(tests, hostile_names_stay_in_the_store);
	tcase_add_test(tests, path_out_of_the_store_is_not_found);
	tcase_add_test(tests, unreadable_file_is_found_last);
	tcase_add_test(tests, many_writers);
	tcase_add_test(tests, write_errors);
	tcase_add_test(tests, prune_counts_what_others_remove);
	tcase_add_test(tests, prune_stays_in_the_store);
	tcase_add_test(tests, prune_far_times);
	tcase_add_test(tests, file_with_more_is_as_new_as_the_last_save);
	tcase_add_test(tests, damaged_index);
	suite_add_tcase(suite, tests);
	return suite;
}
