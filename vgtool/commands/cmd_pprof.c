/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vgtool/commands/command_line.h"
#include "vgtool/commands/view.h"
#include "vgtool/views/pprof.h"

static const char usage[] =
	"usage: vgtool pprof [-o OUT] [--base OLD]... [--name NAME]...\n"
	"                    [-s STORE]... [--debuginfod] [--unresolved] PROFILE...\n";

static int pprof_write(void *context, const struct vg_profile *profile, FILE *file, struct vg_err *err)
{
	const struct vg_view *view = context;

	(void)err;
	return vg_pprof_write(profile, view->profiles.base_processes, vg_command_exporter(), file);
}

static const struct vg_option options[] = {
	VG_VIEW_OPTION_OUTPUT,
	VG_VIEW_OPTION_BASE,
	VG_VIEW_OPTION_NAME,
	VG_SYMBOLIZE_TABLE,
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	return vg_view_option_set(context, value, err);
}

int cmd_pprof(int argc, char **argv)
{
	struct vg_view view = { .command = argv[0], .write = pprof_write, .context = &view };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &view };
	int status = vg_command_line_read(&line, argc, argv);

	if (status == VG_COMMAND_LINE_READ && (view.out == NULL || strcmp(view.out, "-") == 0) &&
	    isatty(STDOUT_FILENO)) {
		vg_command_warn(argv[0], "a profile is not written to a terminal; redirect standard output, or "
				"use -o FILE");
		status = VG_EXIT_FAILED;
	}
	return status != VG_COMMAND_LINE_READ ? status : vg_view_run_on(&view, usage, argc, argv);
}
