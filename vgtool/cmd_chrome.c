/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <getopt.h>
#include <stdio.h>

#include "vgtool/chrome.h"
#include "vgtool/command.h"
#include "vgtool/confine.h"
#include "vgtool/output.h"

static const char usage[] = "usage: vgtool chrome [-o OUT] PROFILE\n";

static int view_write(const char *path, const char *out, const struct vg_profile *profile,
		      struct vg_err *err)
{
	struct vg_output output;
	char exporter[64];
	int rc = vg_output_open(&output, out, err);

	if (rc != 0)
		return rc;
	snprintf(exporter, sizeof exporter, "vignette %s", vg_command_version());
	rc = vg_chrome_write(profile, exporter, output.file);
	if (rc == 0)
		return vg_output_commit(&output, err);
	vg_err_sys(err, rc, "%s", path);
	vg_output_abandon(&output);
	return rc;
}

static int chrome_run(const char *command, const char *path, const char *out)
{
	struct vg_opened opened;
	struct vg_err err;
	int status;

	vg_reader_confine_to(path, out);
	status = vg_command_open(command, path, &opened);
	if (status == VG_EXIT_DONE && view_write(path, out, &opened.profile, &err) != 0)
		status = vg_command_fail(command, &err);
	vg_command_close(&opened);
	return status;
}

int cmd_chrome(int argc, char **argv)
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
			if (*optarg == '\0')
				return vg_command_misused(argv[0], usage, "-o takes the name of a file");
			out = optarg;
			break;
		case 'h':
			return vg_command_usage(usage, VG_EXIT_DONE);
		case '?':
			return vg_command_usage(usage, VG_EXIT_USAGE);
		}
	}
	if (argc - optind != 1)
		return vg_command_misused(argv[0], usage, "takes one profile");
	return chrome_run(argv[0], argv[optind], out);
}
