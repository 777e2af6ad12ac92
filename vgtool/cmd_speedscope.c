/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <getopt.h>
#include <stdio.h>

#include "vgtool/command.h"
#include "vgtool/confine.h"
#include "vgtool/output.h"
#include "vgtool/speedscope.h"

static const char usage[] =
	"usage: vgtool speedscope [-o OUT] [--weight wall|cpu] PROFILE\n";

struct request {
	const char *command, *path, *out;
	enum vg_weight weight;
	bool weight_given;
};

static int view_write(const struct request *request, const struct vg_profile *profile,
		      struct vg_err *err)
{
	struct vg_output output;
	char exporter[64];
	int rc = vg_output_open(&output, request->out, err);

	if (rc != 0)
		return rc;
	snprintf(exporter, sizeof exporter, "vignette %s", vg_command_version());
	rc = vg_speedscope_write(profile, request->weight_given ? request->weight :
				 vg_weight_default(profile), exporter, output.file);
	if (rc == 0)
		return vg_output_commit(&output, err);
	vg_err_sys(err, rc, "%s", request->path);
	vg_output_abandon(&output);
	return rc;
}

static int speedscope_run(const struct request *request)
{
	struct vg_opened opened;
	struct vg_err err;
	int status;

	vg_reader_confine_to(request->path, request->out);
	status = vg_command_open(request->command, request->path, &opened);
	if (status == VG_EXIT_DONE && view_write(request, &opened.profile, &err) != 0)
		status = vg_command_fail(request->command, &err);
	vg_command_close(&opened);
	return status;
}

int cmd_speedscope(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "weight", required_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct request request = { .command = argv[0] };
	int option;

	while ((option = getopt_long(argc, argv, "o:w:h", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			if (*optarg == '\0')
				return vg_command_misused(argv[0], usage, "-o takes the name of a file");
			request.out = optarg;
			break;
		case 'w':
			if (!vg_weight_parse(optarg, &request.weight))
				return vg_command_misused(argv[0], usage, "--weight takes wall or cpu");
			request.weight_given = true;
			break;
		case 'h':
			return vg_command_usage(usage, VG_EXIT_DONE);
		case '?':
			return vg_command_usage(usage, VG_EXIT_USAGE);
		}
	}
	if (argc - optind != 1)
		return vg_command_misused(argv[0], usage, "takes one profile");
	request.path = argv[optind];
	return speedscope_run(&request);
}
