/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The command line, the default name of the profile, the program's name, and the decisions about permissions. */
#include "tests/unit/suites.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/option_table.h"
#include "base/outfile.h"
#include "base/output_path.h"
#include "vignetted/policy/permission.h"
#include "vignetted/serve/arguments.h"
#include "vignetted/serve/output_name.h"
#include "vignetted/serve/status.h"
#include "vignetted/target/target.h"

/* ---- options ---- */

static int parse(struct vg_arguments *arguments, const char *line, struct vg_err *err)
{
	static char text[256];
	static char *argv[16];
	int argc = 1;

	memset(argv, 0, sizeof argv);
	argv[0] = "vignetted";
	snprintf(text, sizeof text, "%s", line);
	for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
		argv[argc++] = word;
	optind = 0;                      /* makes glibc's getopt_long() begin anew */
	return vg_arguments_parse(arguments, argc, argv, err);
}

START_TEST(wrong_options)
{
	static const struct { const char *line, *message; } wrong[] = {
		{ "--rate 20000 -- x", "--rate 20000: must be 1 to 10000 samples per second" },
		{ "--rate 1.5 -- x", "--rate 1.5: must be 1 to 10000 samples per second" },
		{ "--pid 1,2", "--pid 1,2: more than one process; use vgtool record" },
		{ "-p x", "--pid x: must be 1 to 2147483647 (the id of a process)" },
		{ "--duration 5x -- x",
		  "--duration 5x: must be 0.001 to 1073741824 seconds, such as 10, 0.5, 500ms, 1m or 2h" },
		{ "--max-size 1K -- x", "--max-size 1K: must be 64K or more bytes, such as 65536, 64M or 1G" },
		{ "--max-memory 1M -- x", "--max-memory 1M: must be 32M or more bytes, such as 65536, 64M or 1G" },
		{ "--max-frames 0 -- x", "--max-frames 0: must be 1 to 65536 frames" },
		{ "--mode both -- x", "--mode both: must be wall or cpu" },
		{ "--mode wal -- x", "--mode wal: must be wall or cpu" },
		{ "--budget 101 -- x", "--budget 101: must be 0 to 100 percent" },
		{ "--quiet=1 -- x", "--quiet: takes no value" },
		{ "--rate", "--rate: needs a value, HZ" },
		{ "--max 3 -- x", "--max: no such option, or an abbreviation of several options" },
		{ "-x", "-x: no such option" },
		{ "-r 99", "-r: no such option" },
		{ "-q", "-q: no such option" },
		{ "-o a", "nothing to record; use --pid PID, or a command after --" },
		{ "--pid 3 -- x", "both --pid and a command; use one of them" },
		{ "--thread 0 --pid 3", "--thread 0: must be 1 to 2147483647 (the id of a thread)" },
		{ "--thread worker --pid 3", "--thread worker: must be 1 to 2147483647 (the id of a thread)" },
		{ "--thread 3 -- x", "both --thread and a command; use --thread with --pid, because the threads of a "
		  "command have no ids before it runs" },
		{ "--kernel --capture stop -- x", "both --kernel and --capture stop; only timers sample the kernel" },
		{ "--check 3 4", "--check: more than one process; use one PID" },
		{ "--check three", "--pid three: must be 1 to 2147483647 (the id of a process)" },
	};
	struct vg_arguments arguments;
	struct vg_err err;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		ck_assert_int_eq(parse(&arguments, wrong[i].line, &err), -EINVAL);
		ck_assert_str_eq(err.text, wrong[i].message);
	}
}
END_TEST

