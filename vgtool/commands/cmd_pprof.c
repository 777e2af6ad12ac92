/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

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
	struct vg_view view = { .command = argv[0], .write = pprof_write, .context = &view, .compressed = true };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &view };
	int status = vg_command_line_read(&line, argc, argv);

	return status != VG_COMMAND_LINE_READ ? status : vg_view_run_on(&view, usage, argc, argv);
}
