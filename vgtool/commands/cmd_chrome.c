/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "vgtool/commands/command_line.h"
#include "vgtool/commands/view.h"
#include "vgtool/views/chrome.h"

static const char usage[] =
	"usage: vgtool chrome [-o OUT] [--name NAME]... [--collapse-threads]\n"
	"                     [--minimum-duration TIME] [-s STORE]... [--debuginfod]\n"
	"                     [--unresolved] [--no-instruction-frames] PROFILE...\n";

struct request {
	struct vg_view view;
	struct vg_chrome_options options;
};

static int chrome_write(void *context, const struct vg_profile *profile, FILE *file,
			struct vg_err *err)
{
	const struct request *request = context;

	(void)err;
	return vg_chrome_write(profile, &request->options, vg_command_exporter(), file);
}

enum { COLLAPSE_THREADS = 256, MINIMUM_DURATION };

static const struct vg_option options[] = {
	VG_VIEW_OPTION_OUTPUT,
	VG_VIEW_OPTION_NAME,
	{ COLLAPSE_THREADS, "collapse-threads", VG_OPTION_FLAG, .help = "show threads that follow each other as one" },
	{ MINIMUM_DURATION, "minimum-duration", VG_OPTION_TIME, "TIME", 0, UINT64_C(1000000000) << 30, NULL, "0",
	  .help = "hide shorter intervals" },
	VG_SYMBOLIZE_TABLE,
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;

	if (value->key == COLLAPSE_THREADS)
		request->options.collapse_threads = true;
	if (value->key == MINIMUM_DURATION)
		request->options.minimum_ns = value->number;
	return vg_view_option_set(&request->view, value, err);
}

int cmd_chrome(int argc, char **argv)
{
	struct request request = { .view = { .command = argv[0], .write = chrome_write, .context = &request } };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	int status = vg_command_line_read(&line, argc, argv);

	return status != VG_COMMAND_LINE_READ ? status : vg_view_run_on(&request.view, usage, argc, argv);
}