START_TEST(good_options)
{
	struct vg_arguments arguments;
	struct vg_err err;

	ck_assert_int_eq(parse(&arguments, "--rate 100 --duration 500ms --max-size 64M --mode cpu --quiet a --rate",
			       &err), 0);
	ck_assert_uint_eq(arguments.session.period_ns, 10000000);
	ck_assert_uint_eq(arguments.session.max_duration_ns, 500000000);
	ck_assert_uint_eq(arguments.session.max_file_bytes, 64 << 20);
	ck_assert_uint_eq(arguments.session.budget_ppm, 0);
	ck_assert(arguments.session.cpu_mode && arguments.quiet && arguments.output == NULL);
	ck_assert_str_eq(arguments.command[1], "--rate");
	ck_assert_int_eq(parse(&arguments, "--rate 100 --budget 2 --pid 7 -o f", &err), 0);
	ck_assert_uint_eq(arguments.session.budget_ppm, 20000);
	ck_assert_int_eq(arguments.pid, 7);
	ck_assert(!arguments.session.kernel && arguments.session.thread == 0);
	ck_assert_int_eq(parse(&arguments, "--pid 7 --thread 9", &err), 0);
	ck_assert_int_eq(arguments.session.thread, 9);
	ck_assert_int_eq(parse(&arguments, "--kernel -- x", &err), 0);
	ck_assert(arguments.session.kernel);
	ck_assert_int_eq(parse(&arguments, "--check 8", &err), 0);
	ck_assert(arguments.request == VG_REQUEST_CHECK && arguments.pid == 8);
	ck_assert_int_eq(parse(&arguments, "--check", &err), 0);
	ck_assert(arguments.request == VG_REQUEST_CHECK && arguments.pid == 0);
	ck_assert_int_eq(parse(&arguments, "--help --rate 0", &err), 0);
	ck_assert(arguments.request == VG_REQUEST_HELP);
}
END_TEST

START_TEST(help_fits_a_terminal)
{
	char *text, *line;
	size_t length, lines = 0;
	FILE *file = open_memstream(&text, &length);

	vg_arguments_help(file);
	fclose(file);
	for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"), lines++)
		ck_assert_msg(strlen(line) < 80, "%s", line);
	ck_assert_uint_gt(lines, 20);
	free(text);
}
END_TEST

/* ---- the default name ---- */

static char directory[32];

