/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/print.h"
#include "vgctl/commands.h"
#include "vgctl/helpers.h"

/* Parses the optional last argument of `end` and `dump`, the id of a recording. */
static bool id_parse(struct vg_arguments *arguments, char **rest, int count)
{
	uint64_t value = 0;

	if (count > 1 || (count == 1 && !vg_number_parse(rest[0], 1, UINT32_MAX, &value)))
		return false;
	arguments->id = (uint32_t)value;
	return true;
}

static int command_run(struct vg_arguments *arguments, const char *command, char **rest, int count)
{
	uint64_t value = 0;

	if (strcmp(command, "list") == 0)
		return count == 0 ? vg_cmd_list(arguments) : vg_arguments_usage();
	if (count < 1)
		return vg_arguments_usage();
	if (!vg_number_parse(rest[0], 1, INT32_MAX, &value)) {
		vg_print(stderr, "vgctl: %s: %s: must be the id of a process, 1 to 2147483647\n", command, rest[0]);
		return EXIT_USAGE;
	}
	arguments->pid = (pid_t)value;
	if (strcmp(command, "status") == 0 && count == 1)
		return vg_cmd_status(arguments);
	if (strcmp(command, "begin") == 0 && count == 1 && arguments->output != NULL)
		return vg_cmd_begin(arguments);
	if (strcmp(command, "mark") == 0 && count == 2 && *rest[1] != '\0') {
		arguments->label = rest[1];
		return vg_cmd_mark(arguments);
	}
	if (strcmp(command, "dump") == 0 && count >= 2 && *rest[1] != '\0' &&
	    arguments->output == NULL && id_parse(arguments, rest + 2, count - 2)) {
		arguments->output = rest[1];
		return vg_cmd_dump(arguments);
	}
	return strcmp(command, "end") == 0 && id_parse(arguments, rest + 1, count - 1) ?
	       vg_cmd_end(arguments) : vg_arguments_usage();
}

int main(int argc, char **argv)
{
	static struct vg_arguments arguments = { .begin = {
		.period_ns = 1000000000 / 99, .max_file_bytes = UINT64_C(256) << 20,
		.max_duration_ns = UINT64_C(86400) * 1000000000, .max_frames = 16384,
		.budget_ppm = 10000,
	} };
	struct vg_err err;
	int rc = vg_arguments_options(&arguments, argc, argv);

	if (rc != EXIT_SUCCESS)
		return rc < 0 ? EXIT_SUCCESS : rc;
	if (optind >= argc)
		return vg_arguments_usage();
	if (arguments.directory[0] == '\0' &&
	    vg_helpers_directory(NULL, arguments.directory, sizeof arguments.directory, &err) != 0)
		return vg_arguments_fail(&err);
	return command_run(&arguments, argv[optind], argv + optind + 1, argc - optind - 1);
}
