/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <getopt.h>
#include <stdio.h>

#include "vgtool/commands/view.h"
#include "vgtool/views/chrome.h"

static const char usage[] = "usage: vgtool chrome [-o OUT] [-s STORE]... [--unresolved] PROFILE\n";

static int chrome_write(void *context, const struct vg_profile *profile, FILE *file,
			struct vg_err *err)
{
	char exporter[64];

	(void)context;
	(void)err;
	snprintf(exporter, sizeof exporter, "vignette %s", vg_command_version());
	return vg_chrome_write(profile, exporter, file);
}

int cmd_chrome(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		VG_SYMBOLIZE_OPTIONS,
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct vg_view view = { .command = argv[0], .write = chrome_write };
	int option, status;

	while ((option = getopt_long(argc, argv, "o:s:h", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			if (*optarg == '\0')
				return vg_command_usage_error(argv[0], usage, "-o: the name is empty; use a file name");
			view.out = optarg;
			break;
		default:
			status = vg_symbolize_option(&view.symbolize, argv[0], usage, option);
			if (status != VG_SYMBOLIZE_TAKEN)
				return status;
		}
	}
	if (argc - optind != 1)
		return vg_command_usage_error(argv[0], usage, "expected one PROFILE, got %d", argc - optind);
	view.path = argv[optind];
	return vg_view_run(&view);
}
