/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "vgtool/analysis/sample_filter.h"
#include "vgtool/commands/command.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/output/output.h"
#include "vgtool/views/cut.h"

static const char usage[] = "usage: vgtool cut --time A..B [-o OUT] PROFILE\n";

enum { TIME = 256 };

struct request {
	const char *command;
	const char *time;            /* the range as given; NULL: none */
	const char *out;             /* NULL: standard output */
	struct vg_part part;
};

static int part_write(const struct request *request, const struct vg_infile *file, int fd)
{
	struct vg_writer writer;
	int rc;

	vg_writer_open(&writer, fd, 0);
	rc = vg_cut_write(&request->part, file, &writer);
	vg_writer_close(&writer);
	return rc;
}

static int file_write(const struct request *request, const struct vg_infile *file, struct vg_err *err)
{
	struct vg_outfile outfile = VG_OUTFILE_CLOSED;
	int rc = 0, fd = STDOUT_FILENO;

	if (request->out != NULL) {
		rc = vg_outfile_open(&outfile, request->out, err);
		fd = outfile.fd;
	}
	if (rc != 0)
		return rc;
	rc = part_write(request, file, fd);
	if (rc != 0)
		vg_err_sys(err, rc, "%s: cannot write", request->out != NULL ? request->out : "standard output");
	else if (request->out != NULL)
		rc = vg_outfile_commit(&outfile, err);
	vg_outfile_abandon(&outfile);
	return rc;
}

static int profile_cut(struct request *request, const struct vg_command_profile *opened, struct vg_err *err)
{
	const struct vg_profile *profile = &opened->profile;

	if (vg_part_select(&request->part, profile) != 0)
		return vg_err_sys(err, -ENOMEM, "%s: cannot cut", opened->file.path);
	if (request->part.sample_count + request->part.event_count == 0)
		return vg_err_set(err, -ENODATA, "%s: nothing in seconds %.100s; the profile has %.3f..%.3f",
				  opened->file.path, request->time, (double)profile->header.window_begin_ns / 1e9,
				  (double)profile->duration_ns / 1e9);
	return file_write(request, &opened->file, err);
}

static int request_run(struct request *request, const char *path)
{
	struct vg_command_profile opened;
	struct vg_err err;
	int status;

	if (vg_output_check_terminal(request->out, &err) != 0)
		return vg_command_fail(request->command, &err);
	status = vg_command_confine_to(request->command, path, request->out);
	if (status != VG_EXIT_DONE)
		return status;
	status = vg_command_open(request->command, path, &opened);
	if (status == VG_EXIT_DONE && profile_cut(request, &opened, &err) != 0)
		status = vg_command_fail(request->command, &err);
	vg_part_free(&request->part);
	vg_command_close(&opened);
	return status;
}

static const struct vg_option options[] = {
	{ TIME, "time", VG_OPTION_TEXT, "A..B", .unit = "a range of seconds: A..B, A.. or ..B",
	  .help = "the time to keep, in seconds from the begin" },
	{ 'o', "output", VG_OPTION_TEXT, "OUT", .unit = "the name of a file", .by_default = "standard output",
	  .help = "write to this file", .is_short = 1 },
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;

	if (value->key == 'o') {
		request->out = strcmp(value->text, "-") == 0 ? NULL : value->text;
		return 0;
	}
	request->time = value->text;
	if (vg_time_range_parse(value->text, &request->part.begin_ns, &request->part.end_ns))
		return 0;
	return vg_err_set(err, -EINVAL, "--time %.100s: must be a range of seconds: A..B, A.. or ..B", value->text);
}

int cmd_cut(int argc, char **argv)
{
	struct request request = { .command = argv[0] };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	int status = vg_command_line_read(&line, argc, argv);

	if (status != VG_COMMAND_LINE_READ)
		return status;
	if (request.time == NULL)
		return vg_command_usage_error(argv[0], usage, "expected a range of seconds; use --time A..B");
	if (argc - optind != 1)
		return vg_command_usage_error(argv[0], usage, "expected one PROFILE, got %d", argc - optind);
	return request_run(&request, argv[optind]);
}
