/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/outfile.h"
#include "vgtool/commands/command.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/output/output.h"
#include "vgtool/output/text.h"
#include "vgtool/resolve/profile_copy.h"

static const char usage[] = "usage: vgtool recover -o OUT PROFILE\n";
static const char STDOUT_PATH[] = "/dev/stdout";

/* Writes the intact chunks of the profile.  Adds an END record if the profile has none. */
static int profile_write(const struct vg_command_profile *opened, struct vg_profile_copy *copy, int fd)
{
	const struct vg_profile *profile = &opened->profile;
	struct vg_writer writer;
	int rc;

	vg_writer_open(&writer, fd, 0);
	rc = vg_profile_copy_chunks(copy, &opened->file, &writer);
	if (rc == 0 && copy->end.at == NULL)
		rc = vg_writer_end(&writer, "recovered: the end record was missing", profile->duration_ns, NULL, 0);
	if (rc == 0)
		rc = vg_profile_copy_end(copy, &writer);
	vg_writer_close(&writer);
	return rc;
}

static int recover_run(const char *command, const char *path, const char *out)
{
	struct vg_profile_copy copy = { .is_recovery = true };
	struct vg_outfile outfile = VG_OUTFILE_CLOSED;
	struct vg_command_profile opened;
	struct vg_err err;
	const char *writes = strcmp(out, STDOUT_PATH) == 0 ? NULL : out;
	int status, rc;

	if (vg_output_check_terminal(writes, &err) != 0)
		return vg_command_fail(command, &err);
	status = vg_command_confine_to(command, path, writes);
	if (status != VG_EXIT_DONE)
		return status;
	status = vg_command_open(command, path, &opened);
	if (status != VG_EXIT_DONE)
		goto out;
	rc = vg_outfile_open(&outfile, out, &err);
	if (rc == 0) {
		rc = profile_write(&opened, &copy, outfile.fd);
		if (rc != 0)
			vg_err_sys(&err, rc, "%s: cannot write", out);
	}
	if (rc == 0)
		rc = vg_outfile_commit(&outfile, &err);
	if (rc != 0)
		status = vg_command_fail(command, &err);
	else
		vg_command_warn(command, "%s: %" PRIu64 " sample%s kept, %" PRIu64 " damaged bytes left out%s", out,
				opened.profile.samples_total, vg_text_plural(opened.profile.samples_total),
				copy.damaged_bytes, copy.end.at != NULL ? "" : ", the end record was missing");
out:
	vg_outfile_abandon(&outfile);
	vg_command_close(&opened);
	return status;
}

static const struct vg_option options[] = {
	{ 'o', "output", VG_OPTION_TEXT, "OUT", .unit = "the name of a file",
	  .help = "the new profile; - is standard output", .is_short = 1 },
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	const char **out = context;

	(void)err;
	*out = strcmp(value->text, "-") == 0 ? STDOUT_PATH : value->text;
	return 0;
}

int cmd_recover(int argc, char **argv)
{
	const char *out = NULL;
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &out };
	int status = vg_command_line_read(&line, argc, argv);

	if (status != VG_COMMAND_LINE_READ)
		return status;
	if (out == NULL)
		return vg_command_usage_error(argv[0], usage, "expected an output file; use -o FILE");
	if (argc - optind != 1)
		return vg_command_usage_error(argv[0], usage, "expected one PROFILE, got %d", argc - optind);
	return recover_run(argv[0], argv[optind], out);
}
