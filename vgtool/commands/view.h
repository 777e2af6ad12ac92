/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_VIEW_H
#define VG_VGTOOL_VIEW_H

#include <stdio.h>

#include "vgtool/commands/command.h"

/* A command that turns one profile into one file. */
struct vg_view {
	const char *command, *path;
	const char *out;             /* NULL and "-": standard output */
	/* 0 or a negative errno; a sentence in err, or none where the errno says enough. */
	int (*write)(void *context, const struct vg_profile *profile, FILE *file, struct vg_err *err);
	void *context;
};

/* What a command writes at most.  Speedscope, Perfetto and the Firefox Profiler hold all of a file in a
 * browser's memory, and open none as large.  Stacks of 2000 functions with names of 40 bytes are
 * 50,000 lines then. */
enum { VG_VIEW_GIB_MAX = 4 };

/* Confines the process, reads and writes.  The exit status; after a failure there is no file. */
int vg_view_run(const struct vg_view *view);

#endif
