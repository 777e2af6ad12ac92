/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TOP_OPTIONS_H
#define VG_VGTOOL_TOP_OPTIONS_H

#include <sys/types.h>

#include "base/array.h"
#include "vgtool/commands/symbolize.h"

/* The command line of vgtool top.  Texts belong to argv. */
struct vg_top_options {
	pid_t pid;
	uint64_t window_ns;
	bool no_perf_map, help;
	struct vg_symbolize symbolize;
	VG_ARRAY(const char *) arguments; /* of vignetted, for vg_vignetted_start(); ends with NULL; the first is "" */
};

/* Parses the command line.  Returns 0, or a negative errno with a message in err.  After --help, other members than
 * `help` may be incomplete.  *options must be all zero. */
int vg_top_options_parse(struct vg_top_options *options, int argc, char **argv, struct vg_err *err);

/* Prints one line for each option. */
void vg_top_help(FILE *file);

void vg_top_options_free(struct vg_top_options *options);

#endif
