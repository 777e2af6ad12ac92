/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runner [SUITE ...]: runs the suites, all of them if none is named, and reports in TAP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suites.h"

#define SUITE_ENTRY(name) { #name, name##_suite },

static const struct {
	const char *name;
	Suite *(*make)(void);
} suites[] = { VG_SUITES(SUITE_ENTRY) };

static int wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			return 1;
	}
	return argc < 2;
}

int main(int argc, char **argv)
{
	SRunner *runner;
	int count = 0, failed;

	/* Of a test whose suite says nothing; four seconds are little for a machine that stands still. */
	setenv("CK_DEFAULT_TIMEOUT", "60", 0);
	runner = srunner_create(NULL);
	for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
		if (wanted(suites[i].name, argc, argv)) {
			srunner_add_suite(runner, suites[i].make());
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
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
