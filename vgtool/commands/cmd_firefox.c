/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vgtool/commands/command_line.h"
#include "vgtool/commands/view.h"
#include "vgtool/output/bounded.h"
#include "vgtool/output/gzip.h"
#include "vgtool/views/firefox.h"

static const char usage[] =
	"usage: vgtool firefox [-o OUT] [--base OLD]... [--name NAME]...\n"
	"                      [-s STORE]... [--debuginfod] [--unresolved] PROFILE...\n";

/* The limit is for the bytes before compression, too: gzip can shrink a hostile view to 0.1 %. */
static int firefox_write(void *context, const struct vg_profile *profile, FILE *file, struct vg_err *err)
{
	const struct vg_view *view = context;
	struct vg_bounded bounded;
	struct vg_gzip gzip;
	FILE *compressed = vg_gzip_open(&gzip, file), *plain;
	int rc = -ENOMEM;

	if (compressed == NULL)
		return rc;
	plain = vg_bounded_open(&bounded, compressed, (uint64_t)VG_VIEW_GIB_MAX << 30);
	if (plain != NULL) {
		rc = vg_firefox_write(profile, view->profiles.base_processes, vg_command_exporter(), plain);
		fclose(plain);
	}
	/* A failed write sets the error indicator of `file`. */
	vg_gzip_close(&gzip, compressed);
	if (rc == 0 && bounded.exceeded)
		rc = vg_err_set(err, -EFBIG, "%s: the output would be larger than %d GiB", view->profiles.title,
				VG_VIEW_GIB_MAX);
	return rc;
}

static const struct vg_option options[] = {
	VG_VIEW_OPTION_OUTPUT, VG_VIEW_OPTION_BASE, VG_VIEW_OPTION_NAME, VG_SYMBOLIZE_TABLE, VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	return vg_view_option_set(context, value, err);
}

int cmd_firefox(int argc, char **argv)
{
	struct vg_view view = { .command = argv[0], .write = firefox_write, .context = &view };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &view };
	int status = vg_command_line_read(&line, argc, argv);

	if (status != VG_COMMAND_LINE_READ)
		return status;
	if ((view.out == NULL || strcmp(view.out, "-") == 0) && isatty(STDOUT_FILENO)) {
		vg_command_warn(argv[0], "a compressed file is not written to a terminal; redirect standard output, or "
				"use -o FILE");
		return VG_EXIT_FAILED;
	}
	return vg_view_run_on(&view, usage, argc, argv);
}
