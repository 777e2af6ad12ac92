/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "vgtool/commands/command_line.h"
#include "vgtool/commands/view.h"
#include "vgtool/views/chrome.h"

static const char usage[] =
	"usage: vgtool chrome [-o OUT] [--name NAME]... [-s STORE]... [--debuginfod]\n"
	"                     [--unresolved] PROFILE...\n";

static int chrome_write(void *context, const struct vg_profile *profile, FILE *file,
			struct vg_err *err)
{
	char exporter[64];

	(void)context;
	(void)err;
	snprintf(exporter, sizeof exporter, "vignette %s", vg_command_version());
	return vg_chrome_write(profile, exporter, file);
}

static const struct vg_option options[] = {
	VG_VIEW_OPTION_OUTPUT,
	VG_VIEW_OPTION_NAME,
	VG_SYMBOLIZE_TABLE,
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	return vg_view_option_set(context, value, err);
}

int cmd_chrome(int argc, char **argv)
{
	struct vg_view view = { .command = argv[0], .write = chrome_write };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &view };
	int status = vg_command_line_read(&line, argc, argv);

	return status != VG_COMMAND_LINE_READ ? status : vg_view_run_on(&view, usage, argc, argv);
}
