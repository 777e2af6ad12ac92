/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "vgtool/command.h"
#include "vgtool/confine.h"
#include "vgtool/folded.h"
#include "vgtool/output.h"

static const char usage[] =
	"usage: vgtool folded [-o OUT] [--weight wall|cpu|samples] [--threads] [--thread THREAD]\n"
	"                     PROFILE\n";

struct request {
	const char *command, *path, *out;
	struct vg_folding folding;
	bool weight_given;
};

static int view_write(struct request *request, const struct vg_profile *profile,
		      struct vg_err *err)
{
	struct vg_output output;
	int rc = vg_output_open(&output, request->out, err);

	if (rc != 0)
		return rc;
	if (!request->weight_given)
		request->folding.weight = vg_weight_default(profile);
	rc = vg_folded_write(profile, &request->folding, output.file);
	if (rc == 0)
		return vg_output_commit(&output, err);
	if (rc == -ESRCH)
		vg_err_set(err, rc, "%s: has no thread %s", request->path, request->folding.thread);
	else
		vg_err_sys(err, rc, "%s", request->path);
	vg_output_abandon(&output);
	return rc;
}

static int folded_run(struct request *request)
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

static bool weight_take(struct request *request, const char *text)
{
	request->weight_given = true;
	request->folding.in_samples = strcmp(text, "samples") == 0;
	return request->folding.in_samples || vg_weight_parse(text, &request->folding.weight);
}

int cmd_folded(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "weight", required_argument, NULL, 'w' },
		{ "threads", no_argument, NULL, 'T' },
		{ "thread", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct request request = { .command = argv[0] };
	int option;

	while ((option = getopt_long(argc, argv, "o:w:Tt:h", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			if (*optarg == '\0')
				return vg_command_misused(argv[0], usage, "-o takes the name of a file");
			request.out = optarg;
			break;
		case 'w':
			if (!weight_take(&request, optarg))
				return vg_command_misused(argv[0], usage,
							  "--weight takes wall, cpu or samples");
			break;
		case 'T':
			request.folding.by_thread = true;
			break;
		case 't':
			request.folding.thread = optarg;
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
	return folded_run(&request);
}
