/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_COMMAND_LINE_H
#define VG_VGTOOL_COMMAND_LINE_H

#include <stdbool.h>

#include "base/option_table.h"

/*
 * The options of a command.
 *
 *	static const struct vg_option options[] = { ..., VG_OPTION_HELP };
 *	struct vg_command_line line = { usage, options, COUNT, option_set, &request };
 *	int status = vg_command_line_read(&line, argc, argv);
 *	if (status == VG_COMMAND_LINE_READ)
 *		...                                  getopt(3)'s optind is the index of the first argument
 */
struct vg_command_line {
	const char *usage;           /* without the options' help */
	const struct vg_option *options;
	size_t option_count;
	/* Keeps the value of one option.  Returns 0, or a negative errno with a message in err. */
	int (*set)(void *context, const struct vg_option_value *value, struct vg_err *err);
	void *context;
};

/* Options that several commands have.  The number of --weight is an enum vg_weight. */
#define VG_OPTION_JSON { 'j', "json", VG_OPTION_FLAG, .help = "print JSON", .is_short = 1 }
#define VG_OPTION_LIMIT { 'n', "limit", VG_OPTION_NUMBER, "N", 1, UINT64_MAX, "rows", "20; all in JSON", "rows", 1 }
#define VG_OPTION_WEIGHT(weight_by_default) \
	{ 'w', "weight", VG_OPTION_WORD, "wall|cpu", .by_default = (weight_by_default), \
	  .help = "the time to add up", .is_short = 1 }

enum { VG_COMMAND_LINE_READ = -1 };

/* Reads the options before and between the arguments.  argv[0] is the command's name, for messages.  Returns
 * VG_COMMAND_LINE_READ.  Returns an exit status after --help (VG_EXIT_DONE), and after a message and the usage
 * (VG_EXIT_USAGE). */
int vg_command_line_read(const struct vg_command_line *line, int argc, char **argv);

/* The same for a command whose only options are --json and --help. */
int vg_command_line_json(const char *usage, int argc, char **argv, bool *is_json);

#endif
