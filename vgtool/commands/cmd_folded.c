/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "vgtool/commands/command_line.h"
#include "vgtool/commands/view.h"
#include "vgtool/views/folded.h"

static const char usage[] =
	"usage: vgtool folded [-o OUT] [--weight wall|cpu|samples] [--threads]\n"
	"                     [--thread THREAD] [-s STORE]... [--debuginfod]\n"
	"                     [--unresolved] [--no-instruction-frames] PROFILE...\n";

struct request {
	struct vg_view view;
	struct vg_folded_options folding;
	bool weight_given;
};

static int folded_write(void *context, const struct vg_profile *profile, FILE *file,
			struct vg_err *err)
{
	struct request *request = context;
	int rc;

	if (!request->weight_given)
		request->folding.weight = vg_weight_default(profile);
	rc = vg_folded_write(profile, &request->folding, file);
	return rc != -ESRCH ? rc : vg_err_set(err, rc, "%s: no thread %s", request->view.profiles.title,
					      request->folding.thread);
}

static const struct vg_option options[] = {
	VG_VIEW_OPTION_OUTPUT,
	{ 'w', "weight", VG_OPTION_WORD, "wall|cpu|samples", .by_default = "the profile's mode",
	  .help = "what to add up", .is_short = 1 },
	{ 'T', "threads", VG_OPTION_FLAG, .help = "begin each stack with its thread", .is_short = 1 },
	{ 't', "thread", VG_OPTION_TEXT, "THREAD", .unit = "the name or id of a thread", .help = "only this thread",
	  .is_short = 1 },
	VG_SYMBOLIZE_TABLE,
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;

	switch (value->key) {
	case 'w':
		request->weight_given = true;
		request->folding.in_samples = value->number == 2;
		request->folding.weight = value->number == 1 ? VG_WEIGHT_CPU : VG_WEIGHT_WALL;
		break;
	case 'T': request->folding.by_thread = true; break;
	case 't': request->folding.thread = value->text; break;
	}
	return vg_view_option_set(&request->view, value, err);
}

int cmd_folded(int argc, char **argv)
{
	struct request request = { .view = { .command = argv[0], .write = folded_write, .context = &request } };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	int status = vg_command_line_read(&line, argc, argv);

	return status != VG_COMMAND_LINE_READ ? status : vg_view_run_on(&request.view, usage, argc, argv);
}
