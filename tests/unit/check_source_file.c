/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Source files: where they are looked for, and their lines. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/suites.h"
#include "vgtool/views/source_file.h"

static char directory[] = "check_source_file.XXXXXX";

static void file_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chdir(directory), 0);
	ck_assert_int_eq(mkdir("a", 0700) | mkdir("a/src", 0700) | mkdir("b", 0700) | mkdir("b/dir.c", 0700), 0);
	file_write("a/src/main.c", "one\n\n  three\nlast");
	file_write("a/main.c", "other\n");
	file_write("b/only.c", "");
	file_write("outside.c", "secret\n");
	ck_assert_int_eq(mkdir("b/.git", 0700), 0);
	file_write("b/.git/config", "secret\n");
	file_write("b/.hidden.c", "secret\n");
	ck_assert_int_eq(symlink("../outside.c", "b/out.c"), 0);
	ck_assert_int_eq(symlink(".git/config", "b/config.c"), 0);
	ck_assert_int_eq(symlink("only.c", "b/link.c"), 0);
	ck_assert_int_eq(mkfifo("b/fifo.c", 0600), 0);
}

static void teardown(void)
{
	static const char *const paths[] = { "a/src/main.c", "a/src", "a/main.c", "a", "b/only.c", "b/fifo.c",
					     "b/dir.c", "b/.git/config", "b/.git", "b/.hidden.c", "b/out.c",
					     "b/config.c", "b/link.c", "b", "outside.c" };

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		remove(paths[i]);
	ck_assert_int_eq(chdir(".."), 0);
	rmdir(directory);
	strcpy(directory, "check_source_file.XXXXXX");
}

START_TEST(places)
{
	static const char *const directories[] = { "missing", "a", "b" };
	static const struct {
		const char *name, *path; /* NULL: not found */
	} rows[] = {
		{ "/build/app/src/main.c", "a/src/main.c" },
		{ "src/main.c", "a/src/main.c" },
		{ "main.c", "a/main.c" },
		{ "/elsewhere//main.c", "a/main.c" },
		{ "/build/only.c", "b/only.c" },
		{ "/build/none.c", NULL },
		{ "../outside.c", NULL },
		{ "/build/../only.c", NULL },
		{ "..", NULL },
		{ "/build/fifo.c", NULL },
		{ "/build/dir.c", NULL },
		{ "./only.c", "b/./only.c" },
		{ "/build/link.c", "b/link.c" },
		{ "/build/.git/config", NULL },
		{ "/build/.hidden.c", NULL },
		{ "/build/out.c", NULL },
		{ "/build/config.c", NULL },
		{ "", NULL },
		{ "/", NULL },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct vg_source source;
		int rc = vg_source_open(&source, rows[i].name, directories, 3);

		ck_assert_msg(rc == (rows[i].path != NULL ? 0 : -ENOENT), "%s: %d", rows[i].name, rc);
		if (rc == 0)
			ck_assert_str_eq(source.path, rows[i].path);
		vg_source_close(&source);
	}
}
END_TEST

START_TEST(lines)
{
	static const char *const directories[] = { "a", "b" };
	static const struct {
		uint32_t line;
		const char *text;
	} rows[] = { { 1, "one" }, { 3, "  three" }, { 4, "last" }, { 5, NULL }, { 2, "" }, { 0, NULL },
		     { UINT32_MAX, NULL }, { 1, "one" } };
	struct vg_source source;
	size_t bytes;

	ck_assert_int_eq(vg_source_open(&source, "src/main.c", directories, 2), 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *text = vg_source_line(&source, rows[i].line, &bytes);

		ck_assert_msg((text == NULL) == (rows[i].text == NULL), "line %u", rows[i].line);
		if (text != NULL)
			ck_assert(bytes == strlen(rows[i].text) && memcmp(text, rows[i].text, bytes) == 0);
	}
	vg_source_close(&source);
	ck_assert_int_eq(vg_source_open(&source, "only.c", directories, 2), 0);
	ck_assert_ptr_null(vg_source_line(&source, 1, &bytes));
	vg_source_close(&source);
}
END_TEST

Suite *source_file_suite(void)
{
	Suite *suite = suite_create("source_file");
	TCase *cases = tcase_create("source_file");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, places);
	tcase_add_test(cases, lines);
	suite_add_tcase(suite, cases);
	return suite;
}
