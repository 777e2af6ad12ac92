/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "vgtool/commands/command.h"
#include "vgtool/output/text.h"
#include "vgtool/resolve/recopy.h"

static const char usage[] =
	"usage: vgtool recover -o OUT PROFILE\n";
static const char STANDARD[] = "/dev/stdout";

/* What is whole, and an end if it had none. */
static int profile_write(const struct vg_opened *opened, struct vg_recopy *recopy, int fd)
{
	const struct vg_profile *profile = &opened->profile;
	struct vg_writer writer;
	int rc;

	vg_writer_open(&writer, fd, 0);
	rc = vg_recopy_chunks(recopy, &opened->file, &writer);
	if (rc == 0 && recopy->end.at == NULL)
		rc = vg_writer_end(&writer, "recovered: the end was missing", profile->duration_ns, NULL, 0);
	if (rc == 0)
		rc = vg_recopy_end(recopy, &writer);
	vg_writer_close(&writer);
	return rc;
}

static int recover_run(const char *command, const char *path, const char *out)
{
	struct vg_recopy recopy = { .recovers = true };
	struct vg_outfile outfile = VG_OUTFILE_CLOSED;
	struct vg_opened opened;
	struct vg_err err;
	int status, rc;

	if (strcmp(out, STANDARD) == 0 && isatty(STDOUT_FILENO)) {
		vg_command_warn(command, "a profile is nothing for a terminal: redirect it, or name a file with -o");
		return VG_EXIT_FAILED;
	}
	status = vg_command_confine_to(command, path, strcmp(out, STANDARD) == 0 ? NULL : out);
	if (status != VG_EXIT_DONE)
		return status;
	status = vg_command_open(command, path, &opened);
	if (status != VG_EXIT_DONE)
		goto out;
	rc = vg_outfile_open(&outfile, out, &err);
	if (rc == 0) {
		rc = profile_write(&opened, &recopy, outfile.fd);
		if (rc != 0)
			vg_err_sys(&err, rc, "cannot write %s", out);
	}
	if (rc == 0)
		rc = vg_outfile_commit(&outfile, &err);
	if (rc != 0)
		status = vg_command_fail(command, &err);
	else
		vg_command_warn(command, "%s: %" PRIu64 " sample%s kept, %" PRIu64 " damaged bytes left out, "
				"the end was %s", out, opened.profile.samples_total,
				vg_text_plural(opened.profile.samples_total), recopy.damaged_bytes,
				recopy.end.at != NULL ? "there" : "missing");
out:
	vg_outfile_abandon(&outfile);
	vg_command_close(&opened);
	return status;
}

int cmd_recover(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *out = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			out = strcmp(optarg, "-") == 0 ? STANDARD : optarg;
			break;
		default:
			return vg_command_help(usage, option);
		}
	}
	if (out == NULL || *out == '\0')
		return vg_command_misused(argv[0], usage, "-o takes the name of the file to write");
	if (argc - optind != 1)
		return vg_command_misused(argv[0], usage, "takes one profile");
	return recover_run(argv[0], argv[optind], out);
}
