/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/view.h"
#include "vgtool/views/pprof.h"

static const char usage[] =
	"usage: vgtool pprof [-o OUT] [--base OLD]... [--name NAME]...\n"
	"                    [-s STORE]... [--debuginfod] [--unresolved]\n"
	"                    [--no-instruction-frames] PROFILE...\n";

int cmd_pprof(int argc, char **argv)
{
	return vg_view_run_compressed(usage, argc, argv, vg_pprof_write);
}
