/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <getopt.h>
#include <stdio.h>

#include "vgtool/commands/view.h"
#include "vgtool/views/speedscope.h"

static const char usage[] =
	"usage: vgtool speedscope [-o OUT] [--weight wall|cpu]\n"
	"                         [-s STORE]... [--unresolved] PROFILE\n";

struct request {
	struct vg_view view;
	enum vg_weight weight;
	bool weight_given;
};

static int speedscope_write(void *context, const struct vg_profile *profile, FILE *file,
			    struct vg_err *err)
{
	const struct request *request = context;
	char exporter[64];

	(void)err;
	snprintf(exporter, sizeof exporter, "vignette %s", vg_command_version());
	return vg_speedscope_write(profile, request->weight_given ? request->weight :
				   vg_weight_default(profile), exporter, file);
}

int cmd_speedscope(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "weight", required_argument, NULL, 'w' },
		VG_SYMBOLIZE_OPTIONS,
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct request request = { .view = { .command = argv[0], .write = speedscope_write } };
	int option, status;

	while ((option = getopt_long(argc, argv, "o:w:s:h", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			if (*optarg == '\0')
				return vg_command_usage_error(argv[0], usage, "-o: the name is empty; use a file name");
			request.view.out = optarg;
			break;
		case 'w':
			if (!vg_weight_parse(optarg, &request.weight))
				return vg_command_bad_value(argv[0], usage, "--weight", "wall or cpu");
			request.weight_given = true;
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
