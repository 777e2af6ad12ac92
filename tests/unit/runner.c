/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runner [SUITE ...]: runs these suites, or all suites if none is named, and reports in TAP. */
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

static int is_selected(const char *name, int argc, char **argv)
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

	check_set_max_msg_size(MESSAGE_MAX_BYTES);
	/* The time limit of a test whose suite sets none. libcheck's default, 4 s, is too short on a busy machine. */
	setenv("CK_DEFAULT_TIMEOUT", "60", 0);
	runner = srunner_create(NULL);
	for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
		if (is_selected(suites[i].name, argc, argv)) {
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
