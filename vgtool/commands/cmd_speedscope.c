/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>

#include "vgtool/commands/command_line.h"
#include "vgtool/commands/view.h"
#include "vgtool/views/speedscope.h"

static const char usage[] =
	"usage: vgtool speedscope [-o OUT] [--weight wall|cpu] [--by function|line]\n"
	"                         [--name NAME]... [-s STORE]... [--debuginfod]\n"
	"                         [--unresolved] [--no-instruction-frames] PROFILE...\n";

struct request {
	struct vg_view view;
	enum vg_weight weight;
	enum vg_frames_kind by;
	bool weight_given;
};

static int speedscope_write(void *context, const struct vg_profile *profile, FILE *file,
			    struct vg_err *err)
{
	const struct request *request = context;

	(void)err;
	return vg_speedscope_write(profile, request->weight_given ? request->weight :
				   vg_weight_default(profile), request->by, vg_command_exporter(), file);
}

enum { BY = 256 };

static const struct vg_option options[] = {
	VG_VIEW_OPTION_OUTPUT,
	VG_VIEW_OPTION_NAME,
	VG_OPTION_WEIGHT("the profile's mode"),
	{ BY, "by", VG_OPTION_WORD, "function|line", .by_default = "function",
	  .help = "one frame for each function or line" },
	VG_SYMBOLIZE_TABLE,
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;

	if (value->key == 'w') {
		request->weight_given = true;
		request->weight = (enum vg_weight)value->number;
	}
	if (value->key == BY)
		request->by = (enum vg_frames_kind)value->number;
	return vg_view_option_set(&request->view, value, err);
}

int cmd_speedscope(int argc, char **argv)
{
	struct request request = { .view = { .command = argv[0], .write = speedscope_write, .context = &request } };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	int status = vg_command_line_read(&line, argc, argv);

	return status != VG_COMMAND_LINE_READ ? status : vg_view_run_on(&request.view, usage, argc, argv);
}