static void directory_enter(void)
{
	snprintf(directory, sizeof directory, "check_arguments.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chdir(directory), 0);
}

static void directory_leave(void)
{
	char command[64];

	ck_assert_int_eq(chdir(".."), 0);
	snprintf(command, sizeof command, "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static void file_create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

/* No file is replaced: neither a profile, nor the .part of an earlier recording, nor a dangling link. */
START_TEST(default_names)
{
	char program[VG_PROGRAM_BYTES], name[5][VG_PROGRAM_BYTES + 40];
	struct vg_outfile file;
	struct vg_err err;

	vg_target_executable_name(getpid(), program);
	for (int i = 0; i < 5; i++) {
		snprintf(name[i], sizeof name[i], i == 0 ? "%s.%d.vgp" : "%s.%d.%d.vgp", program, getpid(), i);
		if (i == 0)
			file_create(name[i]);
	}
	snprintf(name[1] + strlen(name[1]), 8, ".part");
	file_create(name[1]);
	ck_assert_int_eq(symlink("nowhere", name[2]), 0);
	ck_assert_int_eq(vg_output_name_open(&file, NULL, getpid(), &err), 0);
	ck_assert_str_eq(file.path, name[3]);
	ck_assert_int_eq(vg_outfile_commit(&file, &err), 0);
	ck_assert_int_eq(access(name[3], F_OK), 0);
	/* A file that appears during the recording is not replaced, either. */
	ck_assert_int_eq(vg_output_name_open(&file, NULL, getpid(), &err), 0);
	ck_assert_str_eq(file.path, name[4]);
	file_create(name[4]);
	ck_assert_int_eq(vg_outfile_commit(&file, &err), -EEXIST);
	snprintf(name[4] + strlen(name[4]), 8, ".part");
	ck_assert_int_eq(access(name[4], F_OK), 0);
	/* In a directory */
	ck_assert_int_eq(mkdir("profiles", 0700), 0);
	ck_assert(vg_output_is_directory("profiles") && vg_output_is_directory(NULL));
	ck_assert(!vg_output_is_directory(name[0]) && !vg_output_is_directory("nothing"));
	ck_assert_int_eq(symlink("profiles", "linked"), 0);
	ck_assert(vg_output_is_directory("linked") && vg_output_is_directory("linked/"));
	if (geteuid() == 0) {
		ck_assert_int_eq(lchown("linked", 65533, 65533), 0);
		ck_assert(!vg_output_is_directory("linked") && !vg_output_is_directory("linked//"));
		ck_assert_int_eq(vg_output_path_check_directory("linked/", &err), -EACCES);
	}
	ck_assert_int_eq(unlink("linked"), 0);
	ck_assert_int_eq(vg_output_name_open(&file, "profiles", getpid(), &err), 0);
	ck_assert_int_eq(strncmp(file.path, "profiles/", 9), 0);
	ck_assert_str_eq(file.path + 9, name[0]);
	vg_outfile_abandon(&file);
	ck_assert_int_eq(rmdir("profiles"), 0);
}
END_TEST

/* ---- the program's name ---- */

static void program_of(const char *path, char *argument, char name[VG_PROGRAM_BYTES])
{
	struct vg_target target;
	struct vg_err err;
	int ends[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		execl(path, "another name", argument, (char *)NULL);
		_exit(1);
	}
	close(ends[1]);
	/* The pipe ends in the middle of execve(2), before the program has its auxiliary vector with the name. */
	ck_assert_int_eq(read(ends[0], name, 1), 0);
	close(ends[0]);
	do {
		usleep(1000);
		ck_assert_msg(vg_target_open(&target, pid, &err) == 0, "%s", err.text);
		vg_target_program_read(&target);
		strcpy(name, target.program);
		vg_target_close(&target);
	} while (*name == '\0');
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

START_TEST(program_names)
{
	char name[VG_PROGRAM_BYTES];
	FILE *script;

	ck_assert_int_eq(symlink("/bin/sleep", "server"), 0);
	program_of("./server", "60", name);
	ck_assert_str_eq(name, "server");
	/* A script runs in its interpreter, which gets the arguments 60 and 60. */
	ck_assert_int_eq(symlink("/bin/sleep", "interpreter"), 0);
	script = fopen("60", "we");
	fputs("#!/bin/sleep 60\n", script);
	fclose(script);
	ck_assert_int_eq(system("chmod +x 60"), 0);
	program_of("60", NULL, name);
	ck_assert_str_eq(name, "sleep");
	/* The executable is removed while it runs. */
	ck_assert_int_eq(system("cp /bin/sleep copy"), 0);
	program_of("./copy", "60", name);
	ck_assert_str_eq(name, "copy");
	vg_target_executable_name(INT32_MAX, name);
	ck_assert_str_eq(name, "");
}
END_TEST

START_TEST(names_of_untrusted_texts)
{
	static const char *const cases[][2] = {
		{ "redis-server", "redis-server" }, { "libstdc++.so.6", "libstdc++.so.6" }, { "a_B-9", "a_B-9" },
		{ "-o", "_o" }, { "--", "_-" }, { ".", "_" }, { "..", "_." }, { ".hidden", "_hidden" },
		{ "a b;c", "a_b_c" }, { "../a", "_._a" }, { "a\033[1m\n", "a__1m_" }, { "\xc3\xa4", "__" }, { "", "" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char name[VG_OUTPUT_NAME_BYTES];

		vg_output_path_make_name(cases[i][0], name);
		ck_assert_str_eq(name, cases[i][1]);
	}
}
END_TEST

/* ---- permissions ---- */

START_TEST(permissions)
{
	static const struct { struct vg_permission_facts facts; enum vg_permission permission; } cases[] = {
		{ { .readable = true, .same_user = true, .dumpable = true, .yama_scope = -1 }, VG_PERMITTED },
		{ { .readable = true, .traced = true, .yama_scope = -1 }, VG_FORBIDDEN_TRACED },
		{ { .traced = true, .yama_scope = 1 }, VG_FORBIDDEN_TRACED },
		{ { .dumpable = true, .yama_scope = 1 }, VG_FORBIDDEN_OTHER_USER },
		{ { .same_user = true, .yama_scope = 1 }, VG_FORBIDDEN_NOT_DUMPABLE },
		{ { .same_user = true, .dumpable = true, .yama_scope = 0 }, VG_FORBIDDEN_POLICY },
		{ { .same_user = true, .dumpable = true, .yama_scope = -1 }, VG_FORBIDDEN_POLICY },
		{ { .same_user = true, .dumpable = true, .yama_scope = 1 }, VG_FORBIDDEN_YAMA_ANCESTORS },
		{ { .same_user = true, .dumpable = true, .yama_scope = 2 }, VG_FORBIDDEN_YAMA_CAPABILITY },
		{ { .same_user = true, .dumpable = true, .yama_scope = 3 }, VG_FORBIDDEN_YAMA_NEVER },
		{ { .root = true, .yama_scope = -1 }, VG_FORBIDDEN_POLICY },
		{ { .root = true, .yama_scope = 3 }, VG_FORBIDDEN_YAMA_NEVER },
		{ { .readable = true, .filtered = true, .is_32_bit = true, .yama_scope = -1 }, VG_FORBIDDEN_FILTER },
		{ { .filtered = true, .dumpable = true, .yama_scope = 1 }, VG_FORBIDDEN_OTHER_USER },
		{ { .readable = true, .traced = true, .filtered = true, .yama_scope = 1 }, VG_FORBIDDEN_TRACED },
		{ { .readable = true, .is_32_bit = true, .other_machine = true, .yama_scope = 1 },
		  VG_FORBIDDEN_32_BIT },
		{ { .readable = true, .other_machine = true, .yama_scope = 1 }, VG_FORBIDDEN_MACHINE },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(vg_permission_record(&cases[i].facts) == cases[i].permission, "case %zu", i);
	ck_assert(vg_permission_is_refused(3, 0));
	ck_assert(!vg_permission_is_refused(3, 1));
	ck_assert(!vg_permission_is_refused(0, 1));
	ck_assert(!vg_permission_is_refused(0, 0));
	ck_assert_int_eq(vg_permission_command(-1, false), VG_PERMITTED);
	ck_assert_int_eq(vg_permission_command(1, false), VG_PERMITTED);
	ck_assert_int_eq(vg_permission_command(2, false), VG_FORBIDDEN_YAMA_CAPABILITY);
	ck_assert_int_eq(vg_permission_command(2, true), VG_PERMITTED);
	ck_assert_int_eq(vg_permission_command(3, true), VG_FORBIDDEN_YAMA_NEVER);
}
END_TEST

START_TEST(permissions_of_timers)
{
	static const struct { int rc; bool user_only; int level; bool perfmon; enum vg_timer_permission permission; }
		cases[] = {
		{ 0, false, -1, false, VG_TIMERS_PERMITTED },
		{ 0, true, 2, false, VG_TIMERS_OF_USER_CODE },
		{ -EACCES, true, 3, false, VG_TIMERS_PARANOID },
		{ -EACCES, true, 4, true, VG_TIMERS_POLICY },
		{ -EPERM, true, 1, false, VG_TIMERS_POLICY },
		{ -ENOSYS, false, INT32_MIN, false, VG_TIMERS_POLICY },
		{ -EMFILE, false, 1, false, VG_TIMERS_UNAVAILABLE },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(vg_permission_timers(cases[i].rc, cases[i].user_only, cases[i].level, cases[i].perfmon) ==
			      cases[i].permission, "case %zu", i);
}
END_TEST

START_TEST(text_of_the_status_line)
{
	char text[120];

	vg_status_line_text(text, sizeof text, UINT64_C(12900000000), 1188, 0.0031);
	ck_assert_str_eq(text, "vignetted: 12 s, 1188 samples, 0.3 % of one CPU");
	vg_status_line_text(text, sizeof text, UINT64_MAX, UINT64_MAX, 1e6);
	ck_assert_uint_lt(strlen(text), 100);
}
END_TEST

Suite *arguments_suite(void)
{
	Suite *suite = suite_create("arguments");
	TCase *tests = tcase_create("options");

	tcase_add_test(tests, wrong_options);
	tcase_add_test(tests, good_options);
	tcase_add_test(tests, help_fits_a_terminal);
	tcase_add_test(tests, permissions);
	tcase_add_test(tests, permissions_of_timers);
	tcase_add_test(tests, text_of_the_status_line);
	suite_add_tcase(suite, tests);
	tests = tcase_create("names");
	tcase_add_checked_fixture(tests, directory_enter, directory_leave);
	tcase_add_test(tests, default_names);
	tcase_add_test(tests, program_names);
	tcase_add_test(tests, names_of_untrusted_texts);
	suite_add_tcase(suite, tests);
	return suite;
}
