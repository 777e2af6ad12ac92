/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TOP_OPTIONS_H
#define VG_VGTOOL_TOP_OPTIONS_H

#include <sys/types.h>

#include "base/array.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/commands/symbolize.h"

/* The command line of vgtool top.  Texts belong to argv. */
struct vg_top_options {
	pid_t pid;
	uint64_t window_ns;
	bool no_perf_map;
	struct vg_symbolize symbolize;
	VG_ARRAY(const char *) arguments; /* of vignetted, for vg_vignetted_start(); ends with NULL; the first is "" */
};

/* Reads the command line.  *options must be all zero.  Returns VG_COMMAND_LINE_READ, or the exit status of the command
 * after --help or a message.  Call vg_top_options_free() in either case. */
int vg_top_options_read(struct vg_top_options *options, int argc, char **argv);

void vg_top_options_free(struct vg_top_options *options);

#endif
