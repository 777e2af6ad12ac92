/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of code from /tmp/perf-PID.map, which anyone may make before the process does. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/suites.h"
#include "tests/taken.h"
#include "vignetted/perfmap.h"

enum { OTHER = 65534, ORDINARY = 65533 };

static char path[64];

static void map_make(void)
{
	FILE *file;

	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	unlink(path);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "1000 100 named\n");
	fclose(file);
}

/* How many names are taken from the map if `owner` owns it and this process has that effective user meanwhile. */
static size_t names_taken(uid_t owner, uid_t user)
{
	struct vg_writer_header header = { .mode = "wall", .writer = "test", .arch = "x", .program = "p" };
	char name[] = "/tmp/check_perfmap.XXXXXX";
	uint64_t address = 0x1010;
	struct vg_perfmap map;
	struct vg_writer writer;
	struct taken taken;
	size_t count;
	int fd = mkstemp(name);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(chown(path, owner, (gid_t)-1), 0);
	ck_assert_int_eq(seteuid(user), 0);
	vg_perfmap_open(&map, getpid());
	ck_assert_int_eq(seteuid(0), 0);
	vg_writer_open(&writer, fd, 0);
	ck_assert_int_eq(vg_writer_header(&writer, &header), 0);
	ck_assert_int_eq(vg_perfmap_write(&map, &address, 1, &writer), 0);
	ck_assert_int_eq(vg_writer_flush(&writer), 0);
	vg_writer_close(&writer);
	vg_perfmap_close(&map);
	close(fd);
	taken_read(&taken, name);
	count = taken.profile.code.count;
	taken_free(&taken);
	unlink(name);
	return count;
}

START_TEST(only_of_the_process_or_root)
{
	map_make();
	ck_assert_uint_eq(names_taken(0, 0), 1);
	ck_assert_uint_eq(names_taken(ORDINARY, ORDINARY), 1);
	/* Before the process became another user. */
	ck_assert_uint_eq(names_taken(0, ORDINARY), 1);
	ck_assert_uint_eq(names_taken(OTHER, ORDINARY), 0);
	ck_assert_uint_eq(names_taken(OTHER, 0), 0);
	unlink(path);
}
END_TEST

/* Stands for the test that needs them. */
START_TEST(other_users)
{
}
END_TEST

Suite *perfmap_suite(void)
{
	Suite *suite = suite_create("perfmap");
	TCase *tests = tcase_create(geteuid() == 0 ? "owner" : "owner # SKIP not root");

	if (geteuid() == 0)
		tcase_add_test(tests, only_of_the_process_or_root);
	else
		tcase_add_test(tests, other_users);
	suite_add_tcase(suite, tests);
	return suite;
}
