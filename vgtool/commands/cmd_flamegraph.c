/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "vgtool/commands/command_line.h"
#include "vgtool/commands/view.h"
#include "vgtool/views/flamegraph.h"
#include "vgtool/views/report.h"

static const char usage[] =
	"usage: vgtool flamegraph [-o OUT] [--inverted] [--weight wall|cpu]\n"
	"                         [--thread THREAD] [--min PERCENT] [--base OLD]...\n"
	"                         [-s STORE]... [--debuginfod] [--unresolved]\n"
	"                         [--no-instruction-frames] PROFILE...\n";

enum { INVERTED = 256, MIN };

static const struct vg_option options[] = {
	VG_VIEW_OPTION_OUTPUT,
	{ INVERTED, "inverted", VG_OPTION_FLAG, .help = "callers below each function, from the leaves" },
	VG_OPTION_WEIGHT("cpu if threads idle"),
	{ 't', "thread", VG_OPTION_TEXT, "THREAD", .unit = "the name or id of a thread", .help = "only this thread",
	  .is_short = 1 },
	{ MIN, "min", VG_OPTION_SHARE, "PERCENT", .by_default = "0.1", .help = "least share of a frame" },
	VG_VIEW_OPTION_BASE,
	VG_SYMBOLIZE_TABLE,
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

struct request {
	struct vg_view view;
	struct vg_flamegraph flamegraph;
	bool weight_given;
};

static int flamegraph_write(void *context, const struct vg_profile *profile, FILE *file, struct vg_err *err)
{
	struct request *request = context;
	const struct vg_profiles *profiles = &request->view.profiles;
	struct vg_flamegraph *flamegraph = &request->flamegraph;
	int rc;

	if (!request->weight_given)
		flamegraph->weight = vg_report_weight(profile);
	flamegraph->title = profiles->paths.count > 1 ? profiles->title : NULL;
	flamegraph->by_module = !request->view.symbolize.unresolved;
	flamegraph->base_processes = profiles->base_processes;
	rc = vg_flamegraph_write(profile, flamegraph, file);
	if (rc == -ENODATA)
		return vg_err_set(err, rc, "--base %s: has no time to compare%s%s", request->view.base.items[0],
				  flamegraph->thread != NULL ? " in thread " : "",
				  flamegraph->thread != NULL ? flamegraph->thread : "");
	return rc != -ESRCH ? rc : vg_err_set(err, rc, "%s: no thread %s", profiles->title, flamegraph->thread);
}

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;

	switch (value->key) {
	case INVERTED: request->flamegraph.to_callers = true; break;
	case 'w':
		request->weight_given = true;
		request->flamegraph.weight = (enum vg_weight)value->number;
		break;
	case 't': request->flamegraph.thread = value->text; break;
	case MIN: request->flamegraph.least_ppm = (uint32_t)value->number; break;
	}
	return vg_view_option_set(&request->view, value, err);
}

int cmd_flamegraph(int argc, char **argv)
{
	struct request request = { .view = { .command = argv[0], .write = flamegraph_write, .context = &request },
				   .flamegraph.least_ppm = 1000 };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	int status = vg_command_line_read(&line, argc, argv);

	return status != VG_COMMAND_LINE_READ ? status : vg_view_run_on(&request.view, usage, argc, argv);
}
