/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/command_line.h"

#include <stdio.h>

#include "vgtool/analysis/thread_samples.h"
#include "vgtool/commands/command.h"

_Static_assert(VG_WEIGHT_WALL == 0 && VG_WEIGHT_CPU == 1, "the words of --weight are in the order of enum vg_weight");

int vg_command_line_read(const struct vg_command_line *line, int argc, char **argv)
{
	struct vg_option_reader reader = { .options = line->options, .count = line->option_count, .argc = argc,
					   .argv = argv };
	struct vg_option_value value = { 0 };
	struct vg_err err;
	int rc;

	while ((rc = vg_option_next(&reader, &value, &err)) > 0 && value.key != 'h') {
		rc = line->set(line->context, &value, &err);
		if (rc != 0)
			break;
	}
	if (rc < 0)
		return vg_command_usage_error(argv[0], line->usage, "%s", err.text);
	if (rc == 0)
		return VG_COMMAND_LINE_READ;
	vg_command_usage(line->usage, VG_EXIT_DONE);
	putchar('\n');
	vg_option_help(line->options, line->option_count, stdout);
	return VG_EXIT_DONE;
}

static int json_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	bool *is_json = context;

	(void)value;
	(void)err;
	*is_json = true;
	return 0;
}

int vg_command_line_json(const char *usage, int argc, char **argv, bool *is_json)
{
	static const struct vg_option options[] = {
		VG_OPTION_JSON,
		VG_OPTION_HELP,
	};
	const struct vg_command_line line = { usage, options, sizeof options / sizeof *options, json_set, is_json };

	return vg_command_line_read(&line, argc, argv);
}
