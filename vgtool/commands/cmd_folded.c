/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "vgtool/commands/view.h"
#include "vgtool/views/folded.h"

static const char usage[] =
	"usage: vgtool folded [-o OUT] [--weight wall|cpu|samples] [--threads] [--thread THREAD]\n"
	"                     [-s STORE]... [--unresolved] PROFILE\n";

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
	return rc != -ESRCH ? rc : vg_err_set(err, rc, "%s: no thread %s", request->view.path,
					      request->folding.thread);
}

static bool weight_parse(struct request *request, const char *text)
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
		VG_SYMBOLIZE_OPTIONS,
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct request request = { .view = { .command = argv[0], .write = folded_write } };
	int option, status;

	while ((option = getopt_long(argc, argv, "o:w:Tt:s:h", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			if (*optarg == '\0')
				return vg_command_usage_error(argv[0], usage, "-o: the name is empty; use a file name");
			request.view.out = optarg;
			break;
		case 'w':
			if (!weight_parse(&request, optarg))
				return vg_command_bad_value(argv[0], usage, "--weight",
							    "wall, cpu or samples");
			break;
		case 'T':
			request.folding.by_thread = true;
			break;
		case 't':
			request.folding.thread = optarg;
			break;
		default:
			status = vg_symbolize_option(&request.view.symbolize, argv[0], usage, option);
			if (status != VG_SYMBOLIZE_TAKEN)
				return status;
		}
	}
	if (argc - optind != 1)
		return vg_command_usage_error(argv[0], usage, "expected one PROFILE, got %d", argc - optind);
	request.view.path = argv[optind];
	request.view.context = &request;
	return vg_view_run(&request.view);
}
