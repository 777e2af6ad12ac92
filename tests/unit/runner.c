/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runner [SUITE ...]: runs these suites, or all suites if none is named, and reports in TAP. After failures, the last
 * lines are the commands that run the failed cases alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suites.h"

/* libcheck keeps a message for every assertion that holds. AddressSanitizer keeps freed memory in its quarantine (256
 * MiB by default), and the leak check at the end of each test searches all of it: 0.1 s a test. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8";
}

/* libcheck allocates a buffer of this size for every message. A longer message ends the runner. */
#define MESSAGE_MAX_BYTES 1024

#define SUITE_ENTRY(name) { #name, name##_suite },

static const struct {
	const char *name;
	Suite *(*make)(void);
} suites[] = { VG_SUITES(SUITE_ENTRY) };

enum { SUITES = sizeof suites / sizeof *suites };

/* Those that run. */
static Suite *running[SUITES];

static int is_selected(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			return 1;
	}
	return argc < 2;
}

/* Whether the failure was in a file check_NAME.c, where NAME is the suite's name. */
static int is_of_suite(TestResult *failure, const char *name)
{
	char file[64];
	const char *slash = strrchr(tr_lfile(failure) ?: "", '/');

	snprintf(file, sizeof file, "check_%s.c", name);
	return strcmp(slash != NULL ? slash + 1 : tr_lfile(failure) ?: "", file) == 0;
}

/* The suite of a failure. A TestResult has only the name of its case. If several suites have a case of that name, the
 * file of the failure decides. */
static size_t suite_of(TestResult *failure)
{
	size_t found = SUITES;

	for (size_t i = 0; i < SUITES; i++) {
		if (running[i] == NULL || !suite_tcase(running[i], tr_tcname(failure)))
			continue;
		if (found == SUITES || is_of_suite(failure, suites[i].name))
			found = i;
	}
	return found;
}

/* Prints the command that runs a suite and a case alone, once for each case that failed. */
static void print_failed_alone(SRunner *runner, const char *program)
{
	TestResult **failures = srunner_failures(runner);
	const char *helper = getenv("VIGNETTED"), *last_case = "";
	size_t last = SUITES;

	for (int i = 0; i < srunner_ntests_failed(runner); i++) {
		size_t suite = suite_of(failures[i]);

		if (suite == SUITES || (suite == last && strcmp(tr_tcname(failures[i]), last_case) == 0))
			continue;
		last = suite;
		last_case = tr_tcname(failures[i]);
		printf("# alone: %s%s%sCK_RUN_CASE=%s %s %s\n", helper != NULL ? "VIGNETTED=" : "",
		       helper != NULL ? helper : "", helper != NULL ? " " : "", last_case, program, suites[suite].name);
	}
	free(failures);
}

int main(int argc, char **argv)
{
	SRunner *runner;
	int count = 0, failed;

	check_set_max_msg_size(MESSAGE_MAX_BYTES);
	/* The time limit of a test, as a guard against hanging: life_s of tests/lib.sh. libcheck's default is 4 s. */
	setenv("CK_DEFAULT_TIMEOUT", "3000", 0);
	runner = srunner_create(NULL);
	for (size_t i = 0; i < SUITES; i++) {
		if (is_selected(suites[i].name, argc, argv)) {
			running[i] = suites[i].make();
			srunner_add_suite(runner, running[i]);
			count++;
		}
	}
	if (count == 0) {
		fprintf(stderr, "runner: no suite of that name\n");
		return 2;
	}
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	print_failed_alone(runner, argv[0]);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
