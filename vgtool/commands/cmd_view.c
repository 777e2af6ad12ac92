/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vgtool/commands/command_line.h"
#include "vgtool/commands/view.h"
#include "vgtool/commands/view_page.h"
#include "vgtool/output/text.h"
#include "vgtool/views/report.h"
#include "vgtool/views/view_nodes.h"
#include "vgtool/views/view_page.h"

static const char usage[] =
	"usage: vgtool view [-o OUT] [--base OLD]... [--name NAME]...\n"
	"                   [--weight wall|cpu] [--source DIR]... [-s STORE]...\n"
	"                   [--debuginfod] [--unresolved] [--no-instruction-frames]\n"
	"                   PROFILE...\n";

enum { SOURCE = 256 };

static const struct vg_option options[] = {
	{ 'o', "output", VG_OPTION_TEXT, "OUT", .unit = "the name of a file",
	  .by_default = "PROFILE.html on a terminal", .help = "write to this file", .is_short = 1 },
	VG_VIEW_OPTION_BASE,
	VG_VIEW_OPTION_NAME,
	VG_OPTION_WEIGHT("cpu if threads idle"),
	{ SOURCE, "source", VG_OPTION_TEXT, "DIR", .unit = "a directory", .by_default = "none",
	  .help = "add source lines from this directory" },
	VG_SYMBOLIZE_TABLE,
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

struct request {
	struct vg_view view;
	enum vg_weight weight;
	bool weight_given;
	size_t source_count;         /* the directories of --source: the first items of view.sources */
};

static int page_write(void *context, const struct vg_profile *profile, FILE *file, struct vg_err *err)
{
	struct request *request = context;
	const struct vg_profiles *profiles = &request->view.profiles;
	int source_files = 0, rc;

	rc = vg_view_page_write(profile, &(struct vg_view_page){
		.title = profiles->paths.count > 1 ? profiles->title : NULL, .exporter = vg_command_exporter(),
		.weight = request->weight_given ? request->weight : vg_report_weight(profile),
		.by_module = !request->view.symbolize.unresolved, .base_processes = profiles->base_processes,
		.sources = request->view.sources.items, .source_count = request->source_count,
		.source_files = &source_files }, file);
	if (rc == -EFBIG)
		vg_err_set(err, rc, "%s: the stacks have more than %d frames in all", profiles->title, VG_VIEW_NODES_MAX);
	else if (rc == 0 && source_files == 0 && request->source_count > 0)
		vg_command_warn(request->view.command, "--source: no source file of the profile was found");
	else if (rc == 0 && request->source_count > 0)
		vg_command_warn(request->view.command, "the page contains text of %d source file%s", source_files,
				vg_text_plural((uint64_t)source_files));
	return rc;
}

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;

	if (value->key == SOURCE && vg_array_push(&request->view.sources, &value->text) != 0)
		return vg_err_sys(err, -ENOMEM, "cannot add the source directory %s", value->text);
	request->source_count = request->view.sources.count;
	if (value->key == 'w') {
		request->weight_given = true;
		request->weight = (enum vg_weight)value->number;
	}
	return vg_view_option_set(&request->view, value, err);
}

char *vg_view_page_path(const char *path)
{
	size_t bytes = strlen(path), name;
	char *whole = NULL, *out;

	while (bytes > 1 && path[bytes - 1] == '/')
		bytes--;
	for (name = bytes; name > 0 && path[name - 1] == '.';)
		name--;
	/* Beside "." or "..", the page would be a hidden file without a name. */
	if (name < bytes && (name == 0 || path[name - 1] == '/'))
		whole = realpath(path, NULL);
	if (whole != NULL) {
		path = whole;
		bytes = strlen(whole);
	}
	if (bytes > 4 && strncmp(path + bytes - 4, ".vgp", 4) == 0)
		bytes -= 4;
	if (asprintf(&out, "%.*s.html", (int)bytes, path) < 0)
		out = NULL;
	free(whole);
	return out;
}

int vg_view_page_run(const char *command, const char *path, const char *out, struct vg_symbolize *symbolize)
{
	struct request request = { .view = { .command = command, .write = page_write, .context = &request, .out = out,
					     .symbolize = *symbolize } };

	return vg_view_run_paths(&request.view, &path, 1);
}

/* Nobody reads HTML on a terminal.  So without -o, or with -o -, the page gets a file there. */
static int terminal_run(struct request *request, int argc, char **argv)
{
	char *out = vg_view_page_path(argv[optind]);
	int status;

	if (out == NULL)
		return VG_EXIT_FAILED;
	if (strcmp(argv[optind], "-") == 0) {
		free(out);
		vg_view_free(&request->view);
		return vg_command_usage_error(argv[0], usage, "standard input has no name for the page; use -o OUT");
	}
	request->view.out = out;
	status = vg_view_run_on(&request->view, usage, argc, argv);
	if (status == VG_EXIT_DONE)
		vg_command_warn(argv[0], "%s: open it in a browser", out);
	free(out);
	return status;
}

int cmd_view(int argc, char **argv)
{
	struct request request = { .view = { .command = argv[0], .write = page_write, .context = &request } };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	int status = vg_command_line_read(&line, argc, argv);

	if (status != VG_COMMAND_LINE_READ)
		return status;
	if (request.view.out != NULL && strcmp(request.view.out, "-") == 0)
		request.view.out = NULL;
	if (request.view.out == NULL && optind < argc && isatty(STDOUT_FILENO))
		return terminal_run(&request, argc, argv);
	return vg_view_run_on(&request.view, usage, argc, argv);
}
